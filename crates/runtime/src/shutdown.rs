//! The end of a process: who is told, who is waited for, and for how long.

use std::future::Future;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The exit code after a second signal: the one that shells give to an interrupted program.
pub const EXIT_CODE_FORCED: i32 = 130;

/// Tasks were still running when the deadline passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{tasks} tasks still running at the end of the shutdown's deadline")]
pub struct StillRunning {
    /// How many tasks had not ended.
    pub tasks: usize,
}

/// Tells the parts of a process to end, and waits for them; clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    token: CancellationToken,
    tasks: TaskTracker,
}

impl Shutdown {
    /// A shutdown that nothing has asked for yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that is cancelled when the shutdown begins.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// A shutdown that ends with this one, or earlier by itself, with tasks of its own.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            token: self.token.child_token(),
            tasks: TaskTracker::new(),
        }
    }

    /// Begins the shutdown; later calls change nothing.
    pub fn begin(&self) {
        self.token.cancel();
    }

    /// Whether the shutdown has begun. A child's end that came from its parent is never seen before its parent's.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Waits until the shutdown begins.
    pub async fn begun(&self) {
        self.token.cancelled().await;
    }

    /// Runs a task that ends by itself once the token is cancelled; [`Self::wait`] waits for it.
    pub fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.tasks.spawn(task)
    }

    /// Runs a task that is dropped where it waits, once the shutdown begins.
    pub fn spawn_until_begun<F>(&self, task: F) -> JoinHandle<Option<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.tasks
            .spawn(self.token().run_until_cancelled_owned(task))
    }

    /// Begins on SIGINT or SIGTERM; a second one ends the process at once with
    /// [`EXIT_CODE_FORCED`]. Needs a tokio runtime.
    ///
    /// # Errors
    /// The system refuses a signal handler.
    pub fn listen_for_signals(&self) -> std::io::Result<()> {
        let interrupts = signal(SignalKind::interrupt())?;
        let terminations = signal(SignalKind::terminate())?;
        tokio::spawn(heed(self.clone(), interrupts, terminations));
        Ok(())
    }

    /// Waits until every spawned task has ended.
    ///
    /// # Errors
    /// [`StillRunning`] when `deadline` passes first; the tasks go on.
    pub async fn wait(&self, deadline: Duration) -> Result<(), StillRunning> {
        self.tasks.close();
        tokio::time::timeout(deadline, self.tasks.wait())
            .await
            .map_err(|_| StillRunning {
                tasks: self.tasks.len(),
            })
    }
}

async fn heed(shutdown: Shutdown, mut interrupts: Signal, mut terminations: Signal) {
    for count in 1.. {
        tokio::select! {
            _ = interrupts.recv() => {}
            _ = terminations.recv() => {}
        }
        if count > 1 {
            tracing::warn!("second signal: ending at once");
            std::process::exit(EXIT_CODE_FORCED);
        }
        tracing::info!("shutting down; a second signal ends at once");
        shutdown.begin();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn waits_for_its_tasks() {
        let shutdown = Shutdown::new();
        let token = shutdown.token();
        let task = shutdown.spawn(async move { token.cancelled().await });
        let dropped = shutdown.spawn_until_begun(std::future::pending::<()>());
        let running = shutdown.wait(Duration::ZERO).await;
        assert_eq!(running, Err(StillRunning { tasks: 2 }));
        shutdown.begin();
        assert_eq!(shutdown.wait(DEADLINE).await, Ok(()));
        assert!(task.await.is_ok() && dropped.await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_child_ends_with_its_parent_but_not_the_other_way() {
        let parent = Shutdown::new();
        let child = parent.child();
        child.begin();
        assert!(!parent.has_begun());
        let child = parent.child();
        parent.begin();
        tokio::time::timeout(DEADLINE, child.begun()).await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn whoever_sees_a_child_end_can_tell_that_its_parent_did() {
        for _ in 0..2_000 {
            let parent = Shutdown::new();
            let child = parent.child();
            let told = tokio::spawn({
                let parent = parent.clone();
                async move {
                    child.begun().await;
                    parent.has_begun()
                }
            });
            parent.begin();
            assert!(told.await.unwrap());
        }
    }
}
