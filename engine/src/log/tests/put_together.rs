use super::*;

#[test]
fn each_message_of_a_unit_goes_to_its_own_queue() {
    let dir = directory();
    let store = open(dir.path());
    store.put(&draft("A", b"before"), true).unwrap();
    let unit = [draft("A", b"a"), draft("B", b"b"), draft("A", b"a2")];
    let places = store.put_together(&unit, true).unwrap();
    assert_eq!(places.iter().map(|placed| placed.queue_offset).collect::<Vec<_>>(), [1, 0, 2]);
    assert!(places.is_sorted_by(|one, next| one.physical_offset + one.size == next.physical_offset));
    assert_eq!(bodies_of(&store, "A", 0), [&b"before"[..], b"a", b"a2"]);
    assert_eq!(bodies_of(&store, "B", 0), [b"b"]);
}

#[test]
fn one_message_that_cannot_be_stored_keeps_out_the_whole_unit() {
    let dir = directory();
    let store = open(dir.path());
    let long = vec![0; 5 << 20];
    for unit in [&[][..], &[draft("A", b"a"), draft("B", &long)], &[draft("A", b"a"), draft("", b"b")]] {
        let refusal = store.put_together(unit, true).unwrap_err();
        assert_eq!(refusal.status, PutStatus::MessageIllegal);
    }
    assert_eq!(store.put(&draft("A", b"first"), true).unwrap().queue_offset, 0);
    assert_eq!(bodies_of(&store, "A", 0), [b"first"]);
}

#[test]
fn a_unit_never_crosses_a_file() {
    let dir = directory();
    let store = open(dir.path());
    let body = vec![1; 3000];
    let unit = [draft("A", &body), draft("B", &body), draft("C", &body)];
    let file_bytes = store.log.file_bytes;
    for _ in 0..2 * file_bytes / 9000 {
        let places = store.put_together(&unit, true).unwrap();
        assert_eq!(places[0].physical_offset / file_bytes, places[2].physical_offset / file_bytes);
    }
    assert_eq!(bodies_of(&store, "C", 0).len() as u64, 2 * file_bytes / 9000);
}

#[test]
fn a_closed_store_refuses_a_unit() {
    let dir = directory();
    let store = open(dir.path());
    store.close().unwrap();
    let refusal = store.put_together(&[draft("A", b"a"), draft("B", b"b")], true).unwrap_err();
    assert_eq!(refusal.status, PutStatus::ServiceNotAvailable);
}
