//! Runs: generations by models, made by a task of this gateway, followed and stopped from any.
//!
//! A run starts by a commit, its parts go through the writer into a stream of their own, and a commit of what they came
//! to finishes it. [`Generations`] is what the doors use. Nothing here appends by itself: all goes through the writer,
//! under the gateway's own token.

mod alone;
mod ask;
pub mod call_log;
mod calls;
mod close;
pub mod config;
mod driver;
mod finish;
mod follow;
pub mod metrics;
mod parts_log;
pub mod pieces;
mod publisher;
mod run_end;
mod run_key;
mod run_spec;
pub mod settings;
mod signature;
mod start;
mod steps;
mod stop;
mod summarise;
mod summary_boundary;
mod summary_room;
mod sweep_window;
mod sweeper;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use ::quotas::QuotaSet;
use domain::{ActiveRun, AgentId, ConversationKey, Head, RunId, Sequence, TenantId};
use egress::{EgressConfig, Policy};
use event_log::registry::{AgentAccess, Scope};
use futures::Stream;
use models::fair::{FairPlace, FairPlaces};
use models::{ModelServers, ModelsError};
use runtime::config::Secret;
use runtime::shutdown::Shutdown;
use tokio::sync::Semaphore;
use tonic::Status;
use wire::proto::run::v1 as proto;
use wire::proto::write::v1::CommitResult;
use wire::status::{Problem, Reason};

pub use config::GenerationConfig;
pub use follow::Followed;
pub use publisher::{BYTES_WAITING_MAX, PARTS_WAITING_MAX};
pub use run_key::{RunKey, started_by};
pub use start::{RunHandle, Start};
pub use summarise::REQUEST as SUMMARY_REQUEST;
pub use tools::{ANSWER_BYTES_MAX, CALLS_AT_ONCE, webhook_key};

use call_log::CallLog;
use config::Rules;
use follow::Followers;
use run_spec::Making;
use settings::{ModelChoice, RunSettings};
use tools::Webhooks;

use crate::quotas::account::Account;
use crate::quotas::metering::Metering;
use crate::quotas::{CountedRun, Quotas};
use crate::writer::WriterClient;
use crate::{Gateway, problem};
use history::{CommitPosition, Deadline, Freshness, Target};

/// What runs need beside a gateway.
#[derive(Debug)]
pub struct Means {
    /// The writer.
    pub writer: WriterClient,
    /// The gateway's own token: scopes append and read, any tenant.
    pub token: Secret,
    /// The model servers.
    pub models: ModelServers,
    /// Which servers tenants' webhooks and agents may use.
    pub egress: EgressConfig,
    /// What the deployment allows.
    pub quotas: QuotaSet,
    /// What ends the gateway; runs are among its tasks.
    pub shutdown: Shutdown,
}

/// A place among the answers that are made here, counted against its quotas for as long as it is kept.
#[derive(Debug)]
struct RunPlace {
    _active: CountedRun,
    _place: FairPlace,
}

/// The runs of this gateway. Clones share them.
#[derive(Debug, Clone)]
pub struct Generations(Arc<Shared>);

/// What all runs of a gateway share.
#[derive(Debug)]
pub struct Shared {
    gateway: Gateway,
    writer: WriterClient,
    token: Secret,
    models: ModelServers,
    egress: EgressConfig,
    call_log: CallLog,
    webhooks: Webhooks,
    followers: Followers,
    places: FairPlaces,
    quotas: Quotas,
    summaries: Arc<Semaphore>,
    rules: Rules,
    shutdown: Shutdown,
}

impl std::ops::Deref for Generations {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Generations {
    /// The runs of a gateway, and a task that looks after those that others left, where there is a token. Needs a tokio
    /// runtime.
    ///
    /// # Errors
    /// [`ModelsError::Tls`]: the client for webhooks cannot be set up.
    pub fn new(
        gateway: Gateway,
        means: Means,
        config: &GenerationConfig,
    ) -> Result<Self, ModelsError> {
        let call_log = CallLog::start(gateway.clone(), means.writer.clone(), &means.shutdown);
        let drain = Duration::from_millis(config.drain_ms);
        let metering = Metering::start(means.writer.clone(), drain, &means.shutdown);
        let quotas = Quotas::new(&gateway, means.quotas, metering);
        let generations = Self(Arc::new(Shared {
            gateway,
            call_log,
            writer: means.writer,
            token: means.token,
            models: means.models,
            webhooks: Webhooks::new(Policy::new(&means.egress))?,
            egress: means.egress,
            followers: Followers::new(config.followers_max),
            places: FairPlaces::new(
                config.runs_max,
                config.runs_waiting_max,
                Duration::from_millis(config.run_wait_ms),
            ),
            quotas,
            summaries: Arc::new(Semaphore::new(config.summaries_max)),
            rules: Rules::of(config),
            shutdown: means.shutdown,
        }));
        if generations.token.is_empty() {
            tracing::info!("no `writer_token` is set: frontends can record nothing here");
        } else {
            let sweeping = sweeper::sweep(generations.clone());
            generations.shutdown.spawn_cancellable(sweeping);
        }
        Ok(generations)
    }

    /// Starts a run, which goes on by itself.
    ///
    /// # Errors
    /// `RUN_ACTIVE`, with the run's id, where another goes on; whatever else the writer refuses; no place left; the
    /// gateway is ending; the writer does not answer in time.
    pub async fn start(&self, start: Start) -> Result<RunHandle, Status> {
        start::start(self, start).await
    }

    /// The parts of a run from a number on, made here or elsewhere: those that are there, then those that come, each
    /// once. Ends after the run's end, or [`Followed::Gone`]. Whether the caller may is checked already.
    ///
    /// # Errors
    /// There is no place left, or the record does not answer.
    pub async fn follow(
        &self,
        key: &ConversationKey,
        run: RunId,
        from_part: u64,
    ) -> Result<impl Stream<Item = Followed> + Send + use<>, Problem> {
        follow::follow(&self.gateway, &self.followers, key, run, from_part).await
    }

    /// Asks a run to stop; whoever makes it ends it within a second. One that is over is left as it is. Whether the
    /// caller may is checked already.
    ///
    /// # Errors
    /// What the writer says, or that it does not answer.
    pub async fn stop(&self, run: &RunKey) -> Result<CommitResult, Status> {
        let request = proto::StopRunRequest {
            target: Some(run.target(None)),
            run_id: run.run.to_string(),
        };
        let answer = self.writer.runs().stop_run(request).await;
        let answer = answer.map_err(start::refused)?;
        Ok(answer.into_inner().result.unwrap_or_default())
    }

    /// The run that goes on in a conversation, as the record's leader knows it. Whether the caller may is checked
    /// already.
    ///
    /// # Errors
    /// The record does not answer.
    pub async fn active(&self, key: &ConversationKey) -> Result<Option<ActiveRun>, Problem> {
        let head = head_of(&self.gateway, key).await?;
        Ok(head.and_then(|head| head.active_run))
    }

    /// Waits until a run that was heard to its end is finished, so that what it came to can be read; for two seconds at most.
    /// Where the conversation is then; `None`: the run is not finished yet.
    /// Whether the caller may is checked already.
    pub async fn wait_for_finish(
        &self,
        key: &ConversationKey,
        run: RunId,
    ) -> Option<CommitPosition> {
        finish::wait(self, key, run).await
    }

    /// Finishes a run whose parts have come to their end; whether it is over then. `false`: it goes on, or the record does not
    /// answer. Whether the caller may is checked already.
    pub async fn finish_closed(&self, run: &RunKey) -> bool {
        start::is_finished(self, run).await
    }

    /// How an agent's runs are made.
    ///
    /// # Errors
    /// `MODEL_NOT_CONFIGURED`: the settings name no model; `MODEL_SERVER_NOT_ALLOWED`.
    fn settings(&self, access: &AgentAccess) -> Result<RunSettings, Problem> {
        let agent = self.gateway.registry.agent(&access.agent);
        let settings = agent.and_then(|agent| agent.settings).unwrap_or_default();
        if settings.model.is_none() {
            let message =
                "the agent has no model: set one, such as `hansard agent set AGENT --model echo`";
            return Err(Problem::new(Reason::ModelNotConfigured, message));
        }
        let settings = RunSettings::of(&settings)?;
        self.check_model_server(access.tenant.tenant(), &settings.model)?;
        Ok(settings)
    }

    /// Refuses a model server that the deployment keeps for other tenants.
    fn check_model_server(&self, tenant: &TenantId, model: &ModelChoice) -> Result<(), Problem> {
        if self.egress.may_use_model_server(tenant, &model.server) {
            return Ok(());
        }
        let message = "the agent's model server is kept for other tenants: set another model";
        Err(Problem::new(Reason::ModelServerNotAllowed, message))
    }

    /// What callers may use, and what they use.
    #[must_use]
    pub fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    /// A place among the answers that are made here, within the quotas of whom it counts against.
    async fn place(&self, account: &Account) -> Result<RunPlace, Problem> {
        let active = self.quotas.enter(account)?;
        self.quotas.check_tokens(account).await?;
        let place = self.places.take(&account.consumer.tenant).await;
        let place = place.map_err(|_| start::too_many_runs(self.rules.runs_max))?;
        Ok(RunPlace {
            _active: active,
            _place: place,
        })
    }

    /// Reads of a conversation by the gateway itself, of what its stream's leader holds; `None`: its token may not, or there is
    /// no such agent.
    async fn target(&self, agent: &AgentId, key: &ConversationKey) -> Option<Target> {
        let registry = &self.gateway.registry;
        let principal = registry.authenticate(self.token.expose()).await?;
        let access = registry
            .authorize(&principal, Scope::Read, agent)
            .await
            .ok()?;
        Some(Target {
            access,
            key: key.clone(),
            freshness: Freshness::Leader,
            fence: None,
            deadline: Deadline::until(None),
        })
    }

    /// Waits until the gateway is ending and runs have had their time.
    async fn drained(&self) {
        self.shutdown.begun().await;
        tokio::time::sleep(self.rules.drain).await;
    }
}

/// The head of a conversation as the stream's leader knows it; `None`: there is no such conversation.
///
/// # Errors
/// The record does not answer, or its last commit cannot be read.
async fn head_of(gateway: &Gateway, key: &ConversationKey) -> Result<Option<Head>, Problem> {
    let last = last_of(gateway, key).await?;
    Ok(last.map(|(head, _)| head))
}

/// The same, and the sequence of its commit.
///
/// # Errors
/// As [`head_of`].
async fn last_of(
    gateway: &Gateway,
    key: &ConversationKey,
) -> Result<Option<(Head, Sequence)>, Problem> {
    let last = gateway.reader.record.last_from_leader(key);
    let Some(last) = Deadline::until(None).record(last).await? else {
        return Ok(None);
    };
    let head = last.open_head();
    let head = head.map_err(|corrupt| problem::of_corrupt(&corrupt))?;
    Ok(Some((head, last.position.sequence)))
}
