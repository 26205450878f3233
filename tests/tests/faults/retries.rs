//! Every command again, after a restart of everything: the same answers, and nothing changes.

use std::collections::BTreeSet;

use domain::{ConversationKey, Fact, Lifecycle};
use futures::{StreamExt as _, stream};
use tests::checker::{Call, Finding, Kind, Outcome, Recorded};

use crate::ground::{Ground, Victim};
use crate::judgement::{conclude, judge, recorded, report};
use crate::strike::seed;
use crate::workload::{Client, Pending, Workload};

const ACKNOWLEDGED: usize = 1_000;
/// Commands under way at once.
const AT_ONCE: usize = 16;

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_of_every_commit_changes_nothing() {
    let mut ground = Ground::start().await;
    let load = Workload::start(&ground, seed()).await;
    load.acknowledged(ACKNOWLEDGED).await;
    ground.kill(Victim::Everything);
    ground.revive(Victim::Everything).await;
    load.acknowledged(ACKNOWLEDGED).await;
    let tried = load.finish().await;
    let before = recorded(&ground.record().await).await;

    ground.kill(Victim::Everything);
    ground.revive(Victim::Everything).await;
    let erased = erased(&tried.calls);
    let mut again = Workload::new(&ground, tried.seed);
    let committed = tried.calls.iter().filter(|call| call.answer().is_some());
    let retries: Vec<_> = committed
        .map(|call| (call.clone(), again.client()))
        .collect();
    let count = retries.len();
    let findings: Vec<Option<Finding>> = stream::iter(retries)
        .map(|(call, client)| retry(call, client, &erased))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;

    let after = recorded(&ground.record().await).await;
    let mut findings: Vec<Finding> = findings.into_iter().flatten().collect();
    findings.extend(changes(&before, &after));
    let report = report(
        "every commit again, after a restart of everything",
        &tried,
        &after,
        findings,
    )
    .with("commits tried again", count);
    conclude(&report, &tried);
    judge(
        &mut ground,
        "after every commit was tried again",
        &tried,
        &[],
    )
    .await;
}

/// Sends a commit's command again. The commits of an erased conversation are gone, and the answer says so.
async fn retry(
    call: Call,
    mut client: Client,
    erased: &BTreeSet<ConversationKey>,
) -> Option<Finding> {
    let pending = Pending {
        key: call.key,
        conversation: call.conversation.clone(),
        asked: call.asked.clone(),
        invoked: call.invoked,
        tries: 0,
        pipelined: None,
    };
    let told = client.settle(pending).await;
    let is_erased =
        matches!(&told, Outcome::Refused(refusal) if refusal.reason == "CONVERSATION_ERASED");
    if told == call.outcome || (is_erased && erased.contains(&call.conversation)) {
        return None;
    }
    let detail = format!(
        "{} was told {:?} at first, and then {told:?}",
        call.key, call.outcome
    );
    Some(Finding::new(Kind::WrongAnswer, &call.conversation, detail))
}

fn erased(calls: &[Call]) -> BTreeSet<ConversationKey> {
    let erasures = calls.iter().filter(|call| {
        call.answer().is_some()
            && call.asked.events[0].fact == Fact::Lifecycle(Lifecycle::ConversationErased)
    });
    erasures.map(|call| call.conversation.clone()).collect()
}

/// What the record holds now and did not hold before, or the other way round.
fn changes(before: &Recorded, after: &Recorded) -> Vec<Finding> {
    let messages = |recorded: &Recorded| -> BTreeSet<(ConversationKey, domain::Position, Vec<u8>)> {
        let commits = recorded.conversations.iter().flat_map(|(key, commits)| {
            commits
                .iter()
                .map(|stored| (key.clone(), stored.position, stored.opened.body.to_vec()))
        });
        commits.collect()
    };
    let (before, after) = (messages(before), messages(after));
    let changed = before.symmetric_difference(&after);
    changed
        .map(|(key, position, _)| Finding::new(Kind::Doubled, key, format!("{position:?} changed")))
        .collect()
}
