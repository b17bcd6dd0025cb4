//! The SIGBUS guard: an access to a mapped page that has no file behind it reads zeros instead of killing
//! the process.
//!
//! Another program can truncate a file while it is mapped, and a disk can fail or fill under a sparse page.
//! The kernel then raises SIGBUS inside whatever instruction touched the page. The handler here looks the
//! address up among the registered mappings, marks that mapping broken, puts a zero page there, and lets
//! the instruction go on; whoever touched the mapping asks `is_broken` afterwards. Addresses that are not
//! ours go to the handler that was installed before.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use parking_lot::Mutex;

/// How many mappings may be open at once; the default limit of the kernel (`vm.max_map_count`) is smaller.
pub const MAPPINGS_MAX: usize = 65_536;

/// One registered mapping. A `start` of zero marks a free slot.
struct Slot {
    start: AtomicUsize,
    len: AtomicUsize,
    broken: AtomicBool,
}

static SLOTS: [Slot; MAPPINGS_MAX] =
    [const { Slot { start: AtomicUsize::new(0), len: AtomicUsize::new(0), broken: AtomicBool::new(false) } };
        MAPPINGS_MAX];

/// Slots at or past this index were never used, so the handler need not look at them.
static SLOTS_USED: AtomicUsize = AtomicUsize::new(0);

/// Slots given back. The handler never takes this lock.
static FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// What the handler needs; filled before the handler is installed.
static INSTALLED: OnceLock<Installed> = OnceLock::new();

struct Installed {
    page_bytes: usize,
    previous: libc::sigaction,
}

/// One mapping's entry in the guard; dropped before the memory is unmapped.
#[derive(Debug)]
pub struct Guard {
    index: usize,
}

impl Guard {
    /// Put a mapping under guard; `None` when `MAPPINGS_MAX` are guarded already.
    pub fn register(start: usize, len: usize) -> io::Result<Option<Self>> {
        install()?;
        let mut free = FREE.lock();
        let Some(index) = free.pop().or_else(|| {
            let next = SLOTS_USED.load(SeqCst);
            (next < MAPPINGS_MAX).then(|| SLOTS_USED.fetch_add(1, SeqCst))
        }) else {
            return Ok(None);
        };
        let slot = &SLOTS[index];
        slot.broken.store(false, SeqCst);
        slot.len.store(len, SeqCst);
        slot.start.store(start, SeqCst);
        Ok(Some(Self { index }))
    }

    pub fn is_broken(&self) -> bool {
        SLOTS[self.index].broken.load(SeqCst)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        SLOTS[self.index].start.store(0, SeqCst);
        FREE.lock().push(self.index);
    }
}

/// The slot whose mapping holds `address`.
///
/// Slots may change hands during the walk. Reading `start` again after `len` proves that both belong to a
/// mapping that is alive now, and a live mapping cannot overlap the one that faulted.
fn find(address: usize) -> Option<&'static Slot> {
    SLOTS[..SLOTS_USED.load(SeqCst)].iter().find(|slot| {
        let start = slot.start.load(SeqCst);
        let len = slot.len.load(SeqCst);
        start != 0 && address >= start && address - start < len && slot.start.load(SeqCst) == start
    })
}

/// Install the handler, once for the process.
fn install() -> io::Result<()> {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = INSTALLING.lock();
    if INSTALLED.get().is_some() {
        return Ok(());
    }
    // SAFETY: plain libc calls on zeroed structures of the right type. The previous action is published
    // before the handler can run.
    unsafe {
        let page_bytes = libc::sysconf(libc::_SC_PAGESIZE) as usize;
        let mut previous: libc::sigaction = mem::zeroed();
        if libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut previous) != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = on_sigbus as *const () as usize;
        // The alternate stack, where a thread has one, keeps stack overflow reports of others working.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        INSTALLED.get_or_init(|| Installed { page_bytes, previous });
        if libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Runs inside the faulting thread, so only atomics and bare system calls are allowed here.
extern "C" fn on_sigbus(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid `info`; errno belongs to this thread and is put back.
    unsafe {
        let errno = libc::__errno_location();
        let errno_before = *errno;
        if !mend((*info).si_code, (*info).si_addr() as usize) {
            forward(signal, info, context);
        }
        *errno = errno_before;
    }
}

/// Put a zero page under `address` if it lies in a guarded mapping.
unsafe fn mend(code: c_int, address: usize) -> bool {
    // A code of zero or less means that somebody sent the signal: the address says nothing then.
    if code <= 0 {
        return false;
    }
    let (Some(installed), Some(slot)) = (INSTALLED.get(), find(address)) else { return false };
    // Before the page: whoever reads its zeros must be able to see the mark.
    slot.broken.store(true, SeqCst);
    let page = address & !(installed.page_bytes - 1);
    // SAFETY: the page belongs to a live mapping of ours, which goes on owning the address range. The bare
    // system call is used because it takes no locks in any C library.
    let mapped = unsafe {
        libc::syscall(
            libc::SYS_mmap,
            page,
            installed.page_bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_FIXED | libc::MAP_ANONYMOUS | libc::MAP_PRIVATE,
            -1,
            0,
        )
    };
    mapped != -1
}

/// Do what would have happened without this handler.
unsafe fn forward(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the stored action came from the kernel, so its address is a handler of the shape that its
    // flags tell.
    unsafe {
        let sent_by_someone = (*info).si_code <= 0;
        match INSTALLED.get().map(|installed| &installed.previous) {
            Some(previous) if previous.sa_sigaction == libc::SIG_IGN && sent_by_someone => {}
            Some(previous) if ![libc::SIG_DFL, libc::SIG_IGN].contains(&previous.sa_sigaction) => {
                if previous.sa_flags & libc::SA_SIGINFO != 0 {
                    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                        mem::transmute(previous.sa_sigaction);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(c_int) = mem::transmute(previous.sa_sigaction);
                    handler(signal);
                }
            }
            _ => {
                let mut default: libc::sigaction = mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const default, ptr::null_mut());
                // A real fault comes again when the instruction is retried; a sent signal does not. It
                // stays pending until this handler returns.
                if sent_by_someone {
                    libc::raise(signal);
                }
            }
        }
    }
}
