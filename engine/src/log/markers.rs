//! Two small files in the store's root: `abort` tells an unclean exit, `lock` keeps a second store out.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process;

use super::notes::{Level, Notes};
use crate::error::{Error, Result};

/// A line that the file `abort` is given later.
const SYNC_FAILED: &[u8] = b"sync failed";

/// Make a created, renamed or deleted name in `dir` survive a power cut.
pub fn sync_directory(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|source| Error::io("sync", dir, source))
}

/// Have the kernel forget what it holds in memory of the files in `dir`, so that they are read as they are on disk.
pub fn forget_cached(dir: &Path) -> Result<()> {
    let failed = |source| Error::io("read anew", dir, source);
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let file = File::open(entry.map_err(failed)?.path()).map_err(failed)?;
        // Only pages that need not be written are forgotten. What cannot be written stays, and fails again later.
        let _ = file.sync_data();
        // SAFETY: a system call on an open descriptor.
        let code = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        if code != 0 {
            return Err(failed(io::Error::from_raw_os_error(code)));
        }
    }
    Ok(())
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// How the store's last run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastStop {
    Orderly,
    /// The process died and the machine went on: all that was written is in the page cache, or on disk.
    Killed,
    /// A sync had failed before: memory may hold what the disk does not, and take it for written. The machine may
    /// have gone down as well.
    SyncFailed,
    /// The machine may have gone down: what was not synced may be lost, page by page.
    Crashed,
}

/// The file `abort`: it lies there from start to clean exit, so finding it at a start means a crash.
///
/// Its text is the process id, as Java has it, then the machine's boot, which tells a kill from a crash, and then
/// whether a sync failed.
#[derive(Debug)]
pub struct AbortFile {
    path: PathBuf,
}

impl AbortFile {
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_path_buf() }
    }

    pub fn last_stop(&self) -> Result<LastStop> {
        match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(LastStop::Orderly),
            Err(source) => Err(Error::io("read", &self.path, source)),
            Ok(text) => {
                let lines: Vec<_> = text.split(|&byte| byte == b'\n').skip(1).collect();
                let same_boot = boot_id().is_some_and(|now| lines.first() == Some(&now.as_bytes()));
                // Whatever the boot, which is not always known: what a crash asks for is done after this too.
                Ok(if lines.contains(&SYNC_FAILED) {
                    LastStop::SyncFailed
                } else if same_boot {
                    LastStop::Killed
                } else {
                    LastStop::Crashed
                })
            }
        }
    }

    /// Write the file and wait for the disk.
    pub fn create(&self) -> Result<()> {
        let write = || {
            let mut file = File::create(&self.path)?;
            let boot = boot_id().map_or_else(String::new, |boot| format!("\n{boot}"));
            match write!(file, "{}{boot}", process::id()) {
                // That it is there is what counts, and a store on a full disk must open to be cleaned.
                Err(error) if error.kind() == io::ErrorKind::StorageFull => {}
                written => written?,
            }
            file.sync_all()
        };
        write().map_err(|source| Error::io("write", &self.path, source))?;
        sync_directory(parent(&self.path))
    }

    /// Let the next start know that a sync failed. The file need not reach the disk: a start after a crash of the
    /// machine meets the disk's truth anyway.
    pub fn note_failed_sync(&self, notes: &Notes) {
        let write = || {
            let mut file = OpenOptions::new().append(true).open(&self.path)?;
            file.write_all(&[b"\n", SYNC_FAILED].concat())
        };
        if let Err(source) = write() {
            notes.say(Level::Error, Error::io("write", &self.path, source).to_string());
        }
    }

    /// Remove the file, if it is there, and wait for the disk.
    pub fn remove(&self) -> Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(Error::io("remove", &self.path, source)),
            Ok(()) => sync_directory(parent(&self.path)),
        }
    }
}

/// A name for the time since the machine started, where the system has one.
fn boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}

/// The file `lock`, held: no other store, Java's included, opens this root until it is dropped.
#[derive(Debug)]
pub struct StoreLock {
    file: File,
    owner: u32,
}

impl StoreLock {
    /// Take the lock file, or fail with [`Error::Locked`] at once.
    pub fn acquire(path: &Path) -> Result<Self> {
        fs::create_dir_all(parent(path)).map_err(|source| Error::io("create", parent(path), source))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path).map_err(|source| Error::io("open", path, source))?;
        match set_lock(&file, libc::F_WRLCK) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
                return Err(Error::Locked { path: parent(path).to_path_buf() });
            }
            other => other.map_err(|source| Error::io("lock", path, source))?,
        }
        let text = || {
            file.write_all_at(b"lock", 0)?;
            file.set_len(4)?;
            file.sync_all()
        };
        text().map_err(|source| Error::io("write", path, source))?;
        Ok(Self { file, owner: process::id() })
    }
}

impl Drop for StoreLock {
    fn drop(&mut self) {
        // A forked child shares the lock. If it ends first, the parent must keep it; if the parent ends
        // first, the child's copy of the descriptor must not.
        if self.owner == process::id() {
            let _ = set_lock(&self.file, libc::F_UNLCK);
        }
    }
}

/// Lock or unlock byte 0 without waiting.
///
/// The lock belongs to the open file (OFD), so that it also keeps out a second store of this process; it
/// still conflicts with the plain process locks that Java takes.
fn set_lock(file: &File, kind: libc::c_int) -> io::Result<()> {
    let region = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 1,
        l_pid: 0,
    };
    // SAFETY: a system call on an open descriptor that only reads `region`.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const region) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Tries to take the lock as Java does: a plain `fcntl` lock on byte 0, in another process.
    fn another_process_can_lock(root: &Path) -> bool {
        let script =
            "import fcntl, sys\nfcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB, 1)";
        let mut python = Command::new("python3");
        python.args(["-c", script]).arg(root.join("lock")).output().unwrap().status.success()
    }

    // shows: CK-03
    #[test]
    fn the_abort_file_lies_there_between_create_and_remove() {
        let dir = tempfile::tempdir().unwrap();
        let abort = AbortFile::at(&dir.path().join("abort"));
        assert_eq!(abort.last_stop().unwrap(), LastStop::Orderly);
        abort.create().unwrap();
        let text = fs::read_to_string(dir.path().join("abort")).unwrap();
        assert_eq!(text.lines().next().unwrap(), process::id().to_string());
        assert_eq!(AbortFile::at(&dir.path().join("abort")).last_stop().unwrap(), LastStop::Killed);
        abort.create().unwrap();
        abort.remove().unwrap();
        assert_eq!(abort.last_stop().unwrap(), LastStop::Orderly);
        abort.remove().unwrap();
    }

    #[test]
    fn a_failed_sync_is_told_to_the_next_start() {
        let dir = tempfile::tempdir().unwrap();
        let abort = AbortFile::at(&dir.path().join("abort"));
        abort.create().unwrap();
        abort.note_failed_sync(&Notes::default());
        abort.note_failed_sync(&Notes::default());
        assert_eq!(abort.last_stop().unwrap(), LastStop::SyncFailed);
        abort.create().unwrap();
        assert_eq!(abort.last_stop().unwrap(), LastStop::Killed);
    }

    #[test]
    fn a_failed_sync_is_told_whatever_the_file_lacks() {
        let dir = tempfile::tempdir().unwrap();
        let abort = AbortFile::at(&dir.path().join("abort"));
        let boot = boot_id().unwrap();
        // Without a boot line, of a full disk, and after a line that was written in part.
        for text in ["4711", "", "4711\nanother-boot", &format!("4711\n{boot}\nsyn")] {
            fs::write(dir.path().join("abort"), text).unwrap();
            abort.note_failed_sync(&Notes::default());
            assert_eq!(abort.last_stop().unwrap(), LastStop::SyncFailed, "{text:?}");
        }
    }

    #[test]
    fn files_that_are_read_anew_hold_what_they_held() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("one"), [7; 10_000]).unwrap();
        forget_cached(dir.path()).unwrap();
        assert_eq!(fs::read(dir.path().join("one")).unwrap(), [7; 10_000]);
        forget_cached(&dir.path().join("missing")).unwrap();
        assert!(forget_cached(&dir.path().join("one")).is_err(), "no folder");
    }

    #[test]
    fn an_abort_file_of_another_boot_or_of_java_means_that_the_machine_may_have_crashed() {
        let dir = tempfile::tempdir().unwrap();
        for text in ["4711", "4711\nanother-boot", ""] {
            fs::write(dir.path().join("abort"), text).unwrap();
            let abort = AbortFile::at(&dir.path().join("abort"));
            assert_eq!(abort.last_stop().unwrap(), LastStop::Crashed, "{text:?}");
        }
    }

    // shows: CK-04, CK-05, CK-06
    #[test]
    fn a_held_lock_keeps_out_this_process_and_others() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("lock"), "longer text of someone").unwrap();
        let lock = StoreLock::acquire(&dir.path().join("lock")).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("lock")).unwrap(), "lock");
        match StoreLock::acquire(&dir.path().join("lock")) {
            Err(Error::Locked { path }) => assert_eq!(path, dir.path()),
            other => panic!("{other:?}"),
        }
        assert!(!another_process_can_lock(dir.path()));
        drop(lock);
        assert!(another_process_can_lock(dir.path()));
        StoreLock::acquire(&dir.path().join("lock")).unwrap();
    }

    #[test]
    fn a_root_that_is_a_file_is_an_error_with_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("file");
        fs::write(&root, "").unwrap();
        assert!(StoreLock::acquire(&root.join("lock")).unwrap_err().to_string().contains("file"));
        assert!(AbortFile::at(&root.join("abort")).create().is_err());
    }
}
