//! The real client of the AI SDK builds from our streams the messages of our pages.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod support;

use std::path::Path;
use std::process::Command;

use domain::RunPart;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use runs::{UiMessage, UiStream, continued_message, page, replay, sse};
use serde_json::{Value, json};
use support::case::{Case, approvals, case, fold_of, set_up};
use support::record::started;

/// The number of random runs that the client reads, each cut after every part.
const CASES: usize = 40;

/// Run it after `npm ci` in `tests/clients/ai-sdk`.
#[test]
#[ignore = "needs node and the packages of tests/clients/ai-sdk"]
fn the_client_of_the_sdk_builds_the_messages_of_pages() {
    let mut runner = TestRunner::deterministic();
    let cases: Vec<Value> = (0..CASES).map(|_| case_json(&case().new_tree(&mut runner).unwrap().current())).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cases.json");
    std::fs::write(&file, serde_json::to_vec(&cases).unwrap()).unwrap();
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients/ai-sdk");
    let status = Command::new("node").arg(clients.join("check.mjs")).arg(&file).status().unwrap();
    assert!(status.success());
}

/// The events of the stream of a run and, after each part, the last message of its page.
fn case_json(case: &Case) -> Value {
    let (record, parts) = set_up(case);
    let shown = |parts: &[RunPart]| page(&record.events, Some(&fold_of(parts)), &approvals());
    let before = page(&record.events, None, &approvals());
    let known = continued_message(&before);
    let mut stream = UiStream::new(started(2).run, known, approvals());
    let opening = stream.start_chunk();
    let replayed = known.map_or_else(|| vec![opening.clone()], replay);
    let cuts: Vec<Value> = (1..=parts.len())
        .map(|cut| {
            let part = &parts[cut - 1];
            let id = sse::PartId { run: started(2).run, part: part.number };
            let frames = sse::frames(Some(id), &stream.push(part)).unwrap();
            json!({ "frames": frames, "shown": last_of(&shown(&parts[..cut]), &before) })
        })
        .collect();
    json!({
        "before": before,
        "opening": sse::frames(None, &[opening]).unwrap(),
        "replayed": sse::frames(None, &replayed).unwrap(),
        "cuts": cuts,
        "done": sse::DONE,
        "outcome": case.script.outcome.as_str(),
        "during": shown(&parts[..parts.len() / 2]),
        "after": shown(&parts),
    })
}

/// The message that the run creates or continues; null without output.
fn last_of(shown: &[UiMessage], before: &[UiMessage]) -> Value {
    let made = continued_message(shown).or_else(|| continued_message(before));
    made.map_or(Value::Null, |message| serde_json::to_value(message).unwrap())
}
