//! What lists of conversations show and filter by, beside the rows of the conversations themselves: models, tools, errors, ends
//! of runs, first inputs and last outputs.
//!
//! Each part reads a bounded number of events of a conversation, by an index. So the cost depends on the number of
//! conversations alone, and the projector maintains nothing for it.

use bytes::Bytes;
use domain::event::Role;
use domain::{ConversationId, EventKind, TenantAccess};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::arguments::{arguments, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// The number of events, tool calls and errors of a conversation that are examined, the newest ones.
pub const EVENTS_EXAMINED_MAX: u32 = 200;
/// The number of ends of runs of a conversation that are examined, the newest ones.
pub const RUNS_EXAMINED_MAX: u32 = 20;
/// Maximum size of a message that is shown in lists, in bytes.
pub const EXCERPT_BYTES_MAX: u32 = 16 * 1024;

/// Facts about a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationFacts {
    /// The conversation.
    pub id: ConversationId,
    /// Whether one of the newest [`EVENTS_EXAMINED_MAX`] events names the model of the query, if it has one.
    pub has_model: bool,
    /// Whether one of the newest [`EVENTS_EXAMINED_MAX`] tool calls is of the tool of the query, if it has one.
    pub has_tool: bool,
    /// Its recorded errors, at most [`EVENTS_EXAMINED_MAX`].
    pub errors: u64,
    /// The newest ends of runs, at most [`RUNS_EXAMINED_MAX`], the newest first: for [`wire::commit::decode_event`].
    pub run_ends: Vec<Bytes>,
}

/// The first message of the user and the last one of the assistant: for [`wire::commit::decode_event`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationExcerpts {
    /// The conversation.
    pub id: ConversationId,
    /// The first input; `None`: there is none among the first [`EVENTS_EXAMINED_MAX`] events, or it is too long.
    pub first_input: Option<Bytes>,
    /// The last output; `None`: there is none among the newest [`EVENTS_EXAMINED_MAX`] events, or it is too long.
    pub last_output: Option<Bytes>,
}

/// The facts about conversations of the tenant, in any order. `model` and `tool` are compared exactly.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn conversation_facts(
    read_model: &ReadModel,
    access: &TenantAccess,
    ids: &[&str],
    model: Option<&str>,
    tool: Option<&str>,
) -> Result<Vec<ConversationFacts>, ReadModelError> {
    let arguments = || {
        arguments![
            access.tenant().as_str(),
            owned(ids),
            model,
            tool,
            i64::from(EVENTS_EXAMINED_MAX),
            i64::from(RUNS_EXAMINED_MAX),
            EventKind::ToolCalled.code(),
            EventKind::ErrorOccurred.code(),
            EventKind::RunFinished.code(),
        ]
    };
    let sql = include_str!("conversation_facts.sql");
    let rows = read_model.read(access, sql, arguments).await?;
    rows.iter().map(facts).collect()
}

/// The excerpts of conversations of the tenant, in any order.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn conversation_excerpts(
    read_model: &ReadModel,
    access: &TenantAccess,
    ids: &[&str],
) -> Result<Vec<ConversationExcerpts>, ReadModelError> {
    let arguments = || {
        arguments![
            access.tenant().as_str(),
            owned(ids),
            EXCERPT_BYTES_MAX.cast_signed(),
            i64::from(EVENTS_EXAMINED_MAX),
            Role::User.code(),
            Role::Assistant.code(),
        ]
    };
    let sql = include_str!("conversation_excerpts.sql");
    let rows = read_model.read(access, sql, arguments).await?;
    rows.iter().map(excerpts).collect()
}

fn owned(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

fn facts(row: &PgRow) -> Result<ConversationFacts, ReadModelError> {
    let run_ends: Vec<Vec<u8>> = row.try_get("run_ends")?;
    Ok(ConversationFacts {
        id: id(row)?,
        has_model: row.try_get("has_model")?,
        has_tool: row.try_get("has_tool")?,
        errors: unsigned(row.try_get("errors")?),
        run_ends: run_ends.into_iter().map(Bytes::from).collect(),
    })
}

fn excerpts(row: &PgRow) -> Result<ConversationExcerpts, ReadModelError> {
    let body = |column: &str| {
        let body: Option<Vec<u8>> = row.try_get(column)?;
        Ok::<_, ReadModelError>(body.map(Bytes::from))
    };
    Ok(ConversationExcerpts { id: id(row)?, first_input: body("first_input")?, last_output: body("last_output")? })
}

fn id(row: &PgRow) -> Result<ConversationId, ReadModelError> {
    let id: String = row.try_get("id")?;
    let field = "conversation_id";
    ConversationId::parse(id.as_str()).map_err(|_| ReadModelError::corrupt("event", id, field))
}
