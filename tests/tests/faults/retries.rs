//! Every command is sent again after a restart of everything: the answers are equal, and nothing changes.

use std::collections::BTreeSet;

use domain::{ConversationKey, Fact, Lifecycle};
use futures::{StreamExt as _, stream};
use tests::checker::{Call, Finding, Kind, Outcome, RecordContents};

use crate::fixture::{FaultTarget, Fixture};
use crate::injection::seed;
use crate::verdict::{check_all, conclude, read_record, report};
use crate::workload::{Client, Pending, Workload};

const ACKNOWLEDGED: usize = 1_000;
/// Concurrent retries.
const AT_ONCE: usize = 16;

#[tokio::test(flavor = "multi_thread")]
async fn retries_of_every_commit_change_nothing() {
    let mut fixture = Fixture::start().await;
    let load = Workload::start(&fixture, seed()).await;
    load.wait_for_acknowledgements(ACKNOWLEDGED).await;
    fixture.kill(FaultTarget::Everything);
    fixture.restart(FaultTarget::Everything).await;
    load.wait_for_acknowledgements(ACKNOWLEDGED).await;
    let tried = load.finish().await;
    let before = read_record(&fixture.record().await).await;

    fixture.kill(FaultTarget::Everything);
    fixture.restart(FaultTarget::Everything).await;
    let erased = erased(&tried.calls);
    let mut again = Workload::new(&fixture, tried.seed);
    let committed = tried.calls.iter().filter(|call| call.answer().is_some());
    let retries: Vec<_> = committed.map(|call| (call.clone(), again.client())).collect();
    let count = retries.len();
    let findings: Vec<Option<Finding>> = stream::iter(retries)
        .map(|(call, client)| retry(call, client, &erased))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;

    let after = read_record(&fixture.record().await).await;
    let mut findings: Vec<Finding> = findings.into_iter().flatten().collect();
    findings.extend(changes(&before, &after));
    let report = report("every commit again, after a restart of everything", &tried, &after, findings)
        .with("commits tried again", count);
    conclude(&report, &tried);
    check_all(&mut fixture, "after every commit was tried again", &tried, &[]).await;
}

/// Sends a command again, and compares the answers. The commits of an erased conversation are gone, so the answer may be that.
pub(crate) async fn retry(call: Call, mut client: Client, erased: &BTreeSet<ConversationKey>) -> Option<Finding> {
    let pending = Pending {
        key: call.key,
        conversation: call.conversation.clone(),
        asked: call.asked.clone(),
        invoked: call.invoked,
        tries: 0,
        stream_place: None,
    };
    let outcome = client.settle(pending).await;
    let is_erased = matches!(&outcome, Outcome::Refused(refusal) if refusal.reason == "CONVERSATION_ERASED");
    if outcome == call.outcome || (is_erased && erased.contains(&call.conversation)) {
        return None;
    }
    let detail = format!("{} was answered with {:?} at first, and then with {outcome:?}", call.key, call.outcome);
    Some(Finding::new(Kind::WrongAnswer, &call.conversation, detail))
}

fn erased(calls: &[Call]) -> BTreeSet<ConversationKey> {
    let erasures = calls.iter().filter(|call| {
        call.answer().is_some() && call.asked.events[0].fact == Fact::Lifecycle(Lifecycle::ConversationErased)
    });
    erasures.map(|call| call.conversation.clone()).collect()
}

/// The differences between two states of the record.
fn changes(before: &RecordContents, after: &RecordContents) -> Vec<Finding> {
    let messages = |recorded: &RecordContents| -> BTreeSet<(ConversationKey, domain::Position, Vec<u8>)> {
        let commits = recorded.conversations.iter().flat_map(|(key, commits)| {
            commits.iter().map(|stored| (key.clone(), stored.position, stored.opened.body.to_vec()))
        });
        commits.collect()
    };
    let (before, after) = (messages(before), messages(after));
    let changed = before.symmetric_difference(&after);
    changed.map(|(key, position, _)| Finding::new(Kind::Doubled, key, format!("{position:?} changed"))).collect()
}
