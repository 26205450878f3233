//! What a batch's transaction has to do with parking.

use std::collections::HashSet;

use domain::ConversationKey;
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgConnection};

use super::super::batch::{Batch, Item};
use super::super::group::Group;
use super::super::row_key::key_of;
use crate::error::ReadModelError;
use crate::queries::{bind, signed};

/// The conversations of the batches that are parked.
pub(in super::super) async fn parked_among(
    connection: &mut PgConnection,
    batches: &[Batch],
) -> Result<HashSet<ConversationKey>, ReadModelError> {
    let items = || batches.iter().flat_map(|batch| &batch.items).map(Item::key);
    let tenants: Vec<&str> = items().map(|(tenant, _)| tenant.as_str()).collect();
    let conversations: Vec<&str> = items()
        .map(|(_, conversation)| conversation.as_str())
        .collect();
    let arguments = bind(bind(PgArguments::default(), tenants), conversations);
    let query = sqlx::query_with(include_str!("parked_among.sql"), arguments);
    let rows = query.fetch_all(connection).await?;
    rows.iter()
        .map(|row| key_of(row.try_get(0)?, row.try_get(1)?))
        .collect()
}

/// Writes down what the groups leave waiting.
pub(in super::super) async fn park(
    connection: &mut PgConnection,
    groups: &[Group<'_>],
) -> Result<(), ReadModelError> {
    let waiting: Vec<&Group<'_>> = groups
        .iter()
        .filter(|group| !group.queue.is_empty())
        .collect();
    if waiting.is_empty() {
        return Ok(());
    }
    park_conversations(connection, &waiting).await?;
    let (mut sequences, mut tenants, mut conversations) = (Vec::new(), Vec::new(), Vec::new());
    for group in waiting {
        for sequence in &group.queue {
            sequences.push(signed(sequence.0));
            tenants.push(group.tenant.as_str());
            conversations.push(group.conversation.as_str());
        }
    }
    let arguments = bind(bind(PgArguments::default(), sequences), tenants);
    let arguments = bind(arguments, conversations);
    let query = sqlx::query_with(include_str!("park_commits.sql"), arguments);
    query.execute(connection).await?;
    Ok(())
}

async fn park_conversations(
    connection: &mut PgConnection,
    waiting: &[&Group<'_>],
) -> Result<(), ReadModelError> {
    let parked: Vec<_> = waiting.iter().filter_map(|group| group.parked()).collect();
    let sequences: Vec<i64> = parked
        .iter()
        .map(|one| signed(one.position.sequence.0))
        .collect();
    let partitions: Vec<i32> = parked
        .iter()
        .map(|one| i32::from(one.position.partition.0))
        .collect();
    let tenants: Vec<&str> = parked.iter().map(|one| one.key.tenant.as_str()).collect();
    let conversations: Vec<&str> = parked
        .iter()
        .map(|one| one.key.conversation.as_str())
        .collect();
    let reasons: Vec<String> = parked.iter().map(|one| one.reason.to_string()).collect();
    let arguments = bind(bind(PgArguments::default(), sequences), partitions);
    let arguments = bind(bind(bind(arguments, tenants), conversations), reasons);
    let query = sqlx::query_with(include_str!("park_conversations.sql"), arguments);
    query.execute(connection).await?;
    Ok(())
}
