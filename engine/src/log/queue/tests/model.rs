//! Random steps and random files.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Append(i64),
    WriteOut,
    Reopen,
    Truncate(i64),
    Expire(i64),
    Read(i64, usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..25i64).prop_map(Step::Append),
        2 => Just(Step::WriteOut),
        1 => Just(Step::Reopen),
        1 => (0..15i64).prop_map(Step::Truncate),
        1 => (0..15i64).prop_map(Step::Expire),
        3 => ((0..100i64), (0..40usize)).prop_map(|(at, count)| Step::Read(at, count)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_queue_behaves_like_a_list_of_units(first in 0..40i64, steps in prop::collection::vec(step(), 1..40)) {
        let place = Place::new(SMALL_FILE);
        let mut queue = place.create();
        // The model: a range of offsets, of which the log still has those from `log_min` on.
        let (mut min, mut max) = (first, first);
        fill(&queue, first..first + 1);
        max += 1;
        for step in steps {
            match step {
                Step::Append(count) => {
                    fill(&queue, max..max + count);
                    max += count;
                }
                Step::WriteOut => { queue.write_out().unwrap(); }
                Step::Reopen => {
                    queue.write_out().unwrap();
                    queue = place.open();
                    queue.correct_min(min * 100).unwrap();
                }
                Step::Truncate(count) => {
                    max = (max - count).max(min + 1);
                    queue.truncate_physical(max * 100).unwrap();
                }
                Step::Expire(count) => {
                    min = (min + count).min(max - 1);
                    queue.correct_min(min * 100).unwrap();
                    queue.delete_expired_files(min * 100).unwrap();
                }
                Step::Read(at, count) => {
                    let mut out = Vec::new();
                    queue.read(min + at, count, &mut out).unwrap();
                    prop_assert_eq!(out, units(min + at..max.min(min + at + count as i64)));
                }
            }
            prop_assert_eq!((queue.min_offset(), queue.max_offset()), (min, max));
            prop_assert_eq!(queue.max_physical_offset(), max * 100);
        }
        prop_assert_eq!(all_units(&queue), units(min..max));
    }

    #[test]
    fn no_content_of_a_file_makes_opening_panic(bytes in prop::collection::vec(any::<u8>(), 400)) {
        let place = Place::new(SMALL_FILE);
        fs::create_dir_all(place.dir()).unwrap();
        fs::write(place.file(0), &bytes[..200]).unwrap();
        fs::write(place.file(200), &bytes[200..]).unwrap();
        let queue = place.open();
        queue.correct_min(1 << 40).unwrap();
        queue.truncate_physical(1 << 50).unwrap();
        queue.delete_expired_files(1 << 30).unwrap();
        let max = queue.max_offset();
        prop_assert!(max <= 20 && queue.min_offset() <= max);
        let known = place.open().max_offset();
        prop_assert_eq!(known, max);
    }
}
