//! Compares two schemas by a digest per conversation, of its row and the rows of its events.
//!
//! Both schemas change during a comparison. A difference is real only if it persists while no projector writes.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use domain::{ConversationId, ConversationKey, TenantId};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use crate::arguments::{bind, bind_keys, key_parts};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Number of conversations per page.
pub const PAGE_CONVERSATIONS: u32 = 200;

/// Greater than every id: the last code point of UTF-8.
const AFTER_ALL: &str = "\u{10FFFF}";
const PARKED: &str = include_str!("../projections/conversations/parking/parked_among.sql");

/// The key of a conversation in its columns.
type Key = (String, String);

/// A page of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Number of compared conversations.
    pub conversations: u64,
    /// Conversations that differ now, or that only one schema contains.
    pub differing: Vec<ConversationKey>,
    /// The last key of this page; `None`: this is the last page.
    pub next: Option<ConversationKey>,
}

/// Compares a page of conversations after a key, in the order of keys.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn page(
    live: &ReadModel,
    other: &ReadModel,
    after: Option<&ConversationKey>,
) -> Result<Page, ReadModelError> {
    let next = page_end(live, after).await?;
    let range = || {
        let arguments = bind_bound(PgArguments::default(), after, "");
        bind_bound(arguments, next.as_ref(), AFTER_ALL)
    };
    let sql = include_str!("digests.sql");
    let (in_live, in_other) = tokio::try_join!(live.fetch(sql, range), other.fetch(sql, range))?;
    let (in_live, in_other) = (digests(&in_live)?, digests(&in_other)?);
    Ok(Page {
        conversations: u64::try_from(in_live.len()).unwrap_or(u64::MAX),
        differing: keys(difference(&in_live, &in_other))?,
        next,
    })
}

/// The conversations among `wanted` that differ now. Conversations that are parked in the live schema are excluded, because
/// their rows there are incomplete.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn differing_among(
    live: &ReadModel,
    other: &ReadModel,
    wanted: &[ConversationKey],
) -> Result<Vec<ConversationKey>, ReadModelError> {
    let mut differing = Vec::new();
    for chunk in wanted.chunks(usize::try_from(PAGE_CONVERSATIONS).unwrap_or(1)) {
        let keys_of = || bind_keys(chunk.iter().map(key_parts));
        let sql = include_str!("digests_of.sql");
        let (in_live, in_other, parked) =
            tokio::try_join!(live.fetch(sql, keys_of), other.fetch(sql, keys_of), live.fetch(PARKED, keys_of))?;
        let parked: HashSet<Key> = parked.iter().map(key_of).collect::<Result<_, _>>()?;
        let found =
            difference(&digests(&in_live)?, &digests(&in_other)?).into_iter().filter(|key| !parked.contains(key));
        differing.extend(keys(found.collect())?);
    }
    Ok(differing)
}

async fn page_end(
    live: &ReadModel,
    after: Option<&ConversationKey>,
) -> Result<Option<ConversationKey>, ReadModelError> {
    let arguments = || {
        let arguments = bind_bound(PgArguments::default(), after, "");
        bind(arguments, i64::from(PAGE_CONVERSATIONS - 1))
    };
    let rows = live.fetch(include_str!("page_end.sql"), arguments).await?;
    let end = rows.iter().map(key_of).collect::<Result<Vec<_>, _>>()?;
    Ok(keys(end)?.pop())
}

/// Adds the key as two arguments; `default` replaces the ids of `None`.
fn bind_bound(arguments: PgArguments, key: Option<&ConversationKey>, default: &'static str) -> PgArguments {
    let tenant = key.map_or(default, |key| key.tenant.as_str());
    let conversation = key.map_or(default, |key| key.conversation.as_str());
    bind(bind(arguments, tenant), conversation)
}

fn key_of(row: &PgRow) -> Result<Key, ReadModelError> {
    Ok((row.try_get(0)?, row.try_get(1)?))
}

fn digests(rows: &[PgRow]) -> Result<BTreeMap<Key, Vec<u8>>, ReadModelError> {
    let digest = |row: &PgRow| Ok((key_of(row)?, row.try_get(2)?));
    rows.iter().map(digest).collect()
}

/// The keys whose digests differ or that only one side contains, in order.
fn difference(left: &BTreeMap<Key, Vec<u8>>, right: &BTreeMap<Key, Vec<u8>>) -> Vec<Key> {
    let differs = |key: &&Key| left.get(*key) != right.get(*key);
    let keys: BTreeSet<&Key> = left.keys().chain(right.keys()).filter(differs).collect();
    keys.into_iter().cloned().collect()
}

fn keys(keys: Vec<Key>) -> Result<Vec<ConversationKey>, ReadModelError> {
    let corrupt = |(tenant, conversation): &Key| {
        ReadModelError::corrupt("conversation", format!("{tenant}/{conversation}"), "its key")
    };
    let parse = |key: Key| {
        Ok(ConversationKey {
            tenant: TenantId::parse(&key.0).map_err(|_| corrupt(&key))?,
            conversation: ConversationId::parse(&key.1).map_err(|_| corrupt(&key))?,
        })
    };
    keys.into_iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_two_schemas_are_compared() {
        let side = |entries: &[(&str, u8)]| -> BTreeMap<Key, Vec<u8>> {
            let entry = |(id, digest): &(&str, u8)| (("t".to_owned(), (*id).to_owned()), vec![*digest]);
            entries.iter().map(entry).collect()
        };
        let check = |left: &[(&str, u8)], right: &[(&str, u8)], expected: &[&str]| {
            let found = difference(&side(left), &side(right));
            let ids: Vec<&str> = found.iter().map(|(_, id)| id.as_str()).collect();
            assert_eq!(ids, expected, "{left:?} {right:?}");
        };
        check(&[], &[], &[]);
        check(&[("a", 1), ("b", 2)], &[("a", 1), ("b", 2)], &[]);
        check(&[("a", 1), ("b", 2)], &[("a", 1), ("b", 3)], &["b"]);
        check(&[("a", 1)], &[], &["a"]);
        check(&[("b", 1)], &[("a", 1), ("c", 1)], &["a", "b", "c"]);
    }
}
