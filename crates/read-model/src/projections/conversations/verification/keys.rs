//! Ranges of conversations, in the order of rows.

use domain::{ConversationKey, Partition, Position, Sequence, TenantId};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use super::super::row_key::key_of;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::queries::bind;

/// Later than every tenant and every conversation.
const LAST: &str = "\u{10ffff}";

/// The conversations after one and up to another, in the order of tenants and, within each, of ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    after: (String, String),
    until: (String, String),
}

impl KeyRange {
    /// All of a tenant's conversations, or all that there are.
    #[must_use]
    pub fn of(tenant: Option<&TenantId>) -> Self {
        let tenant = tenant.map(|tenant| tenant.as_str().to_owned());
        Self {
            after: (tenant.clone().unwrap_or_default(), String::new()),
            until: (tenant.unwrap_or_else(|| LAST.to_owned()), LAST.to_owned()),
        }
    }

    /// What of the range comes after a conversation.
    #[must_use]
    pub fn after(self, key: &ConversationKey) -> Self {
        Self {
            after: pair(key),
            ..self
        }
    }

    /// The range up to a conversation, itself in it.
    #[must_use]
    pub fn until(self, key: &ConversationKey) -> Self {
        Self {
            until: pair(key),
            ..self
        }
    }

    /// Whether a conversation is in the range.
    #[must_use]
    pub fn contains(&self, key: &ConversationKey) -> bool {
        let key = (key.tenant.as_str(), key.conversation.as_str());
        let (after, until) = (&self.after, &self.until);
        key > (&after.0, &after.1) && key <= (&until.0, &until.1)
    }

    /// Its bounds, as four arguments.
    pub(super) fn bind(&self) -> PgArguments {
        let arguments = bind(PgArguments::default(), self.after.0.as_str());
        let arguments = bind(arguments, self.after.1.as_str());
        let arguments = bind(arguments, self.until.0.as_str());
        bind(arguments, self.until.1.as_str())
    }
}

fn pair(key: &ConversationKey) -> (String, String) {
    let (tenant, conversation) = (key.tenant.as_str(), key.conversation.as_str());
    (tenant.to_owned(), conversation.to_owned())
}

/// A conversation that has a row, and where that says that its last commit stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowPlace {
    /// The conversation.
    pub key: ConversationKey,
    /// Where its last commit stands.
    pub position: Position,
}

impl RowPlace {
    /// Of a row that begins with tenant, conversation, partition and sequence.
    ///
    /// # Errors
    /// [`ReadModelError::Corrupt`]: its key is none.
    pub(in crate::projections::conversations) fn of(row: &PgRow) -> Result<Self, ReadModelError> {
        let partition: i32 = row.try_get(2)?;
        let sequence: i64 = row.try_get(3)?;
        Ok(Self {
            key: key_of(row.try_get(0)?, row.try_get(1)?)?,
            position: Position {
                partition: Partition(u16::try_from(partition).unwrap_or(u16::MAX)),
                sequence: Sequence(u64::try_from(sequence).unwrap_or(0)),
            },
        })
    }
}

/// The first `limit` conversations of a range that have a row, in order.
///
/// # Errors
/// [`ReadModelError::Unavailable`], or [`ReadModelError::Corrupt`] for a row whose key is none.
pub async fn row_places(
    model: &ReadModel,
    range: &KeyRange,
    limit: u32,
) -> Result<Vec<RowPlace>, ReadModelError> {
    let arguments = || bind(range.bind(), i64::from(limit));
    let rows = model
        .fetch(include_str!("row_places.sql"), arguments)
        .await?;
    rows.iter().map(RowPlace::of).collect()
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
            let held =
                keys.map(|(tenant, conversation)| range.contains(&key(tenant, conversation)));
            assert_eq!(held, expected, "{range:?}");
        };
        let of_b = KeyRange::of(Some(&TenantId::parse("b").unwrap()));
        check(&KeyRange::of(None), [true; 5]);
        check(&of_b, [false, true, true, true, false]);
        check(
            &of_b.clone().after(&key("b", "m")),
            [false, false, false, true, false],
        );
        check(
            &of_b.until(&key("b", "m")),
            [false, true, true, false, false],
        );
    }
}
