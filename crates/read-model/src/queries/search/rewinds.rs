//! The rewinds of conversations, to tell which events they hide.

use std::collections::HashMap;

use domain::{ConversationId, RecordedEvent, TenantAccess};

use crate::arguments::arguments;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::row::Columns;

/// Maximum number of rewinds of one conversation that are read, the newest ones.
pub const REWINDS_PER_READ_MAX: u32 = 1_000;

/// The rewinds of conversations of the tenant, newest first. Conversations without rewinds are left out.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn rewinds(
    model: &ReadModel,
    access: &TenantAccess,
    conversations: &[&ConversationId],
) -> Result<HashMap<ConversationId, Vec<RecordedEvent>>, ReadModelError> {
    let ids: Vec<&str> = conversations.iter().map(|id| id.as_str()).collect();
    let limit = i64::from(REWINDS_PER_READ_MAX);
    let arguments = || arguments![access.tenant().as_str(), ids.as_slice(), limit];
    let rows = model.read(access, include_str!("rewinds.sql"), arguments);
    let mut rewinds: HashMap<ConversationId, Vec<RecordedEvent>> = HashMap::new();
    for row in &rows.await? {
        let id: &str = Columns::new(row, access.tenant(), "?").get(5, "conversation_id")?;
        let columns = Columns::new(row, access.tenant(), id);
        let (Some(event), Ok(id)) = (columns.recorded_event()?, ConversationId::parse(id)) else {
            return Err(columns.corrupt("conversation_id"));
        };
        rewinds.entry(id).or_default().push(event);
    }
    Ok(rewinds)
}
