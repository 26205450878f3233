//! Projects the record into one schema until a shutdown.

use std::time::Duration;

use runtime::clock::Clock;
use runtime::shutdown::Shutdown;
use tokio::task::JoinSet;

use crate::dependencies::ProjectionDependencies;
use crate::leases::Leases;
use crate::progress::Progress;
use crate::projection::Projection;

/// Maximum time until the other tasks end after the projection.
const END_MAX: Duration = Duration::from_secs(10);

/// Projects until `shutdown`, then releases the leases. Other projectors may share the partitions.
pub async fn project(means: ProjectionDependencies, shutdown: &Shutdown) {
    let ProjectionDependencies { config, archive, model, kind, outages } = means;
    let record = archive.record();
    let here = shutdown.child();
    let progress = Progress::new(kind);
    let report = progress.clone();
    here.spawn_cancellable(report.report(record.clone(), model.clone(), Clock::System));
    let (leases, changes) = Leases::new(model.clone(), record, &config, progress.clone());
    here.spawn(leases.hold(here.clone()));
    let mut projections = JoinSet::new();
    for changes in changes {
        let dependencies = ProjectionDependencies {
            config: config.clone(),
            archive: archive.clone(),
            model: model.clone(),
            kind,
            outages: outages.clone(),
        };
        let worker = Projection::new(dependencies, changes, progress.clone());
        projections.spawn(worker.project(here.clone()));
    }
    while let Some(ended) = projections.join_next().await {
        if let Err(panicked) = ended {
            tracing::error!(error = %panicked, "a worker of the projection panicked; the projector stops");
            shutdown.begin();
        }
    }
    if let Err(error) = here.wait(END_MAX).await {
        tracing::warn!(%error, "tasks of a projection did not end in time");
    }
}
