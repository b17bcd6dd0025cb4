use std::env;
use std::fs::OpenOptions;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use super::*;

const PAGE: usize = 4096;
const CHILD_CASE: &str = "TAILFIN_TEST_CHILD_CASE";

fn file_of(path: &Path, content: &[u8]) -> File {
    std::fs::write(path, content).unwrap();
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

fn read(mapping: &Mapping, range: Range<usize>) -> Vec<u8> {
    unsafe { mapping.bytes(range) }.to_vec()
}

#[test]
fn a_write_through_the_mapping_reaches_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let file = file_of(&path, &[7; 3 * PAGE]);
    let mapping = Mapping::open(&path, &file, 3 * PAGE as u64, true).unwrap();
    mapping.populate_write(0..mapping.len()).unwrap();
    unsafe { mapping.bytes_mut(PAGE..PAGE + 3) }.copy_from_slice(b"abc");
    let read_only = Mapping::open(&path, &file, 3 * PAGE as u64, false).unwrap();
    read_only.populate_read(100..PAGE + 100).unwrap();
    assert_eq!(read(&read_only, PAGE - 1..PAGE + 4), b"\x07abc\x07");
    assert_eq!(&std::fs::read(&path).unwrap()[PAGE..PAGE + 3], b"abc");
    assert!(!mapping.is_broken());
}

#[test]
fn a_file_truncated_under_its_mapping_reads_zeros_and_is_marked_broken() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other_path) = (dir.path().join("a"), dir.path().join("b"));
    let file = file_of(&path, &[7; 4 * PAGE]);
    let other_file = file_of(&other_path, &[9; PAGE]);
    let mapping = Mapping::open(&path, &file, 4 * PAGE as u64, true).unwrap();
    let other = Mapping::open(&other_path, &other_file, PAGE as u64, true).unwrap();

    file.set_len(PAGE as u64).unwrap();
    assert_eq!(read(&mapping, 0..PAGE), [7; PAGE]);
    assert!(!mapping.is_broken(), "the page that is left is whole");
    assert_eq!(read(&mapping, PAGE..4 * PAGE), [0; 3 * PAGE]);
    assert!(mapping.is_broken());
    assert!(mapping.check().unwrap_err().to_string().contains("lost pages"));

    unsafe { mapping.bytes_mut(2 * PAGE..3 * PAGE) }.fill(1);
    assert_eq!(read(&other, 0..PAGE), [9; PAGE]);
    assert!(!other.is_broken());
    drop(mapping);

    file.set_len(4 * PAGE as u64).unwrap();
    let again = Mapping::open(&path, &file, 4 * PAGE as u64, true).unwrap();
    assert_eq!(read(&again, 2 * PAGE..2 * PAGE + 1), [0]);
    assert!(!again.is_broken(), "a reused slot starts whole");
}

#[test]
fn threads_may_fault_while_other_mappings_come_and_go() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let dir = dir.path();
            scope.spawn(move || {
                for round in 0..200 {
                    let path = dir.join(format!("{thread}-{round}"));
                    let pages = 1 + (thread + round) % 7;
                    let file = file_of(&path, &vec![1; pages * PAGE]);
                    let mapping = Mapping::open(&path, &file, (pages * PAGE) as u64, true).unwrap();
                    let cut = round % 2 == 0;
                    if cut {
                        file.set_len(0).unwrap();
                    }
                    let first = read(&mapping, (pages - 1) * PAGE..pages * PAGE)[0];
                    assert_eq!((first, mapping.is_broken()), (u8::from(!cut), cut));
                }
            });
        }
    });
}

#[test]
fn an_empty_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let file = file_of(&path, b"");
    assert!(matches!(Mapping::open(&path, &file, 0, true), Err(Error::Damaged { .. })));
}

/// Runs one case of the last test below in a process of its own; tells the signal it died of.
fn signal_of_child(case: &str) -> Option<i32> {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "log::mapping::tests::dies_in_the_child_process_only", "--nocapture"]);
    child.env(CHILD_CASE, case).output().unwrap().status.signal()
}

#[test]
fn a_fault_outside_the_guarded_mappings_still_kills() {
    assert_eq!(signal_of_child("a_foreign_fault"), Some(libc::SIGBUS));
}

#[test]
fn a_sigbus_sent_by_someone_still_kills() {
    assert_eq!(signal_of_child("a_sent_signal"), Some(libc::SIGBUS));
}

#[test]
fn dies_in_the_child_process_only() {
    let Ok(case) = env::var(CHILD_CASE) else { return };
    if case == "a_sent_signal" {
        // Rust's own handler, which would be the previous one, swallows the first sent signal.
        unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let file = file_of(&path, &[7; PAGE]);
    let guarded = Mapping::open(&path, &file, PAGE as u64, true).unwrap();
    let foreign = MmapOptions::new().len(PAGE).map_raw(&file).unwrap();
    file.set_len(0).unwrap();
    assert_eq!(read(&guarded, 0..1), [0]);
    if case == "a_foreign_fault" {
        let _ = unsafe { foreign.as_ptr().read_volatile() };
    } else {
        unsafe { libc::raise(libc::SIGBUS) };
    }
}

#[test]
fn allocation_takes_space_and_keeps_the_content() {
    let dir = tempfile::tempdir().unwrap();
    for (name, slow) in [("fallocate", false), ("touch", true)] {
        let path = dir.path().join(name);
        let file = file_of(&path, b"keep me");
        file.set_len(1 << 20).unwrap();
        let give = if slow { touch_blocks } else { allocate };
        give(&file, 0, 65_536).unwrap();
        assert!(file.metadata().unwrap().blocks() * 512 >= 65_536, "{name} left a hole");
        assert_eq!(file.metadata().unwrap().len(), 1 << 20);
        assert_eq!(&std::fs::read(&path).unwrap()[..8], b"keep me\0");
        give(&file, 1 << 20, 5000).unwrap();
        assert_eq!(file.metadata().unwrap().len(), (1 << 20) + 5000);
    }
}

#[test]
fn allocation_past_the_largest_file_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let file = file_of(&dir.path().join("a"), b"");
    assert!(allocate(&file, u64::MAX, 1).is_err());
    assert!(allocate(&file, 0, 1 << 62).is_err());
}
