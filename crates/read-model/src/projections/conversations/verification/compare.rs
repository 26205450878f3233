//! Compares rows of events with their commits, column by column.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use domain::{ConversationKey, Version};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};
use wire::commit::StoredCommit;

use super::super::column::differing;
use super::super::event_rows::{ProjectedEvent, event_rows};
use super::difference::Difference;
use crate::arguments::{bind, bind_key, signed, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Maximum number of unfounded rows that one read returns.
const UNFOUNDED_MAX: i64 = 100;

static EVENTS_OF: LazyLock<String> =
    LazyLock::new(|| format!(include_str!("events_of.sql"), columns = ProjectedEvent::names()));

/// The differences between the commits of one conversation and the rows of their events, by version.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn compare_events(
    model: &ReadModel,
    key: &ConversationKey,
    commits: &[StoredCommit],
) -> Result<Vec<Difference>, ReadModelError> {
    let (Some(first), Some(last)) = (commits.first(), commits.last()) else {
        return Ok(Vec::new());
    };
    let versions = first.opened.commit.first_version..=last.opened.commit.head.version;
    let rows = model.fetch(&EVENTS_OF, || range(key, &versions)).await?;
    let mut found: BTreeMap<i64, &PgRow> = BTreeMap::new();
    for row in &rows {
        found.insert(row.try_get("version")?, row);
    }
    let mut differences = Vec::new();
    for commit in commits {
        for (index, expected) in event_rows(commit).enumerate() {
            let version = commit.opened.commit.first_version.plus(index);
            let Some(row) = found.get(&signed(version.0)) else {
                differences.push(Difference::EventMissing(version));
                continue;
            };
            let columns = differing(&[&ProjectedEvent::COLUMNS], &expected, row, 0)?;
            if !columns.is_empty() {
                differences.push(Difference::EventDiffers(version, columns));
            }
        }
    }
    Ok(differences)
}

/// The first 100 rows of events of a conversation, up to version `last`, whose versions are not in `held`, the versions of
/// the record.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn unfounded_events(
    model: &ReadModel,
    key: &ConversationKey,
    held: &RangeInclusive<Version>,
    last: Version,
) -> Result<Vec<Difference>, ReadModelError> {
    let arguments = || bind(bind(range(key, held), signed(last.0)), UNFOUNDED_MAX);
    let sql = include_str!("unfounded_events.sql");
    let rows = model.fetch(sql, arguments).await?;
    let unfounded = |row: &PgRow| {
        let version = Version(unsigned(row.try_get(0)?));
        Ok(Difference::EventUnfounded(version))
    };
    rows.iter().map(unfounded).collect()
}

fn range(key: &ConversationKey, versions: &RangeInclusive<Version>) -> PgArguments {
    let (first, last) = (versions.start().0, versions.end().0);
    bind(bind(bind_key(key), signed(first)), signed(last))
}
