//! Events' rows beside their commits, column by column.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use domain::{ConversationKey, Version};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use super::super::batch::PlacedCommit;
use super::super::cell::differing;
use super::super::event_rows::{EVENT_COLUMNS, EventRows};
use super::difference::Difference;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::queries::{bind, signed};

/// Most rows without an event in the record that one read names.
const UNFOUNDED_MAX: i64 = 100;

/// How the events of one conversation's commits, which must have rows, differ from those; by version.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn compare_events(
    model: &ReadModel,
    key: &ConversationKey,
    commits: &[PlacedCommit],
) -> Result<Vec<Difference>, ReadModelError> {
    let (Some(first), Some(last)) = (commits.first(), commits.last()) else {
        return Ok(Vec::new());
    };
    let versions = first.opened.commit.first_version..=last.opened.commit.head.version;
    let rows = model
        .fetch(include_str!("events_of.sql"), || range(key, &versions))
        .await?;
    let mut found: BTreeMap<i64, &PgRow> = BTreeMap::new();
    for row in &rows {
        found.insert(row.try_get(0)?, row);
    }
    let mut differences = Vec::new();
    for commit in commits {
        let mut expected = EventRows::default();
        expected.add(commit);
        for (index, cells) in (0..expected.len()).map_while(|row| Some((row, expected.cells(row)?)))
        {
            let version = commit.opened.commit.first_version.plus(index);
            let Some(row) = found.get(&signed(version.0)) else {
                differences.push(Difference::EventMissing(version));
                continue;
            };
            let columns = differing(&EVENT_COLUMNS, &cells, (row, 0))?;
            if !columns.is_empty() {
                differences.push(Difference::EventDiffers(version, columns));
            }
        }
    }
    Ok(differences)
}

/// The rows of events of a conversation, up to `last`, that are not of the versions which the record holds; the first
/// hundred.
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
    rows.iter()
        .map(|row| {
            let version: i64 = row.try_get(0)?;
            let version = Version(u64::try_from(version).unwrap_or(0));
            Ok(Difference::EventUnfounded(version))
        })
        .collect()
}

fn range(key: &ConversationKey, versions: &RangeInclusive<Version>) -> PgArguments {
    let arguments = bind(PgArguments::default(), key.tenant.as_str());
    let arguments = bind(arguments, key.conversation.as_str());
    let arguments = bind(arguments, signed(versions.start().0));
    bind(arguments, signed(versions.end().0))
}
