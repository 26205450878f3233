//! Reads logged calls of model servers: pages without bodies, the newest first, and one call with its bodies.

use std::sync::LazyLock;

use domain::event::Usage;
use domain::{
    AgentId, CallPurpose, ConversationId, Label, LogId, LoggedBody, ModelCall, ModelServerId, RunId, TenantAccess,
    Timestamp, Violation,
};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};
use uuid::Uuid;

use crate::arguments::{arguments, bind};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::pg_timestamp::PgTimestamp;
use crate::purpose_code::{ANSWER, SUMMARY, TITLE};

/// Maximum number of calls of one read.
pub const PROVIDER_LOGS_PER_READ_MAX: u32 = 1_000;

/// The statements of a tenant, an agent and a conversation: each condition has an index.
static LIST: LazyLock<[String; 3]> = LazyLock::new(|| {
    let conditions = ["", "AND agent_id = $7", "AND conversation_id = $7 AND ($8::text IS NULL OR agent_id = $8)"];
    conditions.map(|condition| include_str!("provider_logs.sql").replace("{filter}", condition))
});

/// Which calls to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderLogQuery {
    /// Only calls of this agent.
    pub agent: Option<AgentId>,
    /// Only calls of this conversation.
    pub conversation: Option<ConversationId>,
    /// Only calls with this outcome.
    pub outcome: Option<Label>,
    /// Only calls that started at this time or later.
    pub started_after: Option<Timestamp>,
    /// Only calls that started earlier than this.
    pub started_before: Option<Timestamp>,
    /// The last call of the previous page; `None`: the first page.
    pub after: Option<ProviderLogCursor>,
    /// Maximum number of calls, capped at [`PROVIDER_LOGS_PER_READ_MAX`].
    pub limit: u32,
}

/// The end of a page. Times count in whole microseconds; the id decides between equal times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderLogCursor {
    /// When its last call started.
    pub started_at: Timestamp,
    /// The last call.
    pub id: LogId,
}

/// A logged call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderLogRow {
    /// The agent of the conversation.
    pub agent: AgentId,
    /// The conversation.
    pub conversation: ConversationId,
    /// When it expires, to the microsecond.
    pub kept_until: Timestamp,
    /// The call; its times are rounded to the microsecond.
    pub call: ModelCall,
}

/// A page of the tenant's calls without bodies, by start and then by id, both descending.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn provider_logs(
    model: &ReadModel,
    access: &TenantAccess,
    query: &ProviderLogQuery,
) -> Result<Vec<ProviderLogRow>, ReadModelError> {
    let [of_tenant, of_agent, of_conversation] = &*LIST;
    let sql = match (&query.conversation, &query.agent) {
        (Some(_), _) => of_conversation,
        (None, Some(_)) => of_agent,
        (None, None) => of_tenant,
    };
    let rows = model.read(access, sql, || arguments(access, query)).await?;
    rows.iter().map(|row| read(access, row)).collect()
}

/// One call of the tenant with its bodies; `None`: it does not exist or has expired.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn provider_log(
    model: &ReadModel,
    access: &TenantAccess,
    id: LogId,
) -> Result<Option<ProviderLogRow>, ReadModelError> {
    let arguments = || arguments![access.tenant().as_str(), id.0];
    let rows = model.read(access, include_str!("provider_log.sql"), arguments).await?;
    rows.first().map(|row| read(access, row)).transpose()
}

fn arguments(access: &TenantAccess, query: &ProviderLogQuery) -> PgArguments {
    let before = query.started_before.map(PgTimestamp::from_time);
    let bound = (before.unwrap_or(PgTimestamp::INFINITY), Uuid::nil());
    let (before, id) =
        query.after.map_or(bound, |cursor| bound.min((PgTimestamp::from_time(cursor.started_at), cursor.id.0)));
    let after = query.started_after.map(PgTimestamp::from_time);
    let arguments = arguments![
        access.tenant().as_str(),
        before,
        id,
        after.unwrap_or(PgTimestamp::NEGATIVE_INFINITY),
        query.outcome.as_ref().map(Label::as_str),
        i64::from(query.limit.min(PROVIDER_LOGS_PER_READ_MAX)),
    ];
    let agent = query.agent.as_ref().map(AgentId::as_str);
    match (&query.conversation, agent) {
        (Some(conversation), agent) => bind(bind(arguments, conversation.as_str()), agent),
        (None, Some(agent)) => bind(arguments, agent),
        (None, None) => arguments,
    }
}

/// Decodes a row by the names of its columns. Bodies are null unless the statement reads them.
fn read(access: &TenantAccess, row: &PgRow) -> Result<ProviderLogRow, ReadModelError> {
    let id: Uuid = row.try_get("log_id")?;
    let columns = Columns { row, name: format!("{}/{id}", access.tenant()) };
    let purpose = match row.try_get::<i16, _>("purpose")? {
        ANSWER => CallPurpose::Answer,
        SUMMARY => CallPurpose::Summary,
        TITLE => CallPurpose::Title,
        _ => return Err(columns.corrupt("purpose")),
    };
    let first_piece_ms = row.try_get::<Option<i64>, _>("first_piece_ms")?;
    let http_status = row.try_get::<Option<i32>, _>("http_status")?;
    let finish_reason = row.try_get::<Option<String>, _>("finish_reason")?;
    let attempt = columns.count("attempt")?;
    Ok(ProviderLogRow {
        agent: columns.text("agent_id", AgentId::parse)?,
        conversation: columns.text("conversation_id", ConversationId::parse)?,
        kept_until: row.try_get::<PgTimestamp, _>("kept_until")?.with_nanos(0),
        call: ModelCall {
            id: LogId(id),
            run: RunId(row.try_get("run_id")?),
            purpose,
            attempt: u32::try_from(attempt).map_err(|_| columns.corrupt("attempt"))?,
            server: columns.text("model_server", ModelServerId::parse)?,
            model: columns.text("model", Label::parse)?,
            started_at: row.try_get::<PgTimestamp, _>("started_at")?.with_nanos(0),
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

/// The columns of a row, and its name for errors.
struct Columns<'a> {
    row: &'a PgRow,
    name: String,
}

impl Columns<'_> {
    fn corrupt(&self, field: &str) -> ReadModelError {
        ReadModelError::corrupt("provider_log", &self.name, field)
    }

    fn text<T>(&self, column: &'static str, parse: fn(String) -> Result<T, Violation>) -> Result<T, ReadModelError> {
        let text: String = self.row.try_get(column)?;
        parse(text).map_err(|_| self.corrupt(column))
    }

    fn count(&self, column: &'static str) -> Result<u64, ReadModelError> {
        let number: i64 = self.row.try_get(column)?;
        u64::try_from(number).map_err(|_| self.corrupt(column))
    }

    fn usage(&self) -> Result<Option<Usage>, ReadModelError> {
        let input_tokens: Option<i64> = self.row.try_get("input_tokens")?;
        if input_tokens.is_none() {
            return Ok(None);
        }
        Ok(Some(Usage {
            input_tokens: self.count("input_tokens")?,
            output_tokens: self.count("output_tokens")?,
            cached_tokens: self.count("cached_tokens")?,
            reasoning_tokens: self.count("reasoning_tokens")?,
        }))
    }

    fn body(&self, column: &'static str, cut: &'static str) -> Result<Option<LoggedBody>, ReadModelError> {
        let Some(bytes) = self.row.try_get::<Option<Vec<u8>>, _>(column)? else {
            return Ok(None);
        };
        let is_cut: Option<bool> = self.row.try_get(cut)?;
        Ok(Some(LoggedBody {
            text: String::from_utf8(bytes).map_err(|_| self.corrupt(column))?,
            is_cut: is_cut.unwrap_or_default(),
        }))
    }
}
