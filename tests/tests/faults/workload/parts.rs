//! The parts that callers play: each a loop of commands, each settled before the next.

use domain::{Fact, Lifecycle, Version};
use rand::RngExt as _;
use tests::checker::{Asked, Outcome};
use tokio::join;

use super::client::Client;
use super::content;

/// Everybody writes to the same few conversations, whatever their version.
pub(crate) async fn hot(mut client: Client, conversations: Vec<String>) {
    while client.goes_on() {
        let conversation = &conversations[client.rng.random_range(0..conversations.len())];
        client.append(conversation, None).await;
    }
}

/// Everybody writes to one conversation at the version that they last heard of.
pub(crate) async fn racing(mut client: Client, conversation: String) {
    let mut version = Version(1);
    while client.goes_on() {
        version = match client.append(&conversation, Some(version)).await {
            Outcome::Committed(answer) => answer.version,
            Outcome::Refused(refusal) => refusal.current.unwrap_or(version),
            Outcome::Unchanged | Outcome::Unknown => version,
        };
    }
}

/// New conversations all the time, most of them soon left; two callers may want the same id.
pub(crate) async fn cold(mut client: Client, name: String) {
    for number in 0.. {
        if !client.goes_on() {
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

/// Conversations that are erased while others still write to them.
pub(crate) async fn erased(mut one: Client, mut other: Client, name: String) {
    for number in 0.. {
        if !one.goes_on() {
            return;
        }
        let conversation = format!("{name}-{number}");
        if let Outcome::Committed(_) = one.create(&conversation).await {
            join!(
                append_until_refused(&mut other, &conversation),
                erase(&mut one, &conversation)
            );
        }
    }
}

async fn append_until_refused(client: &mut Client, conversation: &str) {
    while let Outcome::Committed(_) = client.append(conversation, None).await {
        if !client.goes_on() {
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

/// Conversations that are renamed, archived, tried all the same, and restored.
pub(crate) async fn moody(mut client: Client, conversation: String) {
    while client.goes_on() {
        let update = content::updated(&mut client.rng);
        client
            .command(&conversation, content::asked([update]))
            .await;
        client.append(&conversation, None).await;
        client
            .command(
                &conversation,
                content::asked([Fact::Lifecycle(Lifecycle::ConversationArchived)]),
            )
            .await;
        client.append(&conversation, None).await;
        client
            .command(
                &conversation,
                content::asked([Fact::Lifecycle(Lifecycle::ConversationRestored)]),
            )
            .await;
    }
}

/// Conversations of calls and results, some of which come twice, late, or with their call in one commit, and of summaries.
pub(crate) async fn tooled(mut client: Client, conversation: String, name: String) {
    for number in 0.. {
        if !client.goes_on() {
            return;
        }
        let call = format!("{name}-{number}");
        let result = content::returned(&mut client.rng, &call);
        let called = content::called(&call);
        let commits = match client.rng.random_range(0..4) {
            0 => vec![vec![called, result]],
            1 => vec![vec![called], vec![result.clone()], vec![result]],
            2 => vec![vec![called.clone()], vec![called], vec![result]],
            _ => vec![vec![called], vec![result]],
        };
        for facts in commits {
            let outcome = client.command(&conversation, content::asked(facts)).await;
            if let Outcome::Committed(answer) = outcome
                && client.rng.random_bool(0.2)
            {
                let summary = content::summarised(&mut client.rng, answer.version);
                client
                    .command(&conversation, content::asked([summary]))
                    .await;
            }
        }
    }
}

/// Reads what others write.
pub(crate) async fn reading(mut client: Client, conversations: Vec<String>) {
    while client.goes_on() {
        let conversation = &conversations[client.rng.random_range(0..conversations.len())];
        client.read(conversation).await;
    }
}

/// Appends a number of times, at any version or each time at the last one heard of.
pub(crate) async fn racing_for(
    mut client: Client,
    conversation: String,
    commits: usize,
    exact: Exact,
) {
    let mut version = Version(1);
    let mut committed = 0;
    while committed < commits && client.goes_on() {
        let expected = matches!(exact, Exact::Yes).then_some(version);
        let events = content::some_events(&mut client.rng);
        match client
            .command(&conversation, Asked { events, expected })
            .await
        {
            Outcome::Committed(answer) => (version, committed) = (answer.version, committed + 1),
            Outcome::Refused(refusal) => version = refusal.current.expect("the current version"),
            Outcome::Unchanged | Outcome::Unknown => {}
        }
    }
}

/// Whether a racer expects a version.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Exact {
    /// It does.
    Yes,
    /// It takes any.
    No,
}
