//! Projecting into one schema: its leases, its batches, for as long as it is asked to.

use std::time::Duration;

use archive::Archive;
use read_model::ReadModel;
use runtime::clock::Clock;
use runtime::shutdown::Shutdown;
use tokio::task::JoinSet;

use crate::ProjectorConfig;
use crate::leases::Leases;
use crate::progress::Progress;
use crate::projection::Projection;

/// How long the tasks beside the projection may take to end after it.
const END_MAX: Duration = Duration::from_secs(10);

/// What a projection works with.
#[derive(Debug, Clone)]
pub struct Means {
    /// How it works; addresses in it are not used.
    pub config: ProjectorConfig,
    /// The record, with what of it is elsewhere.
    pub archive: Archive,
    /// The read models, fixed to the schema that is projected into: see [`ReadModel::in_schema`].
    pub model: ReadModel,
}

/// Projects into one schema until `shutdown`, sharing its partitions with whoever else does; then gives the leases back.
pub async fn project(means: Means, shutdown: &Shutdown) {
    let Means {
        config,
        archive,
        model,
    } = means;
    let record = archive.record();
    let here = shutdown.child();
    let progress = Progress::default();
    let report = progress.clone();
    here.spawn_cancellable(report.report(record.clone(), model.clone(), Clock::System));
    let (leases, lanes) = Leases::new(
        model.clone(),
        record.partitions(),
        &config,
        progress.clone(),
    );
    here.spawn(leases.hold(here.clone()));
    let mut projections = JoinSet::new();
    for changes in lanes {
        let (archive, model) = (archive.clone(), model.clone());
        let lane = Projection::new(&config, archive, model, changes, progress.clone());
        projections.spawn(lane.project(here.clone()));
    }
    while let Some(ended) = projections.join_next().await {
        if let Err(panicked) = ended {
            tracing::error!(error = %panicked, "a lane of the projection is lost: all of it ends");
            shutdown.begin();
        }
    }
    if let Err(error) = here.wait(END_MAX).await {
        tracing::warn!(%error, "a projection ends untidily");
    }
}
