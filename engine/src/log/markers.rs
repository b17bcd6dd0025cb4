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

/// The file `abort`: it lies there from start to clean exit, so finding it at a start means a crash.
#[derive(Debug)]
pub struct AbortFile {
    path: PathBuf,
}

impl AbortFile {
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_path_buf() }
    }

    pub fn exists(&self) -> Result<bool> {
        self.path.try_exists().map_err(|source| Error::io("inspect", &self.path, source))
    }

    /// Write the file, with the process id as its text, and wait for the disk.
    pub fn create(&self) -> Result<()> {
        let write = || {
            let mut file = File::create(&self.path)?;
            file.write_all(process::id().to_string().as_bytes())?;
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
        assert!(!abort.exists().unwrap());
        abort.create().unwrap();
        assert!(AbortFile::at(&dir.path().join("abort")).exists().unwrap());
        assert_eq!(fs::read_to_string(dir.path().join("abort")).unwrap(), process::id().to_string());
        abort.create().unwrap();
        abort.remove().unwrap();
        assert!(!abort.exists().unwrap());
        abort.remove().unwrap();
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
    fn a_missing_root_is_an_error_with_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("none");
        assert!(StoreLock::acquire(&root).unwrap_err().to_string().contains("none/lock"));
        assert!(AbortFile::at(&root).create().is_err());
    }
}
