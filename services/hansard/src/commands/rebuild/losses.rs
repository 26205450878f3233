//! What rows contain and the record does not.

use std::collections::{BTreeMap, BTreeSet};

use archive::Archive;
use domain::{ChainHash, ConversationId, ConversationKey, Head, Status, TenantId, Version};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use read_model::ReadModel;
use read_model::projections::conversations::{HEADS_PER_PAGE, ProjectedHead, projected_heads};

use crate::progress::{Length, Progress, grouped};

/// Conversations that are compared at once.
const COMPARED_AT_ONCE: usize = 64;
/// Maximum conversations that are named.
const NAMED_MAX: usize = 10_000;

/// All losses of a database.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// The number of conversations whose commits are given up.
    pub(super) conversations: u64,
    /// The first of them, at most [`NAMED_MAX`].
    pub(super) named: Vec<Loss>,
    /// Erased conversations that the record still has.
    undone_erasures: Vec<ConversationKey>,
}

/// A conversation with commits that the record does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loss {
    pub(super) key: ConversationKey,
    /// The version of the rows.
    pub(super) rows: Version,
    /// The version of the record; `None`: it has no commit of the conversation.
    pub(super) record: Option<Version>,
}

/// How a conversation of the rows stands to the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// The record has what the rows contain.
    Kept,
    /// The record lacks commits of the rows.
    Lost,
    /// The record has a conversation that is erased in the rows.
    ErasureUndone,
}

impl Losses {
    /// Erased conversations that the record still has, by tenant.
    pub(super) fn erasures(&self) -> BTreeMap<TenantId, BTreeSet<ConversationId>> {
        let mut erasures: BTreeMap<TenantId, BTreeSet<ConversationId>> = BTreeMap::new();
        for key in &self.undone_erasures {
            erasures.entry(key.tenant.clone()).or_default().insert(key.conversation.clone());
        }
        erasures
    }

    /// The number of erased conversations that the record still has.
    pub(super) fn erasures_count(&self) -> u64 {
        u64::try_from(self.undone_erasures.len()).unwrap_or(u64::MAX)
    }

    fn add(&mut self, row: ProjectedHead, last: Option<&Head>, relation: Relation) {
        match relation {
            Relation::Kept => {}
            Relation::ErasureUndone => self.undone_erasures.push(row.key),
            Relation::Lost => {
                self.conversations += 1;
                if self.named.len() < NAMED_MAX {
                    let record = last.map(|head| head.version);
                    self.named.push(Loss { key: row.key, rows: row.head.version, record });
                }
            }
        }
    }
}

/// Compares every conversation of the rows with the record.
pub(super) async fn losses(archive: &Archive, model: &ReadModel) -> anyhow::Result<Losses> {
    let mut progress = Progress::begin("compare", Length::Unknown);
    let (mut found, mut count, mut after) = (Losses::default(), 0_u64, None);
    loop {
        let page = projected_heads(model, after.as_ref()).await?;
        let is_last = u32::try_from(page.len()).is_ok_and(|length| length < HEADS_PER_PAGE);
        count += u64::try_from(page.len()).unwrap_or(u64::MAX);
        after = page.last().map(|row| row.key.clone());
        let compared = stream::iter(page).map(|row| compare(archive, row)).buffered(COMPARED_AT_ONCE);
        for (row, last, relation) in compared.try_collect::<Vec<_>>().await? {
            found.add(row, last.as_ref(), relation);
        }
        progress.advance(count, || format!("{} conversations", grouped(count)));
        if is_last {
            progress.finish(&format!("{} conversations", grouped(count)));
            return Ok(found);
        }
    }
}

/// A row, the last head of the record unless it has the commit of the row, and how both relate.
async fn compare(archive: &Archive, row: ProjectedHead) -> anyhow::Result<(ProjectedHead, Option<Head>, Relation)> {
    let at = archive.record().message_at(row.position).await?;
    if at.and_then(|message| message.open_head().ok()).is_some_and(|head| head.chain == row.head.chain) {
        return Ok((row, None, Relation::Kept));
    }
    let last = archive.last_commit(&row.key).await?;
    let last = last.map(|message| message.open_head()).transpose()?;
    let relation = relation(&row.head, last.as_ref().map(|head| (head.chain, head.status)));
    Ok((row, last, relation))
}

/// `last`: the chain and the status of the conversation's last commit in record or archive.
fn relation(row: &Head, last: Option<(ChainHash, Status)>) -> Relation {
    match last {
        Some((chain, _)) if chain == row.chain => Relation::Kept,
        Some((_, status)) if row.status == Status::Erased && status != Status::Erased => Relation::ErasureUndone,
        None if row.status == Status::Erased => Relation::Kept,
        Some(_) | None => Relation::Lost,
    }
}
