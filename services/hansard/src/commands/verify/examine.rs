//! The judgement of one conversation: its rows as of one moment beside the record up to that moment's checkpoint.

use std::time::Duration;

use anyhow::Context as _;
use domain::{Change, ConversationKey, Sequence, Version};
use event_log::{StoredMessage, TailBounds};
use read_model::projections::conversations::Item;
use read_model::projections::conversations::verification::{
    Difference, Standing, compare_events, standing, unfounded_events,
};

use super::Ground;
use super::history::{History, is_erased, open};
use super::problem::Problem;

/// Most looks at a conversation that does not look the same twice.
const LOOKS_MAX: u32 = 6;
/// How long to wait for an erasure to reach the rows before looking again, longer each time by as much.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// What became of an examination.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Examined {
    /// What is wrong; nothing: the rows are whole.
    pub(super) problems: Vec<Problem>,
    /// How many events were compared.
    pub(super) events: u64,
    /// It could not be judged: it is being erased, or never looked the same twice.
    pub(super) is_unsettled: bool,
}

/// Looks at a conversation. What is wrong is told only when two looks after each other see the same: an erasure or a repair
/// may come in between.
pub(super) async fn examine(ground: &Ground, key: &ConversationKey) -> anyhow::Result<Examined> {
    let mut before: Option<Examined> = None;
    let mut wait = LOOK_AGAIN_AFTER;
    for _ in 0..LOOKS_MAX {
        let found = look(ground, key).await?;
        let is_whole = found.problems.is_empty() && !found.is_unsettled;
        let is_seen_again = before
            .as_ref()
            .is_some_and(|before| !found.is_unsettled && before.problems == found.problems);
        if is_whole || is_seen_again {
            return Ok(found);
        }
        if found.is_unsettled {
            tokio::time::sleep(wait).await;
            wait += LOOK_AGAIN_AFTER;
        }
        before = Some(found);
    }
    Ok(Examined {
        problems: Vec::new(),
        is_unsettled: true,
        ..before.unwrap_or_default()
    })
}

async fn look(ground: &Ground, key: &ConversationKey) -> anyhow::Result<Examined> {
    let (record, model) = (&ground.record, &ground.model);
    let partition = record.partition_of(key);
    let Some(standing) = standing(model, key, partition).await? else {
        // A partition without a checkpoint has no rows yet.
        return Ok(Examined::default());
    };
    let last = record.last_from_leader(key).await?;
    let tombstone = last
        .as_ref()
        .filter(|message| matches!(message.open_head(), Ok(head) if is_erased(&head)));
    if let Some(message) = tombstone {
        return look_at_erased(ground, key, &standing, message).await;
    }
    let mut history = History::of(&ground.archive, key, standing.through());
    let mut differences = Vec::new();
    while let Some(commits) = history.next().await? {
        differences.extend(compare_events(model, key, &commits).await?);
    }
    if !history.is_complete(last.map(|last| last.position.sequence)) {
        return Ok(Examined {
            is_unsettled: true,
            ..Examined::default()
        });
    }
    let mut found = Examined {
        events: history.events,
        ..Examined::default()
    };
    found
        .problems
        .extend(standing.parked_at.map(Problem::Parked));
    // What follows an unreadable message cannot be worked out.
    let is_readable = !history
        .problems
        .iter()
        .any(|problem| matches!(problem, Problem::Unreadable(..)));
    found.problems.append(&mut history.problems);
    if is_readable {
        differences.extend(standing.compare(history.change.as_ref())?);
        let held = history.first_version.zip(history.change.as_ref());
        let held = held.map(|(first, change)| (first, change.head.version));
        differences.extend(unfounded(ground, key, &standing, held).await?);
    }
    found
        .problems
        .extend(differences.into_iter().map(Problem::Rows));
    Ok(found)
}

/// An erased conversation has a row, and no events; the record may have no more of it than its tombstone.
async fn look_at_erased(
    ground: &Ground,
    key: &ConversationKey,
    standing: &Standing,
    message: &StoredMessage,
) -> anyhow::Result<Examined> {
    if message.position.sequence > standing.checkpoint {
        return Ok(Examined {
            is_unsettled: standing.has_row(),
            ..Examined::default()
        });
    }
    let problems = match open(key, message) {
        Err(reason) => vec![Problem::Unreadable(message.position.sequence, reason)],
        Ok(placed) => {
            let change = Change::of(&placed.opened.commit, placed.position);
            let mut differences: Vec<Difference> =
                standing.compare(Some(&change))?.into_iter().collect();
            differences.extend(unfounded(ground, key, standing, None).await?);
            differences.into_iter().map(Problem::Rows).collect()
        }
    };
    Ok(Examined {
        problems,
        events: 1,
        is_unsettled: false,
    })
}

/// Rows of events that are not among the versions that the record holds.
async fn unfounded(
    ground: &Ground,
    key: &ConversationKey,
    standing: &Standing,
    held: Option<(Version, Version)>,
) -> anyhow::Result<Vec<Difference>> {
    let Some(last) = standing.last_event else {
        return Ok(Vec::new());
    };
    let (first_held, last_held) = held.unwrap_or((Version(1), Version::ZERO));
    let held = first_held..=last_held;
    let read = unfounded_events(&ground.model, key, &held, last);
    read.await.context("rows of events cannot be read")
}

/// The commits of a conversation after one place and up to another, some of them, for whoever writes rows from them.
pub(super) async fn commits_between(
    ground: &Ground,
    key: &ConversationKey,
    after: Sequence,
    through: Sequence,
) -> anyhow::Result<Vec<Item>> {
    let bounds = TailBounds::default();
    let mut commits = ground.archive.commits(key, after).await?;
    let page = commits.next(bounds).await?.unwrap_or_default();
    let first = page.first().map(|first| first.position.sequence);
    anyhow::ensure!(
        after > Sequence(0) || first.is_none_or(|first| first <= through),
        "it is being erased"
    );
    let within = |message: &&StoredMessage| message.position.sequence <= through;
    let messages = page.iter().take_while(within);
    let open = |message: &StoredMessage| {
        let placed = open(key, message).map_err(anyhow::Error::msg)?;
        Ok(Item::Commit(Box::new(placed)))
    };
    messages.map(open).collect()
}
