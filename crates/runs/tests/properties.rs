//! Live and rebuilt pages are equal; pages only grow; streams build the messages of pages, at every cut.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod support;

use domain::{RunPart, RunPartKind};
use proptest::prelude::*;
use runs::{Coalescer, UiChunk, UiMessage, UiStream, continued_message, page, replay};
use serde_json::Value;
use support::case::{approvals, case, fold_of, json, set_up, without_cut_calls};
use support::client::{Client, comparable};
use support::record::started;
use support::script::numbered;

/// Whether `later` contains everything in `earlier`.
fn grew(earlier: &UiMessage, later: &UiMessage) -> bool {
    let (earlier, later) = (json(earlier), json(later));
    let parts = |message: &Value| message["parts"].as_array().unwrap().clone();
    let text = |part: &Value| part["text"].as_str().unwrap_or_default().to_owned();
    earlier["id"] == later["id"]
        && parts(&earlier).len() <= parts(&later).len()
        && parts(&earlier).iter().zip(parts(&later)).all(|(part, then)| {
            part["type"] == then["type"]
                && part["toolCallId"] == then["toolCallId"]
                && text(&then).starts_with(&text(part))
        })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn live_and_rebuilt_pages_are_equal(case in case()) {
        let (record, parts) = set_up(&case);
        let fold = fold_of(&parts);
        let live = page(&record.events, Some(&fold), &approvals());
        let mut after = record.clone();
        after.finish(started(2).run, case.script.outcome, fold.facts());
        prop_assert_eq!(&page(&after.events, None, &approvals()), &live);
        // Parts after the recorded end change nothing.
        prop_assert_eq!(&page(&after.events, Some(&fold), &approvals()), &live);
    }

    #[test]
    fn pages_only_grow(case in case()) {
        let (record, parts) = set_up(&case);
        let mut before = page(&record.events, None, &approvals());
        for cut in 0..=parts.len() {
            let shown = page(&record.events, Some(&fold_of(&parts[..cut])), &approvals());
            let (last, settled) = before.split_last().unwrap();
            prop_assert!(shown.len() >= before.len() || cut == parts.len());
            prop_assert_eq!(settled, &shown[..settled.len()]);
            if cut < parts.len() {
                prop_assert!(grew(last, &shown[settled.len()]));
            }
            before = shown;
        }
    }

    #[test]
    fn neither_duplicates_nor_coalescing_change_a_run(case in case(), cut in any::<prop::sample::Index>()) {
        let (record, parts) = set_up(&case);
        let fold = fold_of(&parts);
        let cut = cut.index(parts.len());
        let mut again = fold_of(&parts[..cut]);
        for part in parts[cut / 2..].iter().chain(&parts) {
            again.absorb(part).unwrap();
        }
        prop_assert_eq!(&again, &fold);

        let mut coalescer = Coalescer::default();
        let kinds = parts.iter().filter(|part| part.kind != RunPartKind::KeptAlive);
        let mut merged: Vec<_> = kinds.flat_map(|part| coalescer.push(part.kind.clone())).collect();
        merged.extend(coalescer.flush());
        prop_assert!(merged.len() <= parts.len());
        let merged = fold_of(&numbered(merged));
        prop_assert_eq!(merged.facts(), fold.facts());
        prop_assert_eq!(
            page(&record.events, Some(&merged), &approvals()),
            page(&record.events, Some(&fold), &approvals())
        );
    }

    #[test]
    fn streams_build_the_messages_of_pages_at_every_cut(case in case()) {
        let (record, parts) = set_up(&case);
        let before = page(&record.events, None, &approvals());
        let known = continued_message(&before);
        let new = || UiStream::new(started(2).run, known, approvals());
        let mut stream = new();
        let mut client = Client::new(known.map(json));
        client.apply(&serde_json::to_value(stream.start_chunk()).unwrap());
        let mut replaying = Client::new(None);
        let again = known.map_or_else(|| vec![stream.start_chunk()], replay);
        for chunk in &again {
            replaying.apply(&serde_json::to_value(chunk).unwrap());
        }
        for cut in 1..=parts.len() {
            let chunks = stream.push(&parts[cut - 1]);
            for chunk in &chunks {
                client.apply(&serde_json::to_value(chunk).unwrap());
                replaying.apply(&serde_json::to_value(chunk).unwrap());
            }
            prop_assert_eq!(&resumed(new(), &parts, cut - 1), &chunks);
            let shown = page(&record.events, Some(&fold_of(&parts[..cut])), &approvals());
            let of_client = comparable(client.message.clone());
            prop_assert_eq!(&comparable(replaying.message.clone()), &of_client);
            let of_client = if cut == parts.len() {
                without_cut_calls(of_client)
            } else {
                of_client
            };
            if let Some(message) = continued_message(&shown) {
                prop_assert_eq!(json(message), of_client);
            } else {
                prop_assert_eq!(of_client["parts"].as_array().unwrap().len(), 0);
            }
        }
        prop_assert!(stream.is_over());
    }

    #[test]
    fn replays_build_the_same_message(case in case()) {
        let (record, parts) = set_up(&case);
        for message in page(&record.events, Some(&fold_of(&parts)), &approvals()) {
            if continued_message(std::slice::from_ref(&message)).is_some() {
                let mut client = Client::new(None);
                for chunk in replay(&message) {
                    client.apply(&serde_json::to_value(chunk).unwrap());
                }
                prop_assert_eq!(comparable(client.message), json(&message));
            }
        }
    }
}

/// The chunks of the part after `seen`, from a new stream.
fn resumed(mut stream: UiStream, parts: &[RunPart], seen: usize) -> Vec<UiChunk> {
    for part in &parts[..seen] {
        stream.push(part);
    }
    stream.push(&parts[seen])
}
