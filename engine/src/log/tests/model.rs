//! Random steps on a store, beside lists in memory that must stay equal to it.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Put { topic: usize, queue_id: i32, size: usize },
    Batch { topic: usize, queue_id: i32, sizes: Vec<usize> },
    Read { topic: usize, queue_id: i32, percent: usize },
    Expire,
    Flush,
    Close,
    Kill,
}

const TOPICS: [&str; 3] = ["A", "B", "C"];

fn step() -> impl Strategy<Value = Step> {
    let place = || (0..TOPICS.len(), 0..2);
    let size = || prop_oneof![8 => 0..300usize, 1 => 3000..30_000usize];
    prop_oneof![
        12 => (place(), size()).prop_map(|((topic, queue_id), size)| Step::Put { topic, queue_id, size }),
        4 => (place(), prop::collection::vec(size(), 1..5))
            .prop_map(|((topic, queue_id), sizes)| Step::Batch { topic, queue_id, sizes }),
        4 => (place(), 0..120usize).prop_map(|((topic, queue_id), percent)| Step::Read { topic, queue_id, percent }),
        1 => Just(Step::Expire),
        1 => Just(Step::Flush),
        1 => Just(Step::Close),
        1 => Just(Step::Kill),
    ]
}

/// Where a message stands, and its body.
type Stored = (u64, Vec<u8>);

/// What a store should hold: for each queue where its messages stand, and their bodies.
#[derive(Default)]
struct Model {
    queues: BTreeMap<(usize, i32), Vec<Stored>>,
    next_body: u64,
}

impl Model {
    fn body(&mut self, size: usize) -> Vec<u8> {
        self.next_body += 1;
        let mut body = self.next_body.to_be_bytes().to_vec();
        body.resize(8 + size, self.next_body as u8);
        body
    }

    fn check(&self, store: &Store) {
        settle(store);
        let log_min = store.log.min_offset();
        for (&(topic, queue_id), messages) in &self.queues {
            let expected: Vec<_> = messages
                .iter()
                .filter(|(offset, _)| *offset >= log_min)
                .map(|(_, body)| body.clone())
                .collect();
            let queue = store.derived.queues.get(TOPICS[topic].as_bytes(), queue_id).unwrap();
            assert_eq!(queue.max_offset(), messages.len() as i64);
            assert_eq!(bodies_of(store, TOPICS[topic], queue_id), expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_store_holds_what_lists_in_memory_hold(steps in prop::collection::vec(step(), 1..60)) {
        let mut dir = directory();
        let mut store = open(dir.path());
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Put { topic, queue_id, size } => {
                    let body = model.body(size);
                    let placed = store.put(&Draft { queue_id, ..draft(TOPICS[topic], &body) }, true).unwrap();
                    let queue = model.queues.entry((topic, queue_id)).or_default();
                    prop_assert_eq!(placed.queue_offset, queue.len() as i64);
                    queue.push((placed.physical_offset, body));
                }
                Step::Batch { topic, queue_id, sizes } => {
                    let bodies: Vec<_> = sizes.into_iter().map(|size| model.body(size)).collect();
                    let drafts: Vec<_> = bodies
                        .iter()
                        .map(|body| Draft { queue_id, ..draft(TOPICS[topic], body) })
                        .collect();
                    match store.put_batch(&drafts, true) {
                        Ok(placed) => {
                            let offsets = store.record_offsets(placed, bodies.len()).unwrap();
                            let queue = model.queues.entry((topic, queue_id)).or_default();
                            prop_assert_eq!(placed.queue_offset, queue.len() as i64);
                            queue.extend(offsets.into_iter().zip(bodies));
                        }
                        Err(refusal) => prop_assert_eq!(refusal.status, PutStatus::MessageIllegal),
                    }
                }
                Step::Read { topic, queue_id, percent } => {
                    settle(&store);
                    let Some(queue) = model.queues.get(&(topic, queue_id)) else { continue };
                    let offset = (queue.len() * percent / 100) as i64;
                    let found = store.read(&request(TOPICS[topic], queue_id, offset)).unwrap();
                    for (n, slice) in slices(&found).iter().enumerate() {
                        let record = slice.record().unwrap();
                        let at = record.queue_offset() as usize;
                        prop_assert!(at >= offset as usize + n);
                        prop_assert_eq!(record.body(), &queue[at].1[..]);
                    }
                }
                Step::Expire => {
                    settle(&store);
                    store.flush().unwrap();
                    store.delete_first_log_file(false).unwrap();
                    store.delete_expired_queue_files().unwrap();
                }
                Step::Flush => {
                    store.flush().unwrap();
                    store.keeper.keep(true).unwrap();
                }
                Step::Close => {
                    store.close().unwrap();
                    drop(store);
                    store = open(dir.path());
                    model.check(&store);
                }
                Step::Kill => {
                    let copy = killed_at_rest(&store, dir.path());
                    drop(store);
                    dir = copy;
                    store = open(dir.path());
                    model.check(&store);
                }
            }
        }
        model.check(&store);
    }
}

/// A copy while nothing is appended: the threads behind may be anywhere.
fn killed_at_rest(store: &Store, root: &Path) -> TempDir {
    // The preparing thread adds files while they are listed; the copy must be of one moment.
    let _no_appends = store.log.lock();
    killed(root)
}
