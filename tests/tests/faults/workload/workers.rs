//! The tasks of callers: each is a loop of commands, each settled before the next.

use domain::{Fact, Lifecycle, Version};
use rand::RngExt as _;
use tests::checker::{Expectation, Outcome};
use tokio::join;

use super::client::Client;
use super::content;

/// Appends to a few shared conversations at any version.
pub(crate) async fn append_to_busy(mut client: Client, conversations: Vec<String>) {
    while client.may_continue() {
        let conversation = &conversations[client.rng.random_range(0..conversations.len())];
        client.append(conversation, None).await;
    }
}

/// Creates a conversation and appends to it.
pub(crate) async fn append_to_own(mut client: Client, conversation: String) {
    client.create(&conversation).await;
    append_to_busy(client, vec![conversation]).await;
}

/// Appends to one shared conversation at the last known version.
pub(crate) async fn append_to_contended(mut client: Client, conversation: String) {
    let mut version = Version(1);
    while client.may_continue() {
        version = match client.append(&conversation, Some(version)).await {
            Outcome::Committed(answer) => answer.version,
            Outcome::Refused(refusal) => refusal.current.unwrap_or(version),
            Outcome::Unchanged | Outcome::Unknown => version,
        };
    }
}

/// Creates conversations and soon leaves most of them; two callers may use the same id.
pub(crate) async fn create_many(mut client: Client, name: String) {
    for number in 0.. {
        if !client.may_continue() {
            return;
        }
        let conversation = format!("{name}-{number}");
        if let Outcome::Committed(_) = client.create(&conversation).await {
            for _ in 0..client.rng.random_range(0..3) {
                client.append(&conversation, None).await;
            }
        }
    }
}

/// Erases conversations during appends of another caller.
pub(crate) async fn erase_under_load(mut one: Client, mut other: Client, name: String) {
    for number in 0.. {
        if !one.may_continue() {
            return;
        }
        let conversation = format!("{name}-{number}");
        if let Outcome::Committed(_) = one.create(&conversation).await {
            join!(append_until_refused(&mut other, &conversation), erase(&mut one, &conversation));
        }
    }
}

async fn append_until_refused(client: &mut Client, conversation: &str) {
    while let Outcome::Committed(_) = client.append(conversation, None).await {
        if !client.may_continue() {
            return;
        }
    }
}

async fn erase(client: &mut Client, conversation: &str) {
    for _ in 0..client.rng.random_range(1..20) {
        client.append(conversation, None).await;
    }
    client.command(conversation, content::erasure()).await;
}

/// Renames, archives and restores a conversation, with appends to the archived one.
pub(crate) async fn archive_and_restore(mut client: Client, conversation: String) {
    while client.may_continue() {
        let update = content::update(&mut client.rng);
        client.command(&conversation, content::request([update])).await;
        client.append(&conversation, None).await;
        client.command(&conversation, content::request([Fact::Lifecycle(Lifecycle::ConversationArchived)])).await;
        client.append(&conversation, None).await;
        client.command(&conversation, content::request([Fact::Lifecycle(Lifecycle::ConversationRestored)])).await;
    }
}

/// Appends tool calls, results and summaries; some results are duplicated, late, or in one commit with their call.
pub(crate) async fn call_tools(mut client: Client, conversation: String, name: String) {
    for number in 0.. {
        if !client.may_continue() {
            return;
        }
        let call = format!("{name}-{number}");
        let result = content::tool_result(&mut client.rng, &call);
        let called = content::call(&call);
        let commits = match client.rng.random_range(0..4) {
            0 => vec![vec![called, result]],
            1 => vec![vec![called], vec![result.clone()], vec![result]],
            2 => vec![vec![called.clone()], vec![called], vec![result]],
            _ => vec![vec![called], vec![result]],
        };
        for facts in commits {
            let outcome = client.command(&conversation, content::request(facts)).await;
            if let Outcome::Committed(answer) = outcome
                && client.rng.random_bool(0.2)
            {
                let summary = content::summary(&mut client.rng, answer.version);
                client.command(&conversation, content::request([summary])).await;
            }
        }
    }
}

/// Reads conversations of other callers.
pub(crate) async fn read(mut client: Client, conversations: Vec<String>) {
    while client.may_continue() {
        let conversation = &conversations[client.rng.random_range(0..conversations.len())];
        client.read(conversation).await;
    }
}

/// Appends a number of times, at any version or each time at the last known one.
pub(crate) async fn append_times(mut client: Client, conversation: String, commits: usize, exact: ExpectVersion) {
    let mut version = Version(1);
    let mut committed = 0;
    while committed < commits && client.may_continue() {
        let expected = matches!(exact, ExpectVersion::Yes).then_some(version);
        let events = content::some_events(&mut client.rng);
        match client.command(&conversation, Expectation { events, expected }).await {
            Outcome::Committed(answer) => (version, committed) = (answer.version, committed + 1),
            Outcome::Refused(refusal) => version = refusal.current.expect("the current version"),
            Outcome::Unchanged | Outcome::Unknown => {}
        }
    }
}

/// Whether a racer expects a version.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ExpectVersion {
    /// It expects the last known one.
    Yes,
    /// It accepts any.
    No,
}
