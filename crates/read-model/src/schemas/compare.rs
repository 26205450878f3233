//! Whether two schemas hold the same: a digest a conversation, of its row and its events' rows.
//!
//! Both may move on meanwhile, so a difference is one only when it is still there when both stand still.

use std::collections::{BTreeMap, HashSet};

use domain::{ConversationId, ConversationKey, TenantId};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::queries::bind;

/// Conversations that are compared at a time.
pub const PAGE_CONVERSATIONS: u32 = 200;

/// After every key there is: no text of UTF-8 is greater.
const AFTER_ALL: &str = "\u{10FFFF}";
const PARKED: &str = include_str!("../projections/conversations/parking/parked_among.sql");

/// A conversation's key as its columns hold it.
type Key = (String, String);

/// A page of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Conversations that were compared.
    pub conversations: u64,
    /// Those that differ at this moment, or are in one schema alone.
    pub differing: Vec<ConversationKey>,
    /// Where the next page begins; `None`: there is none.
    pub next: Option<ConversationKey>,
}

/// Compares the conversations after a key, in the order of keys.
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
        let end = next.as_ref();
        let arguments = bind_key(PgArguments::default(), after, "");
        bind_key(arguments, end, AFTER_ALL)
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

/// Which of these conversations differ at this moment. Those that the live schema could not project are left out: they are
/// not what they should be there.
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
        let named = || {
            let tenants: Vec<&str> = chunk.iter().map(|key| key.tenant.as_str()).collect();
            let ids: Vec<&str> = chunk.iter().map(|key| key.conversation.as_str()).collect();
            bind(bind(PgArguments::default(), tenants), ids)
        };
        let sql = include_str!("digests_of.sql");
        let (in_live, in_other, parked) = tokio::try_join!(
            live.fetch(sql, named),
            other.fetch(sql, named),
            live.fetch(PARKED, named)
        )?;
        let parked: HashSet<Key> = parked.iter().map(key_of).collect::<Result<_, _>>()?;
        let found = difference(&digests(&in_live)?, &digests(&in_other)?);
        let found = found.into_iter().filter(|key| !parked.contains(key));
        differing.extend(keys(found.collect())?);
    }
    Ok(differing)
}

async fn page_end(
    live: &ReadModel,
    after: Option<&ConversationKey>,
) -> Result<Option<ConversationKey>, ReadModelError> {
    let arguments = || {
        let arguments = bind_key(PgArguments::default(), after, "");
        bind(arguments, i64::from(PAGE_CONVERSATIONS - 1))
    };
    let rows = live.fetch(include_str!("page_end.sql"), arguments).await?;
    let end = rows.iter().map(key_of).collect::<Result<Vec<_>, _>>()?;
    Ok(keys(end)?.pop())
}

fn bind_key(
    arguments: PgArguments,
    key: Option<&ConversationKey>,
    instead: &'static str,
) -> PgArguments {
    let tenant = key.map_or(instead, |key| key.tenant.as_str());
    let conversation = key.map_or(instead, |key| key.conversation.as_str());
    bind(bind(arguments, tenant), conversation)
}

fn key_of(row: &PgRow) -> Result<Key, ReadModelError> {
    Ok((row.try_get(0)?, row.try_get(1)?))
}

fn digests(rows: &[PgRow]) -> Result<BTreeMap<Key, Vec<u8>>, ReadModelError> {
    let digest = |row: &PgRow| Ok((key_of(row)?, row.try_get(2)?));
    rows.iter().map(digest).collect()
}

/// The keys whose digests differ, or that are on one side alone, in order.
fn difference(left: &BTreeMap<Key, Vec<u8>>, right: &BTreeMap<Key, Vec<u8>>) -> Vec<Key> {
    let differs = |key: &&Key| left.get(*key) != right.get(*key);
    let mut keys: Vec<Key> = left
        .keys()
        .chain(right.keys())
        .filter(differs)
        .cloned()
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn keys(keys: Vec<Key>) -> Result<Vec<ConversationKey>, ReadModelError> {
    let corrupt = |(tenant, conversation): &Key| ReadModelError::Corrupt {
        table: "conversation",
        row: format!("{tenant}/{conversation}"),
        field: "its key".to_owned(),
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
    fn what_differs_is_on_one_side_or_not_the_same() {
        let side = |entries: &[(&str, u8)]| -> BTreeMap<Key, Vec<u8>> {
            let entry =
                |(id, digest): &(&str, u8)| (("t".to_owned(), (*id).to_owned()), vec![*digest]);
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
