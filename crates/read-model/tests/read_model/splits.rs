//! The rows are the same for any batches and any crashes of projectors.

use domain::event::{ConversationUpdated, Usage};
use domain::{Conversation, Fact, FieldChange, Lifecycle};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use read_model::projections::conversations::lease;
use read_model::projections::conversations::{Batch, Item, apply};
use read_model::{Day, DayRange, Direction, EventRow, UsageDay, conversation, events, usage_by_day};
use tokio::runtime::Runtime;

use crate::fixture::{Author, Projection, START, access, message, reply, take};
use crate::rows::all;

const CASES: u32 = 24;
const CONVERSATIONS: usize = 4;

/// One commit: the index of its conversation, and its content.
type Step = (usize, u8);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    vec((0..CONVERSATIONS, 0_u8..12), 1..60)
}

/// The commits of the steps, with gaps between their sequences. A tombstone is the last commit of a conversation.
fn items(steps: &[Step]) -> (Vec<Author>, Vec<Item>) {
    let mut authors: Vec<Author> = (0..CONVERSATIONS).map(|n| Author::new(&format!("c{n}"))).collect();
    let mut begun = [false; CONVERSATIONS];
    let mut erased = [false; CONVERSATIONS];
    let mut items = Vec::new();
    for (sequence, (whose, what)) in (1..).zip(steps) {
        if erased[*whose] {
            continue;
        }
        let facts = match what {
            _ if !begun[*whose] => vec![Fact::from(authors[*whose].created.clone()), message("hi")],
            0..4 => vec![message("x"); usize::from(*what) + 1],
            4..6 => vec![reply(Some("m"), Some(Usage { input_tokens: sequence, ..Usage::default() }))],
            6..9 => vec![Fact::from(ConversationUpdated {
                title: Some(if *what == 6 { FieldChange::Clear } else { FieldChange::Set(format!("t{sequence}")) }),
                ..ConversationUpdated::default()
            })],
            9 => vec![Fact::Lifecycle(Lifecycle::ConversationArchived)],
            10 => vec![Fact::Lifecycle(Lifecycle::ConversationRestored)],
            _ => vec![Fact::Lifecycle(Lifecycle::ConversationErased)],
        };
        erased[*whose] = begun[*whose] && *what == 11;
        begun[*whose] = true;
        items.push(authors[*whose].commit(sequence * 3, facts));
    }
    (authors, items)
}

type Rows = (Vec<(Option<Conversation>, Vec<EventRow>)>, Vec<UsageDay>);

async fn rows(projection: &Projection, authors: &[Author]) -> Rows {
    let mut rows = Vec::new();
    for author in authors {
        let query = all(Direction::Forward);
        let id = &author.key.conversation;
        let (model, access) = (&projection.model, access("acme"));
        let events = events(model, &access, id, &query).await.unwrap();
        rows.push((conversation(model, &access, id).await.unwrap(), events));
    }
    let days = DayRange::new(Day::from_time(START), Day::from_time(START)).unwrap();
    let usage = usage_by_day(&projection.model, &access("acme"), None, days).await;
    (rows, usage.unwrap())
}

async fn at_once(steps: &[Step]) -> Rows {
    let (authors, items) = items(steps);
    let mut projection = Projection::new().await;
    projection.apply(items).await;
    rows(&projection, &authors).await
}

/// In batches of the given sizes; `deaths` determines crashes of the projector before or after a batch.
async fn in_batches(steps: &[Step], sizes: &[usize], deaths: &[u8]) -> Rows {
    let (authors, mut items) = items(steps);
    let mut projection = Projection::new().await;
    let mut turn = 0;
    while !items.is_empty() {
        let size = sizes[turn % sizes.len()].min(items.len());
        let batch = projection.batch(items.drain(..size).collect());
        match deaths[turn % deaths.len()] {
            // The transaction was not committed: the next holder starts at the checkpoint.
            0 => {
                replace(&mut projection).await;
                projection.apply(batch.items).await;
            }
            // The transaction was committed without an answer: the same batch is repeated.
            1 => {
                apply(&projection.model, std::slice::from_ref(&batch)).await.unwrap();
                replace(&mut projection).await;
                let again = Batch { lease: projection.checkpoint.lease, ..batch };
                apply(&projection.model, &[again]).await.unwrap_err();
            }
            _ => {
                projection.apply(batch.items).await;
            }
        }
        turn += 1;
    }
    rows(&projection, &authors).await
}

async fn replace(projection: &mut Projection) {
    lease::release(&projection.model, &[projection.checkpoint.lease]).await.unwrap();
    projection.checkpoint = take(&projection.model, 0, "next").await.unwrap();
}

#[test]
fn batches_and_crashes_do_not_change_rows() {
    let runtime = Runtime::new().unwrap();
    let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let cases = (steps(), vec(1_usize..20, 1..6), vec(0_u8..4, 1..6));
    runner
        .run(&cases, |(steps, sizes, deaths)| {
            let expected = runtime.block_on(at_once(&steps));
            let found = runtime.block_on(in_batches(&steps, &sizes, &deaths));
            prop_assert_eq!(found, expected);
            Ok(())
        })
        .unwrap();
}
