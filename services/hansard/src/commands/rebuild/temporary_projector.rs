//! A temporary projector of this process, which writes a schema that is not live.

use archive::Archive;
use projector::{ProjectionDependencies, ProjectorConfig, project};
use read_model::ReadModel;
use runtime::shutdown::Shutdown;
use tokio::task::JoinHandle;

/// A running projector.
#[derive(Debug)]
pub(super) struct TemporaryProjector {
    shutdown: Shutdown,
    task: JoinHandle<()>,
}

impl TemporaryProjector {
    /// Starts to project into the schema of `model`.
    pub(super) fn start(archive: &Archive, model: &ReadModel, shutdown: &Shutdown) -> Self {
        let shutdown = shutdown.child();
        let means = ProjectionDependencies {
            config: ProjectorConfig::default(),
            archive: archive.clone(),
            model: model.clone(),
        };
        let until = shutdown.clone();
        let task = tokio::spawn(async move { project(means, &until).await });
        Self { shutdown, task }
    }

    /// Stops it and releases its leases.
    pub(super) async fn stop(self) -> anyhow::Result<()> {
        self.shutdown.begin();
        self.task.await?;
        Ok(())
    }
}
