use proptest::prelude::*;

use super::*;
use crate::id::{ConversationId, TenantId};

fn key(number: usize) -> ConversationKey {
    ConversationKey {
        tenant: TenantId::parse("acme").unwrap(),
        conversation: ConversationId::parse(format!("c{number}")).unwrap(),
    }
}

fn layout(partitions: &[u16], stage: Stage) -> Layout {
    Layout::from_parts(partitions, stage).unwrap()
}

#[test]
fn candidates_never_change() {
    let layout = layout(&[8, 24, 30], Stage::Open);
    let candidates = |number| {
        let candidates = layout.candidates(&key(number)).into_iter();
        candidates.map(|partition| partition.0).collect::<Vec<_>>()
    };
    let found: Vec<_> = (0..6).map(candidates).collect();
    let expected: [&[u16]; 6] = [&[4, 11], &[4, 14], &[4], &[4, 8], &[2], &[7, 13]];
    assert_eq!(found, expected);
}

/// Every generation spreads the new conversations evenly over all of its partitions.
#[test]
fn new_conversations_are_spread_evenly() {
    let layout = layout(&[8, 24, 30], Stage::Open);
    let mut counts = [0_u32; 30];
    for number in 0..30_000 {
        let partition = layout.creation(&key(number)).partition;
        counts[usize::from(partition.0)] += 1;
    }
    let even = 880..1_120;
    assert!(counts.iter().all(|count| even.contains(count)), "{counts:?}");
}

#[test]
fn conversations_are_created_by_the_stage() {
    let (first, second) = (Partition(0), Partition(1));
    let found = (0..100).map(key).find(|key| {
        let candidates = layout(&[1, 2], Stage::Open).candidates(key);
        candidates == [first, second]
    });
    let moved = found.unwrap();
    let check = |partitions: &[u16], stage, partition, close, others: &[Partition]| {
        let expected = Creation { partition, close, others: others.to_vec() };
        assert_eq!(layout(partitions, stage).creation(&moved), expected);
    };
    check(&[1], Stage::Open, first, None, &[]);
    check(&[1, 2], Stage::Announced, first, None, &[]);
    check(&[1, 2], Stage::Closing, second, Some(first), &[]);
    check(&[1, 2], Stage::Open, second, None, &[first]);
}

#[test]
fn the_bounds_of_a_growth() {
    let announced = layout(&[8, 9], Stage::Announced);
    let eight = layout(&[1, 2, 3, 4, 5, 6, 7, 8], Stage::Open);
    let seven = layout(&[1, 2, 3, 4, 5, 6, 7], Stage::Open);
    let largest = Layout::new(PARTITIONS_MAX - 1);
    let check = |layout: &Layout, partitions, expected: Result<(), LayoutError>| {
        let grown = layout.grown(partitions);
        assert_eq!(grown.as_ref().map(drop).map_err(|error| *error), expected);
        if let Ok(grown) = grown {
            assert_eq!((grown.partitions(), grown.stage()), (partitions, Stage::Announced));
        }
    };
    check(&Layout::new(8), 9, Ok(()));
    check(&Layout::new(8), 8, Err(LayoutError::NotMore { current: 8 }));
    check(&Layout::new(8), 7, Err(LayoutError::NotMore { current: 8 }));
    check(&largest, PARTITIONS_MAX, Ok(()));
    let given = PARTITIONS_MAX + 1;
    check(&largest, given, Err(LayoutError::TooMany { given }));
    check(&announced, 10, Err(LayoutError::Growing { partitions: 9 }));
    check(&seven, 8, Ok(()));
    check(&eight, 9, Err(LayoutError::TooManyGenerations));
}

#[test]
fn stages_follow_each_other() {
    let announced = Layout::new(8).grown(24).unwrap();
    let closing = announced.advanced().unwrap();
    let open = closing.advanced().unwrap();
    assert_eq!((closing.stage(), open.stage()), (Stage::Closing, Stage::Open));
    assert_eq!(open.advanced(), None);
    assert_eq!(open.generations(), [8, 24]);
    assert_eq!(Layout::from_parts(&[8, 24], Stage::Open), Some(open));
}

#[test]
fn invalid_parts_are_no_layout() {
    for (partitions, stage) in [
        (&[][..], Stage::Open),
        (&[0], Stage::Open),
        (&[8, 8], Stage::Open),
        (&[8, 4], Stage::Open),
        (&[8], Stage::Announced),
        (&[8, PARTITIONS_MAX + 1], Stage::Open),
        (&[1, 2, 3, 4, 5, 6, 7, 8, 9], Stage::Open),
    ] {
        assert_eq!(Layout::from_parts(partitions, stage), None, "{partitions:?}");
    }
}

proptest! {
    /// A conversation is created in a candidate; a growth adds at most one candidate and keeps the others.
    #[test]
    fn a_growth_keeps_every_candidate(first in 1_u16..40, more in 1_u16..100, number in 0_usize..10_000) {
        let before = Layout::new(first);
        let mut grown = before.grown(first + more).unwrap();
        let key = key(number);
        let old = before.candidates(&key);
        loop {
            let candidates = grown.candidates(&key);
            prop_assert!(candidates.starts_with(&old) && candidates.len() <= 2);
            let creation = grown.creation(&key);
            prop_assert!(candidates.contains(&creation.partition));
            let mut all = creation.others;
            all.extend(creation.close);
            all.push(creation.partition);
            prop_assert!(all.iter().all(|one| candidates.contains(one)));
            // Only an unopened partition is not asked: it is empty.
            prop_assert!(all.len() == candidates.len() || grown.stage() == Stage::Announced);
            match grown.advanced() {
                Some(next) => grown = next,
                None => break,
            }
        }
    }
}

/// The load of the partitions of a record that grows from 8 to 1,000 in a year, in which conversations are begun 128 times as often; each
/// is active for 30 days, and in its stream until it is hibernated after 90 idle days. A sample of 4,000,000 of them. Also prints what
/// moves to the partitions of each growth would move. Run with `--release -- --ignored --nocapture a_year_of_growth`.
#[test]
#[ignore = "a measurement"]
fn a_year_of_growth() {
    const SAMPLE: u32 = 4_000_000;
    const GROWTHS: [u16; 8] = [8, 16, 32, 64, 128, 256, 512, 1_000];
    const DOUBLINGS: f64 = 7.0;
    const ACTIVE_YEARS: f64 = 30.0 / 365.0;
    const IN_STREAM_YEARS: f64 = ACTIVE_YEARS + 90.0 / 365.0;
    let growths = |time: f64| (0..8_u16).filter(move |n| f64::from(*n) <= time * DOUBLINGS);
    let layouts: Vec<_> = (1..=GROWTHS.len()).map(|count| layout(&GROWTHS[..count], Stage::Open)).collect();
    let key_of = |number: u32| key(usize::try_from(number).unwrap());
    let created: Vec<(f64, Partition)> = (0..SAMPLE)
        .map(|number| {
            let share = (f64::from(number) + 0.5) / f64::from(SAMPLE);
            let time = (share * (DOUBLINGS.exp2() - 1.0) + 1.0).log2() / DOUBLINGS;
            let layout = &layouts[growths(time).count() - 1];
            (time, layout.creation(&key_of(number)).partition)
        })
        .collect();
    for twelfth in [3, 6, 9, 11_u32] {
        let now = f64::from(twelfth) / 12.0;
        let partitions = usize::from(GROWTHS[growths(now).count() - 1]);
        for (what, age_max) in [("active", ACTIVE_YEARS), ("in streams", IN_STREAM_YEARS), ("stored", f64::MAX)] {
            let is_counted = |time: f64| (0.0..age_max).contains(&(now - time));
            let counted = created.iter().filter(|(time, _)| is_counted(*time));
            let loads = loads_of(partitions, counted.map(|(_, partition)| *partition));
            println!("month {twelfth}, {partitions} partitions, {what}: {loads}");
        }
    }
    for (growth, layout) in (1_u32..).zip(&layouts[1..]) {
        let now = f64::from(growth) / DOUBLINGS;
        let moved = |age_max: f64| {
            let aged = (0..).zip(&created).filter(|(_, (time, _))| (0.0..age_max).contains(&(now - time)));
            let (mut all, mut moved) = (0_u32, 0_u32);
            for (number, (_, at)) in aged {
                all += 1;
                moved += u32::from(layout.creation(&key_of(number)).partition != *at);
            }
            (moved, f64::from(moved) / f64::from(all))
        };
        println!(
            "growth to {}: moves of the stored {:?}, of those in streams {:?}, of the active {:?}",
            layout.partitions(),
            moved(f64::MAX),
            moved(IN_STREAM_YEARS),
            moved(ACTIVE_YEARS)
        );
    }
}

/// The loads of partitions relative to the mean.
fn loads_of(partitions: usize, conversations: impl Iterator<Item = Partition>) -> String {
    let mut loads = vec![0_u32; partitions];
    for partition in conversations {
        loads[usize::from(partition.0)] += 1;
    }
    loads.sort_unstable();
    let sum = f64::from(loads.iter().sum::<u32>());
    let mean = sum / f64::from(u32::try_from(partitions).unwrap());
    let at = |percent: usize| f64::from(loads[(partitions - 1) * percent / 100]) / mean;
    format!("p1 {:.2}, p50 {:.2}, p99 {:.2}, most {:.2} of the mean", at(1), at(50), at(99), at(100))
}
