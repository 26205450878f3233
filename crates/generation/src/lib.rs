//! Runs: generations by models, with their contexts and quotas. A task of one gateway executes a run; every gateway can follow and stop
//! it.
//!
//! A commit starts a run. Its parts go through the writer to a stream of their own. A commit with the folded parts
//! finishes it. The crate `conversations` uses [`Generations`]. This crate appends nothing itself: all commands go through the writer,
//! under the gateway's own token.

pub mod assembly;
mod background;
pub mod call_log;
mod call_model;
pub mod config;
mod driver;
mod finish;
mod follow;
mod interruption;
mod long_start;
pub mod metrics;
mod output_schemas;
mod parts_log;
mod publisher;
pub mod quotas;
mod request_settings;
mod run_end;
mod run_key;
pub mod run_parts;
pub mod settings;
mod start;
mod stateless_turn;
mod steps;
mod structured_answer;
mod summarise;
mod summary_boundary;
mod summary_room;
mod sweep_window;
mod sweeper;
mod title_text;
mod titles;
mod tool_calls;
mod unusable_calls;
mod webhook_signature;
mod webhooks;

use std::sync::Arc;
use std::time::Duration;

use ::quotas::QuotaSet;
use domain::{ActiveRun, AgentId, ConversationKey, Head, Sequence, TenantId};
use egress::{EgressConfig, Policy};
use models::{ModelServers, ModelsError};
use registry::{AgentAccess, Scope};
use runtime::config::Secret;
use runtime::fair::{FairPermit, FairSemaphore};
use runtime::shutdown::Shutdown;
use tokio::sync::Semaphore;
use wire::proto::run::v1 as proto;
use wire::status::{Problem, Reason};

pub use config::GenerationConfig;
pub use follow::FollowItem;
pub use publisher::{BYTES_WAITING_MAX, PARTS_WAITING_MAX};
pub use run_key::RunKey;
pub use start::{NewConversation, RetryKey, Start, StartAt, StartedRun};
pub use stateless_turn::{PreviousTurns, StatelessTurn};
pub use summarise::REQUEST as SUMMARY_REQUEST;
pub use title_text::{TITLE_CHARS_DEFAULT, TITLE_MESSAGE_BYTES_MAX};
pub use titles::TITLES_AT_ONCE;
pub use webhooks::{ANSWER_BYTES_MAX, CALLS_AT_ONCE, webhook_failure, webhook_key};

use call_log::CallLog;
use output_schemas::OutputSchemas;
use run_key::RunSpec;
use settings::{ModelChoice, RunSettings};
use start::too_many_runs;
use webhooks::Webhooks;

use crate::assembly::ContextRequest;
use crate::quotas::account::Account;
use crate::quotas::metering::Metering;
use crate::quotas::{CountedRun, Quotas};
use history::{Deadline, Freshness, Target};
use record_access::commands::own_problem;
use record_access::writer::WriterClient;
use record_access::{Gateway, positions, problem};

/// Maximum number of waiting runs of one tenant on this gateway. Further runs are rejected.
const RUNS_WAITING_MAX: usize = 200;
/// Maximum number of concurrent summaries on this gateway. They are background work: further ones wait for a later run.
const SUMMARIES_AT_ONCE: usize = 4;

/// The dependencies of runs, in addition to a gateway.
#[derive(Debug)]
pub struct Dependencies {
    /// The writer.
    pub writer: WriterClient,
    /// The gateway's own token: scopes append and read, any tenant.
    pub token: Secret,
    /// The model servers.
    pub models: ModelServers,
    /// The servers that tenants' webhooks and agents may use.
    pub egress: EgressConfig,
    /// The quotas of the deployment.
    pub quotas: QuotaSet,
    /// Ends the gateway; runs are among its tasks.
    pub shutdown: Shutdown,
}

/// The right to run one generation on this gateway. It counts against the quotas until it is dropped.
#[derive(Debug)]
struct RunPermit {
    _active: CountedRun,
    _place: FairPermit,
}

/// The runs of this gateway. Clones share them.
#[derive(Debug, Clone)]
pub struct Generations(Arc<Shared>);

/// The state that all runs of a gateway share.
#[derive(Debug)]
pub struct Shared {
    gateway: Gateway,
    writer: WriterClient,
    token: Secret,
    models: ModelServers,
    egress: EgressConfig,
    call_log: CallLog,
    webhooks: Webhooks,
    followers: Arc<Semaphore>,
    places: FairSemaphore,
    quotas: Quotas,
    output_schemas: OutputSchemas,
    summaries: Arc<Semaphore>,
    titles: Arc<Semaphore>,
    config: GenerationConfig,
    shutdown: Shutdown,
}

impl std::ops::Deref for Generations {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Generations {
    /// The runs of a gateway. With a token, it also starts the sweeper, which ends abandoned runs. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`ModelsError::Tls`]: the client for webhooks cannot be set up.
    pub fn new(gateway: Gateway, deps: Dependencies, config: &GenerationConfig) -> Result<Self, ModelsError> {
        let call_log = CallLog::start(gateway.clone(), deps.writer.clone(), &deps.shutdown);
        let drain = Duration::from_millis(config.drain_ms);
        let metering = Metering::start(deps.writer.clone(), drain, &deps.shutdown);
        let output_schemas = OutputSchemas::new(gateway.compute.clone());
        let quotas = Quotas::new(&gateway, deps.quotas, metering);
        let generations = Self(Arc::new(Shared {
            gateway,
            call_log,
            writer: deps.writer,
            token: deps.token,
            models: deps.models,
            webhooks: Webhooks::new(Policy::new(&deps.egress))?,
            egress: deps.egress,
            followers: Arc::new(Semaphore::new(config.followers_max)),
            places: FairSemaphore::new(config.runs_max, RUNS_WAITING_MAX, Duration::from_millis(config.run_wait_ms)),
            quotas,
            output_schemas,
            summaries: Arc::new(Semaphore::new(SUMMARIES_AT_ONCE)),
            titles: Arc::new(Semaphore::new(TITLES_AT_ONCE)),
            config: config.clone(),
            shutdown: deps.shutdown,
        }));
        if generations.token.is_empty() {
            tracing::info!("`writer_token` is not set: frontends cannot write on this gateway");
        } else {
            for rows in generations.gateway.reader.read_model.databases() {
                let sweeps = sweeper::sweep(generations.clone(), rows);
                generations.shutdown.spawn_cancellable(sweeps);
            }
        }
        Ok(generations)
    }

    /// Requests the stop of a run. The gateway that executes it ends it within a second. A finished run does not change.
    /// The caller checks access first.
    ///
    /// # Errors
    /// The writer refuses or does not answer.
    pub async fn stop(&self, run: &RunKey) -> Result<(), Problem> {
        let request = proto::StopRunRequest { target: Some(run.target(None)), run_id: run.run.to_string() };
        let answer = self.writer.runs().stop_run(request).await.map_err(own_problem)?;
        let result = answer.into_inner().result.unwrap_or_default();
        positions::record_write(&result.position_token);
        Ok(())
    }

    /// The active run of a conversation, read from the stream's leader. The caller checks access first.
    ///
    /// # Errors
    /// The record does not answer.
    pub async fn active(&self, key: &ConversationKey) -> Result<Option<ActiveRun>, Problem> {
        let head = read_head(&self.gateway, key).await?;
        Ok(head.and_then(|head| head.active_run))
    }

    /// The settings of an agent's runs.
    ///
    /// # Errors
    /// `MODEL_NOT_CONFIGURED`: the settings name no model; `MODEL_SERVER_NOT_ALLOWED`.
    fn settings(&self, access: &AgentAccess) -> Result<RunSettings, Problem> {
        let agent = self.gateway.registry.agent(&access.agent);
        let settings = agent.and_then(|agent| agent.settings).unwrap_or_default();
        if settings.model.is_none() {
            let message = "the agent has no model: set one, for example `hansard agent set AGENT --model echo`";
            return Err(Problem::new(Reason::ModelNotConfigured, message));
        }
        let settings = RunSettings::of(&settings)?;
        self.check_model_server(access.tenant.tenant(), &settings.model)?;
        Ok(settings)
    }

    /// The context request of a run, in the format of its model's server.
    async fn context_request(&self, access: &AgentAccess, model: &ModelChoice) -> Result<ContextRequest, Problem> {
        let format = self.models.format(&model.server).unwrap_or(formats::Format::Canonical);
        let outputs = self.models.call_outputs(&model.server);
        ContextRequest::for_agent(&self.gateway, access, format, outputs).await
    }

    /// Rejects a model server that the deployment reserves for other tenants.
    fn check_model_server(&self, tenant: &TenantId, model: &ModelChoice) -> Result<(), Problem> {
        if self.egress.may_use_model_server(tenant, &model.server) {
            return Ok(());
        }
        let message = "the agent's model server is reserved for other tenants: set another model";
        Err(Problem::new(Reason::ModelServerNotAllowed, message))
    }

    /// The quotas and their usage.
    #[must_use]
    pub fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// Waits for the right to run one generation, within the quotas of the account.
    async fn acquire(&self, account: &Account) -> Result<RunPermit, Problem> {
        let active = self.quotas.enter(account)?;
        self.quotas.check_tokens(account).await?;
        let place =
            self.places.acquire(&account.consumer.tenant).await.map_err(|_| too_many_runs(self.config.runs_max))?;
        Ok(RunPermit { _active: active, _place: place })
    }

    /// The target of reads by the gateway itself, from the stream's leader; `None`: its token does not allow the read, or
    /// the agent does not exist.
    async fn target(&self, agent: &AgentId, key: &ConversationKey) -> Option<Target> {
        let registry = &self.gateway.registry;
        let principal = registry.authenticate(self.token.expose(), self.gateway.now()).await?;
        let access = registry.authorize(&principal, Scope::Read, agent).await.ok()?;
        Some(Target {
            access,
            key: key.clone(),
            freshness: Freshness::Leader,
            fence: None,
            deadline: Deadline::until(None),
        })
    }

    /// Waits until the shutdown has begun and `drain_ms` have passed.
    async fn wait_for_drain(&self) {
        self.shutdown.begun().await;
        tokio::time::sleep(Duration::from_millis(self.config.drain_ms)).await;
    }
}

/// The head of a conversation, from the stream's leader; `None`: the conversation does not exist.
///
/// # Errors
/// The record does not answer, or its last commit cannot be read.
async fn read_head(gateway: &Gateway, key: &ConversationKey) -> Result<Option<Head>, Problem> {
    let last = read_last_commit(gateway, key).await?;
    Ok(last.map(|(head, _)| head))
}

/// The head of a conversation and the sequence of its last commit, from the stream's leader.
///
/// # Errors
/// As [`read_head`].
async fn read_last_commit(gateway: &Gateway, key: &ConversationKey) -> Result<Option<(Head, Sequence)>, Problem> {
    let last = gateway.reader.archive.last_commit(key);
    let Some(last) = Deadline::until(None).record(last).await? else {
        return Ok(None);
    };
    let head = last.open_head().map_err(|corrupt| problem::of_corrupt(&corrupt))?;
    Ok(Some((head, last.position.sequence)))
}
