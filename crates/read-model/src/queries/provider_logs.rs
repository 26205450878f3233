//! Logged calls of model servers: pages of them without their bodies, the latest first, and one with its bodies.

use domain::event::Usage;
use domain::{
    AgentId, CallPurpose, ConversationId, Label, LogId, LoggedBody, ModelCall, ModelServerId,
    RunId, TenantAccess, Timestamp, Violation,
};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};
use uuid::Uuid;

use super::bind;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::moment::Moment;
use crate::purpose_code::{ANSWER, SUMMARY};

/// Most calls of one read.
pub const PROVIDER_LOGS_PER_READ_MAX: u32 = 1_000;

/// Which calls to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderLogQuery {
    /// Only this agent's.
    pub agent: Option<AgentId>,
    /// Only this conversation's.
    pub conversation: Option<ConversationId>,
    /// Only those that ended so.
    pub outcome: Option<Label>,
    /// Only those that began then or later.
    pub started_after: Option<Timestamp>,
    /// Only those that began earlier than this.
    pub started_before: Option<Timestamp>,
    /// The last call of the page before; `None`: the first page.
    pub after: Option<ProviderLogCursor>,
    /// Most calls to read; [`PROVIDER_LOGS_PER_READ_MAX`] at most, whatever is asked for.
    pub limit: u32,
}

/// Where a page ended. Times count in whole microseconds here, those of one are ordered by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderLogCursor {
    /// When its last call began.
    pub started_at: Timestamp,
    /// That call.
    pub id: LogId,
}

/// A call as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderLogRow {
    /// Whose call it was.
    pub agent: AgentId,
    /// The conversation that it was made for.
    pub conversation: ConversationId,
    /// Until when it is kept, to the microsecond.
    pub kept_until: Timestamp,
    /// The call; its time to the microsecond.
    pub call: ModelCall,
}

/// A page of the tenant's calls, by their beginning and then by id, both falling; without bodies.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn provider_logs(
    model: &ReadModel,
    access: &TenantAccess,
    query: &ProviderLogQuery,
) -> Result<Vec<ProviderLogRow>, ReadModelError> {
    let sql = match (&query.conversation, &query.agent) {
        (Some(_), _) => include_str!("provider_logs_by_conversation.sql"),
        (None, Some(_)) => include_str!("provider_logs_by_agent.sql"),
        (None, None) => include_str!("provider_logs_by_tenant.sql"),
    };
    let rows = model.read(access, sql, || arguments(access, query)).await?;
    rows.iter().map(|row| read(access, row)).collect()
}

/// One call of the tenant's, with its bodies; `None`: there is none, or it is kept no longer.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn provider_log(
    model: &ReadModel,
    access: &TenantAccess,
    id: LogId,
) -> Result<Option<ProviderLogRow>, ReadModelError> {
    let arguments = || bind(bind(PgArguments::default(), access.tenant().as_str()), id.0);
    let rows = model.read(access, include_str!("provider_log.sql"), arguments);
    let rows = rows.await?;
    rows.first().map(|row| read(access, row)).transpose()
}

fn arguments(access: &TenantAccess, query: &ProviderLogQuery) -> PgArguments {
    let bound = query.started_before.map_or(Moment::INFINITY, Moment::of);
    let (moment, id) = match query.after {
        Some(cursor) => (Moment::of(cursor.started_at), cursor.id.0).min((bound, Uuid::nil())),
        None => (bound, Uuid::nil()),
    };
    let after = query.started_after;
    let arguments = bind(PgArguments::default(), access.tenant().as_str());
    let arguments = bind(bind(arguments, moment), id);
    let arguments = bind(
        arguments,
        after.map_or(Moment::NEGATIVE_INFINITY, Moment::of),
    );
    let outcome = query.outcome.as_ref().map(Label::as_str);
    let arguments = bind(arguments, outcome);
    let limit = query.limit.min(PROVIDER_LOGS_PER_READ_MAX);
    let arguments = bind(arguments, i64::from(limit));
    let agent = query.agent.as_ref().map(AgentId::as_str);
    match (&query.conversation, agent) {
        (Some(conversation), agent) => bind(bind(arguments, conversation.as_str()), agent),
        (None, Some(agent)) => bind(arguments, agent),
        (None, None) => arguments,
    }
}

/// The call in a row; columns by name, bodies where the statement asks for them.
fn read(access: &TenantAccess, row: &PgRow) -> Result<ProviderLogRow, ReadModelError> {
    let id: Uuid = row.try_get("log_id")?;
    let columns = Columns {
        row,
        name: format!("{}/{id}", access.tenant()),
    };
    let purpose = match row.try_get::<i16, _>("purpose")? {
        ANSWER => CallPurpose::Answer,
        SUMMARY => CallPurpose::Summary,
        _ => return Err(columns.corrupt("purpose")),
    };
    let first_piece_ms = row.try_get::<Option<i64>, _>("first_piece_ms")?;
    let http_status = row.try_get::<Option<i32>, _>("http_status")?;
    let finish_reason = row.try_get::<Option<String>, _>("finish_reason")?;
    let attempt = columns.count("attempt")?;
    Ok(ProviderLogRow {
        agent: columns.text("agent_id", AgentId::parse)?,
        conversation: columns.text("conversation_id", ConversationId::parse)?,
        kept_until: row.try_get::<Moment, _>("kept_until")?.plus(0),
        call: ModelCall {
            id: LogId(id),
            run: RunId(row.try_get("run_id")?),
            purpose,
            attempt: u32::try_from(attempt).map_err(|_| columns.corrupt("attempt"))?,
            server: columns.text("model_server", ModelServerId::parse)?,
            model: columns.text("model", Label::parse)?,
            started_at: row.try_get::<Moment, _>("started_at")?.plus(0),
            first_piece_ms: first_piece_ms.and_then(|ms| u64::try_from(ms).ok()),
            took_ms: columns.count("took_ms")?,
            http_status: http_status.and_then(|status| u16::try_from(status).ok()),
            outcome: columns.text("outcome", Label::parse)?,
            finish_reason: finish_reason.and_then(|reason| Label::parse(reason).ok()),
            usage: columns.usage()?,
            request_bytes: columns.count("request_bytes")?,
            reply_bytes: columns.count("reply_bytes")?,
            request: columns.body("request", "request_is_cut")?,
            reply: columns.body("reply", "reply_is_cut")?,
        },
    })
}

/// A row's columns, and how it is named where one is corrupt.
struct Columns<'a> {
    row: &'a PgRow,
    name: String,
}

impl Columns<'_> {
    fn corrupt(&self, field: &str) -> ReadModelError {
        ReadModelError::Corrupt {
            table: "provider_log",
            row: self.name.clone(),
            field: field.to_owned(),
        }
    }

    fn text<T>(
        &self,
        column: &'static str,
        parse: fn(String) -> Result<T, Violation>,
    ) -> Result<T, ReadModelError> {
        let text: String = self.row.try_get(column)?;
        parse(text).map_err(|_| self.corrupt(column))
    }

    fn count(&self, column: &'static str) -> Result<u64, ReadModelError> {
        let number: i64 = self.row.try_get(column)?;
        u64::try_from(number).map_err(|_| self.corrupt(column))
    }

    fn usage(&self) -> Result<Option<Usage>, ReadModelError> {
        if self
            .row
            .try_get::<Option<i64>, _>("input_tokens")?
            .is_none()
        {
            return Ok(None);
        }
        Ok(Some(Usage {
            input_tokens: self.count("input_tokens")?,
            output_tokens: self.count("output_tokens")?,
            cached_tokens: self.count("cached_tokens")?,
            reasoning_tokens: self.count("reasoning_tokens")?,
        }))
    }

    fn body(
        &self,
        column: &'static str,
        cut: &'static str,
    ) -> Result<Option<LoggedBody>, ReadModelError> {
        let Some(bytes) = self.row.try_get::<Option<Vec<u8>>, _>(column)? else {
            return Ok(None);
        };
        Ok(Some(LoggedBody {
            text: String::from_utf8(bytes).map_err(|_| self.corrupt(column))?,
            is_cut: self
                .row
                .try_get::<Option<bool>, _>(cut)?
                .unwrap_or_default(),
        }))
    }
}
