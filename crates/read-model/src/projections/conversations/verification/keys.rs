//! Ranges of conversations, in the order of their keys.

use domain::{ConversationKey, Position, Sequence, TenantId};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use super::super::row_key::parse_key;
use crate::arguments::{arguments, bind, partition_of, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Greater than every id.
const LAST: &str = "\u{10ffff}";

/// The conversations after one key, up to and including another, by tenant and id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    after: (String, String),
    until: (String, String),
}

impl KeyRange {
    /// All conversations, or those of one tenant.
    #[must_use]
    pub fn new(tenant: Option<&TenantId>) -> Self {
        let tenant = tenant.map(|tenant| tenant.as_str().to_owned());
        Self {
            after: (tenant.clone().unwrap_or_default(), String::new()),
            until: (tenant.unwrap_or_else(|| LAST.to_owned()), LAST.to_owned()),
        }
    }

    /// The part of the range after a conversation.
    #[must_use]
    pub fn after(self, key: &ConversationKey) -> Self {
        Self { after: pair(key), ..self }
    }

    /// The part of the range up to and including a conversation.
    #[must_use]
    pub fn until(self, key: &ConversationKey) -> Self {
        Self { until: pair(key), ..self }
    }

    /// Whether a conversation is in the range.
    #[must_use]
    pub fn contains(&self, key: &ConversationKey) -> bool {
        let key = (key.tenant.as_str(), key.conversation.as_str());
        let (after, until) = (&self.after, &self.until);
        key > (&after.0, &after.1) && key <= (&until.0, &until.1)
    }

    /// The bounds, as four arguments.
    pub(super) fn bind(&self) -> PgArguments {
        let (after, until) = (&self.after, &self.until);
        arguments![&after.0, &after.1, &until.0, &until.1]
    }
}

fn pair(key: &ConversationKey) -> (String, String) {
    let (tenant, conversation) = (key.tenant.as_str(), key.conversation.as_str());
    (tenant.to_owned(), conversation.to_owned())
}

/// A conversation that has a row, and the position of the last commit in the row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowPosition {
    /// The conversation.
    pub key: ConversationKey,
    /// The position of the last commit in the row.
    pub position: Position,
}

impl RowPosition {
    /// Decodes a row that begins with tenant, conversation, partition and sequence.
    ///
    /// # Errors
    /// [`ReadModelError::Corrupt`]: the key is invalid.
    pub(in crate::projections::conversations) fn from_row(row: &PgRow) -> Result<Self, ReadModelError> {
        Ok(Self {
            key: parse_key(row.try_get("tenant_id")?, row.try_get("conversation_id")?)?,
            position: Position {
                partition: partition_of(row.try_get("partition")?),
                sequence: Sequence(unsigned(row.try_get("sequence")?)),
            },
        })
    }
}

/// The first `limit` conversations of a range that have a row, in order.
///
/// # Errors
/// [`ReadModelError::Unavailable`], or [`ReadModelError::Corrupt`] for a row with an invalid key.
pub async fn row_positions(
    model: &ReadModel,
    range: &KeyRange,
    limit: u32,
) -> Result<Vec<RowPosition>, ReadModelError> {
    let arguments = || bind(range.bind(), i64::from(limit));
    let rows = model.fetch(include_str!("row_positions.sql"), arguments).await?;
    rows.iter().map(RowPosition::from_row).collect()
}

#[cfg(test)]
mod tests {
    use domain::ConversationId;

    use super::*;

    fn key(tenant: &str, conversation: &str) -> ConversationKey {
        ConversationKey {
            tenant: TenantId::parse(tenant).unwrap(),
            conversation: ConversationId::parse(conversation).unwrap(),
        }
    }

    #[test]
    fn ranges_are_of_tenants_and_between_conversations() {
        let check = |range: &KeyRange, expected: [bool; 5]| {
            let keys = [("a", "x"), ("b", "a"), ("b", "m"), ("b", "z"), ("ba", "a")];
            let held = keys.map(|(tenant, conversation)| range.contains(&key(tenant, conversation)));
            assert_eq!(held, expected, "{range:?}");
        };
        let of_b = KeyRange::new(Some(&TenantId::parse("b").unwrap()));
        check(&KeyRange::new(None), [true; 5]);
        check(&of_b, [false, true, true, true, false]);
        check(&of_b.clone().after(&key("b", "m")), [false, false, false, true, false]);
        check(&of_b.until(&key("b", "m")), [false, true, true, false, false]);
    }
}
