//! Projecting into a schema that is not live, for as long as it takes.

use archive::Archive;
use projector::{Means, ProjectorConfig, project};
use read_model::ReadModel;
use runtime::shutdown::Shutdown;
use tokio::task::JoinHandle;

/// A projection in this process.
#[derive(Debug)]
pub(super) struct Following {
    here: Shutdown,
    task: JoinHandle<()>,
}

impl Following {
    /// Projects into the schema that `model` is fixed to.
    pub(super) fn start(archive: &Archive, model: &ReadModel, shutdown: &Shutdown) -> Self {
        let here = shutdown.child();
        let means = Means {
            config: ProjectorConfig::default(),
            archive: archive.clone(),
            model: model.clone(),
        };
        let until = here.clone();
        let task = tokio::spawn(async move { project(means, &until).await });
        Self { here, task }
    }

    /// Ends it, and gives its leases back.
    pub(super) async fn stop(self) -> anyhow::Result<()> {
        self.here.begin();
        self.task.await?;
        Ok(())
    }
}
