//! Starts a projector: connects, migrates and projects until a shutdown.

use std::net::SocketAddr;
use std::time::Duration;

use archive::Archive;
use backoff::exponential;
use backon::Retryable as _;
use divergence::{Guard, ROWS_OF_RECORD};
use domain::TenantFilter;
use event_log::Record;
use read_model::{ReadModel, ReadModelError, SchemaName};
use runtime::admin::Admin;
use runtime::failure_log::FailureLog;
use runtime::health::{Health, Probe};
use runtime::shutdown::Shutdown;
use runtime::start::StartError;

use crate::ProjectorConfig;
use crate::assignment::{TenantsError, tenants};
use crate::project::project;
use crate::{ProjectionDependencies, ProjectionKind, parked_requests, provider_logs, reindex};

/// First and longest wait for an unavailable database.
const DATABASE_WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// Interval between reads of the live schema: after a switch, projection pauses for up to this time.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A running projector.
#[derive(Debug, Clone, Copy)]
pub struct Running {
    /// The address of metrics and readiness.
    pub admin_addr: SocketAddr,
}

/// Starts a projector that runs until `shutdown`. The record must exist; Postgres may become available later and is migrated
/// then.
///
/// # Errors
/// A dependency is missing or misconfigured.
pub async fn start(config: ProjectorConfig, shutdown: &Shutdown) -> Result<Running, StartError> {
    let metrics = runtime::metrics::install()?;
    metrics.set_role("projector");
    let record = Record::open(config.record.clone()).await.map_err(StartError::dependency)?;
    let model = database(&config).map_err(StartError::dependency)?;
    if config.migrates {
        try_migrate(&model).await.map_err(StartError::dependency)?;
    }
    try_assign(&record, &config, &model).await.map_err(StartError::dependency)?;
    let guard = Guard::start(&record, &model, shutdown).await.map_err(StartError::dependency)?;
    let health = Health::new(&["nats", "postgres", ROWS_OF_RECORD]);
    watch_health(&record, &model.unguarded(), &health, shutdown);
    guard.report(&health, shutdown);
    let admin = Admin::bind(config.admin_addr, health, metrics).await?;
    let running = Running { admin_addr: admin.local_addr() };
    let work = Work { config, record, model, outages: FailureLog::default(), shutdown: shutdown.clone() };
    runtime::serve::spawn_admin(admin, shutdown);
    shutdown.spawn(async move {
        work.run().await;
        tracing::info!("projector stopped");
    });
    tracing::info!(admin.addr = %running.admin_addr, "projector started");
    Ok(running)
}

/// The database that this projector writes: the first one, or a shard.
fn database(config: &ProjectorConfig) -> Result<ReadModel, ReadModelError> {
    let all = ReadModel::connect_lazy(&config.read_model)?;
    if config.shard.is_empty() {
        return all.databases().into_iter().next().ok_or(ReadModelError::Misconfigured);
    }
    all.shard(&config.shard).ok_or(ReadModelError::Misconfigured)
}

struct Work {
    config: ProjectorConfig,
    record: Record,
    model: ReadModel,
    outages: FailureLog,
    shutdown: Shutdown,
}

impl Work {
    async fn run(self) {
        let Some(tenants) = self.wait_for_schema().await else {
            return;
        };
        let archive = Archive::of(&self.record).moved_to(self.config.archive()).of_tenants(tenants);
        let logs = provider_logs::run(archive.clone(), self.model.clone());
        self.shutdown.spawn_cancellable(logs);
        let requests = parked_requests::run(self.record.clone(), self.model.clone());
        self.shutdown.spawn_cancellable(requests);
        self.start_search(&archive);
        while let Some(schema) = self.live_schema().await {
            let here = self.shutdown.child();
            let model = self.model.in_schema(schema);
            here.spawn_cancellable(stop_after_switch(model.clone(), schema, here.clone()));
            let means = self.dependencies(ProjectionKind::Conversations, &archive, model);
            tracing::info!(%schema, "projecting");
            project(means, &here).await;
        }
    }

    /// Starts the projection of the search, which ends with the shutdown.
    fn start_search(&self, archive: &Archive) {
        let model = self.model.for_search();
        self.shutdown.spawn_cancellable(reindex::run(model.clone()));
        let means = self.dependencies(ProjectionKind::Search, archive, model);
        let shutdown = self.shutdown.clone();
        self.shutdown.spawn(async move { project(means, &shutdown).await });
    }

    fn dependencies(&self, kind: ProjectionKind, archive: &Archive, model: ReadModel) -> ProjectionDependencies {
        let (config, outages) = (self.config.clone(), self.outages.clone());
        ProjectionDependencies { config, archive: archive.clone(), model, kind, outages }
    }

    /// Reads the live schema with retries; `None`: the shutdown began.
    async fn live_schema(&self) -> Option<SchemaName> {
        let schema = (|| self.model.live_schema())
            .retry(exponential(DATABASE_WAITS.0, DATABASE_WAITS.1))
            .notify(|error, _| tracing::warn!(%error, "the live schema cannot be read; retrying"));
        tokio::select! {
            schema = schema => schema.ok(),
            () = self.shutdown.begun() => None,
        }
    }

    /// Migrates with retries, or waits for the migrations of another process. Returns the tenants of the database; `None`: the shutdown
    /// began, or a retry does not help.
    async fn wait_for_schema(&self) -> Option<TenantFilter> {
        let waiting = (|| self.schema())
            .retry(exponential(DATABASE_WAITS.0, DATABASE_WAITS.1))
            .when(TenantsError::is_unavailable)
            .notify(|error, _| tracing::warn!(%error, "waiting for the database"));
        let outcome = tokio::select! {
            outcome = waiting => outcome,
            () = self.shutdown.begun() => return None,
        };
        if let Err(error) = &outcome {
            tracing::error!(%error, "the database cannot be used");
            self.shutdown.begin();
        }
        outcome.ok()
    }

    async fn schema(&self) -> Result<TenantFilter, TenantsError> {
        // Before the migrations, nothing can be compared with the record.
        let model = self.model.unguarded();
        if self.config.migrates {
            model.migrate().await?;
        } else {
            model.check().await?;
        }
        tenants(&self.record, &self.config, &model).await
    }
}

/// Stops `here` when another schema is live.
async fn stop_after_switch(model: ReadModel, schema: SchemaName, here: Shutdown) {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        // The projection logs errors of the database.
        if let Ok(live) = model.live_schema().await
            && live != schema
        {
            tracing::info!(%schema, %live, "another schema is live");
            here.begin();
            return;
        }
    }
}

/// Migrates if the database is available, so that an unsupported schema fails the start.
async fn try_migrate(model: &ReadModel) -> Result<(), ReadModelError> {
    match model.migrate().await {
        Err(error) if error.is_unavailable() => {
            tracing::warn!(%error, "the database is unavailable; retrying in the background");
            Ok(())
        }
        outcome => outcome,
    }
}

/// Reads the tenants if the database is available, so that a contradiction fails the start.
async fn try_assign(record: &Record, config: &ProjectorConfig, model: &ReadModel) -> Result<(), TenantsError> {
    match tenants(record, config, model).await {
        Err(error) if !error.is_unavailable() => Err(error),
        Err(_) | Ok(_) => Ok(()),
    }
}

fn watch_health(record: &Record, model: &ReadModel, health: &Health, shutdown: &Shutdown) {
    let record = record.clone();
    shutdown.spawn_cancellable(health.clone().probe("nats", Probe::DEFAULT, move || {
        let record = record.clone();
        async move { record.check().await }
    }));
    let model = model.clone();
    shutdown.spawn_cancellable(health.clone().probe("postgres", Probe::DEFAULT, move || {
        let model = model.clone();
        async move { model.check_writable().await }
    }));
}
