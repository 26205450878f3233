//! How the documents of agents are indexed.

use std::collections::{BTreeSet, HashMap};

use domain::{AgentId, TenantId};
use search::{Document, Language, Term, TermKey};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};

use crate::arguments::{arguments, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Maximum number of agents of one call of [`set_agents`].
pub const AGENTS_PER_CALL_MAX: usize = 1_000;

/// The search settings of an agent, as the registry has them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentSearch {
    /// The tenant.
    pub tenant: TenantId,
    /// The agent.
    pub agent: AgentId,
    /// Whether its conversations are searched.
    pub is_enabled: bool,
    /// The language of its stems; `None`: no stems.
    pub language: Option<Language>,
}

/// An agent of a tenant.
pub(super) type AgentKey = (TenantId, AgentId);

/// The settings with which an agent's documents are indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    agent: AgentId,
    pub(super) is_enabled: bool,
    language: Option<Language>,
}

impl Settings {
    /// Those of the agent of audit logs, which have a page of their own and no documents.
    fn of_audit_log(agent: AgentId) -> Self {
        Self { agent, is_enabled: false, language: None }
    }

    pub(super) fn agent(&self) -> &str {
        self.agent.as_str()
    }

    /// The terms of a document.
    pub(super) fn terms(&self, key: &TermKey, document: &Document) -> Vec<Term> {
        key.of_document(document, self.agent.as_str(), self.language)
    }

    /// Decodes the columns `agent_id`, `is_enabled` and `language`.
    pub(super) fn read(row: &PgRow) -> Result<Self, ReadModelError> {
        let agent: &str = row.try_get("agent_id")?;
        let corrupt = |field| ReadModelError::corrupt("agent", agent, field);
        let language: &str = row.try_get("language")?;
        let parsed = Language::parse(language);
        if parsed.is_none() && !language.is_empty() {
            return Err(corrupt("language"));
        }
        Ok(Self {
            agent: AgentId::parse(agent).map_err(|_| corrupt("agent_id"))?,
            is_enabled: row.try_get("is_enabled")?,
            language: parsed,
        })
    }
}

/// The settings of agents, which cannot change until the end of the transaction. An agent without settings gets the default.
pub(super) async fn settings_of(
    connection: &mut PgConnection,
    agents: BTreeSet<AgentKey>,
) -> Result<HashMap<AgentKey, Settings>, ReadModelError> {
    let (audit_logs, agents): (BTreeSet<AgentKey>, BTreeSet<AgentKey>) =
        agents.into_iter().partition(|(_, agent)| agent.is_audit_log());
    let mut settings = stored_settings(connection, agents).await?;
    settings.extend(audit_logs.into_iter().map(|key| {
        let agent = key.1.clone();
        (key, Settings::of_audit_log(agent))
    }));
    Ok(settings)
}

async fn stored_settings(
    connection: &mut PgConnection,
    agents: BTreeSet<AgentKey>,
) -> Result<HashMap<AgentKey, Settings>, ReadModelError> {
    let tenants: Vec<&str> = agents.iter().map(|(tenant, _)| tenant.as_str()).collect();
    let ids: Vec<&str> = agents.iter().map(|(_, agent)| agent.as_str()).collect();
    let arguments = || arguments![tenants.as_slice(), ids.as_slice()];
    let read = async |connection: &mut PgConnection| {
        let query = sqlx::query_with(include_str!("lock_agents.sql"), arguments());
        query.fetch_all(connection).await
    };
    let mut rows = read(&mut *connection).await?;
    if rows.len() < agents.len() {
        let query = sqlx::query_with(include_str!("add_agents.sql"), arguments());
        query.execute(&mut *connection).await?;
        rows = read(connection).await?;
    }
    let settings = rows.iter().map(|row| {
        let settings = Settings::read(row)?;
        let tenant: &str = row.try_get("tenant_id")?;
        let corrupt = |_| ReadModelError::corrupt("agent", tenant, "tenant_id");
        let tenant = TenantId::parse(tenant).map_err(corrupt)?;
        Ok(((tenant, settings.agent.clone()), settings))
    });
    settings.collect()
}

/// Stores the settings of agents, at most [`AGENTS_PER_CALL_MAX`]. The documents of an agent whose settings have changed are indexed
/// again.
///
/// # Errors
/// [`ReadModelError::Unavailable`]: call it again.
pub async fn set_agents(model: &ReadModel, agents: &[AgentSearch]) -> Result<(), ReadModelError> {
    let texts = |text: fn(&AgentSearch) -> &str| -> Vec<&str> { agents.iter().map(text).collect() };
    let enabled: Vec<bool> = agents.iter().map(|agent| agent.is_enabled).collect();
    let arguments = || {
        arguments![
            texts(|agent| agent.tenant.as_str()),
            texts(|agent| agent.agent.as_str()),
            enabled.as_slice(),
            texts(|agent| agent.language.map_or("", Language::code)),
        ]
    };
    let sql = "SELECT hansard.set_search_agents($1, $2, $3, $4)";
    model.fetch(sql, arguments).await.map(drop)
}

/// Requests that the documents of all agents are indexed again, or those of one tenant. Returns the number of agents. Searches
/// continue meanwhile.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn request_reindex(model: &ReadModel, tenant: Option<&TenantId>) -> Result<u64, ReadModelError> {
    let arguments = || arguments![tenant.map(TenantId::as_str)];
    let rows = model.fetch(include_str!("request_reindex.sql"), arguments);
    Ok(u64::try_from(rows.await?.len()).unwrap_or(u64::MAX))
}

/// The number of agents whose documents are being indexed again, of all tenants.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn reindexing_agents(model: &ReadModel) -> Result<u64, ReadModelError> {
    let sql = "SELECT count(*) FROM search_v1.agent WHERE indexed_generation < generation";
    let rows = model.fetch(sql, PgArguments::default).await?;
    let count: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
    Ok(unsigned(count))
}
