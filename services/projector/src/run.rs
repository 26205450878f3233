//! The life of a projector: connect, migrate, hold leases, project, give back.

use std::net::SocketAddr;
use std::time::Duration;

use archive::Archive;
use backon::Retryable as _;
use event_log::Record;
use read_model::{ReadModel, ReadModelError, SchemaName};
use runtime::admin::Admin;
use runtime::backoff::exponential;
use runtime::health::{Health, Probe};
use runtime::shutdown::Shutdown;
use runtime::start::StartError;
use tokio_util::sync::CancellationToken;

use crate::ProjectorConfig;
use crate::project::{Means, project};
use crate::provider_logs;

/// The waits for a database that is not there yet: first and longest.
const DATABASE_WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// How often the live schema is looked for: for so long nobody projects into a new one.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// A projector that works.
#[derive(Debug, Clone, Copy)]
pub struct Running {
    /// Where it tells operators of itself.
    pub admin_addr: SocketAddr,
}

/// Starts a projector; it works until `shutdown`. The record must be there; Postgres may come later, and is migrated then.
///
/// # Errors
/// What it needs to start is missing or wrong.
pub async fn start(config: ProjectorConfig, shutdown: &Shutdown) -> Result<Running, StartError> {
    let metrics = runtime::metrics::install()?;
    metrics.set_role("projector");
    let record = Record::open(config.record.clone())
        .await
        .map_err(StartError::dependency)?;
    let model = ReadModel::connect_lazy(&config.read_model).map_err(StartError::dependency)?;
    if config.migrates {
        migrate_once(&model).await.map_err(StartError::dependency)?;
    }
    let health = Health::new(&["nats", "postgres"]);
    watch_health(&record, &model, &health, shutdown);
    let admin = Admin::bind(config.admin_addr, health.clone(), metrics).await?;
    let running = Running {
        admin_addr: admin.local_addr(),
    };
    let work = Work {
        config,
        record,
        model,
        shutdown: shutdown.clone(),
    };
    shutdown.spawn(async move {
        let admin_end = CancellationToken::new();
        let admin_task = tokio::spawn(admin.serve(admin_end.clone()));
        work.run().await;
        health.drain();
        admin_end.cancel();
        // A panic of the operators' port is in its own log; there is nothing left to end.
        drop(admin_task.await);
        tracing::info!("projector ended");
    });
    tracing::info!(admin.addr = %running.admin_addr, "projector works");
    Ok(running)
}

struct Work {
    config: ProjectorConfig,
    record: Record,
    model: ReadModel,
    shutdown: Shutdown,
}

impl Work {
    async fn run(self) {
        if !self.schema_when_there().await {
            return;
        }
        let logs = provider_logs::keep(self.record.clone(), self.model.clone());
        self.shutdown.spawn_cancellable(logs);
        while let Some(schema) = self.live_schema().await {
            let here = self.shutdown.child();
            let model = self.model.in_schema(schema);
            here.spawn_cancellable(end_when_left(model.clone(), schema, here.clone()));
            let means = Means {
                config: self.config.clone(),
                archive: Archive::of(&self.record).moved_to(self.config.archive()),
                model,
            };
            tracing::info!(%schema, "projecting");
            project(means, &here).await;
        }
    }

    /// The live schema, once the database tells it; `None` when the shutdown came first.
    async fn live_schema(&self) -> Option<SchemaName> {
        let looking = (|| self.model.live_schema())
            .retry(exponential(DATABASE_WAITS.0, DATABASE_WAITS.1))
            .notify(|error, _| tracing::warn!(%error, "waiting to know the live schema"));
        tokio::select! {
            schema = looking => schema.ok(),
            () = self.shutdown.begun() => None,
        }
    }

    /// Migrates once the database is there, or waits until somebody has; `false` when the shutdown came first, or no retry can
    /// help.
    async fn schema_when_there(&self) -> bool {
        let waiting = (|| self.schema())
            .retry(exponential(DATABASE_WAITS.0, DATABASE_WAITS.1))
            .when(ReadModelError::is_unavailable)
            .notify(|error, _| tracing::warn!(%error, "waiting for the database"));
        let outcome = tokio::select! {
            outcome = waiting => outcome,
            () = self.shutdown.begun() => return false,
        };
        if let Err(error) = &outcome {
            tracing::error!(%error, "the database cannot be used");
            self.shutdown.begin();
        }
        outcome.is_ok()
    }

    async fn schema(&self) -> Result<(), ReadModelError> {
        if self.config.migrates {
            return self.model.migrate().await;
        }
        self.model.check().await
    }
}

/// Ends `here` once another schema is live.
async fn end_when_left(model: ReadModel, schema: SchemaName, here: Shutdown) {
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        // Where the database does not answer, the projection tells so.
        if let Ok(live) = model.live_schema().await
            && live != schema
        {
            tracing::info!(%schema, %live, "another schema is live");
            here.begin();
            return;
        }
    }
}

/// Migrates at once where the database is there, so that a schema that is not ours is told at the start.
async fn migrate_once(model: &ReadModel) -> Result<(), ReadModelError> {
    match model.migrate().await {
        Err(error) if error.is_unavailable() => {
            tracing::warn!(%error, "the database is not there yet");
            Ok(())
        }
        outcome => outcome,
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
        async move { model.check().await }
    }));
}
