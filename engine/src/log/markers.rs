//! Two small files in the store's root: `abort` tells an unclean exit, `lock` keeps a second store out.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process;

use crate::error::{Error, Result};

/// Make a created, renamed or deleted name in `dir` survive a power cut.
pub fn sync_directory(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|source| Error::io("sync", dir, source))
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
    /// The machine may have gone down: what was not synced may be lost, page by page.
    Crashed,
}

/// The file `abort`: it lies there from start to clean exit, so finding it at a start means a crash.
///
/// Its text is the process id, as Java has it, and then the machine's boot, which tells the two crashes apart.
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
                let boot = text.split(|&byte| byte == b'\n').nth(1);
                let same_boot = boot.is_some_and(|boot| boot_id().is_some_and(|now| now.as_bytes() == boot));
                Ok(if same_boot { LastStop::Killed } else { LastStop::Crashed })
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
