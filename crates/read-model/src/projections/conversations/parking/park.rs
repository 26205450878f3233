//! Parks conversations in the transaction of a batch.

use std::collections::HashSet;

use domain::ConversationKey;
use sqlx::Row as _;
use sqlx::postgres::PgConnection;

use super::super::batch::{Batch, Item};
use super::super::group::Group;
use super::super::row_key::parse_key;
use crate::arguments::{arguments, bind_keys, execute, signed};
use crate::error::ReadModelError;

/// The parked conversations among those of the batches.
pub(in super::super) async fn parked_among(
    connection: &mut PgConnection,
    batches: &[Batch],
) -> Result<HashSet<ConversationKey>, ReadModelError> {
    let keys = batches.iter().flat_map(|batch| &batch.items).map(Item::key);
    let query = sqlx::query_with(include_str!("parked_among.sql"), bind_keys(keys));
    let rows = query.fetch_all(connection).await?;
    rows.iter().map(|row| parse_key(row.try_get(0)?, row.try_get(1)?)).collect()
}

/// Stores the conversations that the groups park, and the waiting commits.
pub(in super::super) async fn park(connection: &mut PgConnection, groups: &[Group<'_>]) -> Result<(), ReadModelError> {
    let waiting: Vec<&Group<'_>> = groups.iter().filter(|group| !group.queue.is_empty()).collect();
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
    let arguments = arguments![sequences, tenants, conversations];
    execute(connection, include_str!("park_commits.sql"), arguments).await?;
    Ok(())
}

async fn park_conversations(connection: &mut PgConnection, waiting: &[&Group<'_>]) -> Result<(), ReadModelError> {
    let parked: Vec<_> = waiting.iter().filter_map(|group| group.parked()).collect();
    let (mut sequences, mut partitions, mut reasons) = (Vec::new(), Vec::new(), Vec::new());
    let (mut tenants, mut conversations) = (Vec::new(), Vec::new());
    for one in &parked {
        sequences.push(signed(one.position.sequence.0));
        partitions.push(i32::from(one.position.partition.0));
        tenants.push(one.key.tenant.as_str());
        conversations.push(one.key.conversation.as_str());
        reasons.push(one.reason.to_string());
    }
    let arguments = arguments![sequences, partitions, tenants, conversations, reasons];
    execute(connection, include_str!("park_conversations.sql"), arguments).await?;
    Ok(())
}
