//! Graceful shutdown: a signal starts it, tasks see it, and the process waits for them with a deadline.

use std::future::Future;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The exit code after a second signal, as shells use it for an interrupted program.
pub const EXIT_CODE_FORCED: i32 = 130;

/// Tasks were still running at the deadline of the shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{tasks} tasks are still running at the deadline of the shutdown")]
pub struct ShutdownTimeout {
    /// Number of tasks that have not ended.
    pub tasks: usize,
}

/// Signals the tasks of a process to end, and waits for them; clones share the state.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    token: CancellationToken,
    tasks: TaskTracker,
    /// The tasks that end after all of `tasks`.
    last_tasks: TaskTracker,
}

impl Shutdown {
    /// A shutdown that has not begun.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that is cancelled when the shutdown begins.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// A shutdown with its own tasks. It begins with this one, or earlier.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { token: self.token.child_token(), ..Self::default() }
    }

    /// Begins the shutdown; later calls have no effect.
    pub fn begin(&self) {
        self.token.cancel();
    }

    /// Whether the shutdown has begun. A parent reports `true` before its children do.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Waits until the shutdown begins.
    pub async fn begun(&self) {
        self.token.cancelled().await;
    }

    /// Spawns a task that must end after the token is cancelled; [`Self::wait`] waits for it.
    pub fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.tasks.spawn(task)
    }

    /// Spawns a task that is cancelled when the shutdown begins.
    pub fn spawn_cancellable<F>(&self, task: F) -> JoinHandle<Option<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.tasks.spawn(self.token().run_until_cancelled_owned(task))
    }

    /// Spawns a task that ends last: its token is cancelled when the shutdown has begun and all tasks of [`Self::spawn`] and
    /// [`Self::spawn_cancellable`] have ended. [`Self::wait`] waits for it.
    pub fn spawn_last<F>(&self, task: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let end = CancellationToken::new();
        self.last_tasks.spawn(task(end.clone()));
        let (begun, tasks) = (self.token(), self.tasks.clone());
        self.last_tasks.spawn(async move {
            begun.cancelled().await;
            tasks.close();
            tasks.wait().await;
            end.cancel();
        });
    }

    /// Begins the shutdown on SIGINT or SIGTERM. A second signal ends the process at once with
    /// [`EXIT_CODE_FORCED`]. Needs a tokio runtime.
    ///
    /// # Errors
    /// A signal handler cannot be installed.
    pub fn listen_for_signals(&self) -> std::io::Result<()> {
        let interrupts = signal(SignalKind::interrupt())?;
        let terminations = signal(SignalKind::terminate())?;
        tokio::spawn(handle_signals(self.clone(), interrupts, terminations));
        Ok(())
    }

    /// Waits until every spawned task has ended.
    ///
    /// # Errors
    /// [`ShutdownTimeout`] when `deadline` passes first; the tasks continue.
    pub async fn wait(&self, deadline: Duration) -> Result<(), ShutdownTimeout> {
        self.tasks.close();
        self.last_tasks.close();
        let ended = async {
            self.tasks.wait().await;
            self.last_tasks.wait().await;
        };
        tokio::time::timeout(deadline, ended).await.map_err(|_| ShutdownTimeout { tasks: self.tasks.len() })
    }
}

async fn handle_signals(shutdown: Shutdown, mut interrupts: Signal, mut terminations: Signal) {
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
        let dropped = shutdown.spawn_cancellable(std::future::pending::<()>());
        let running = shutdown.wait(Duration::ZERO).await;
        assert_eq!(running, Err(ShutdownTimeout { tasks: 2 }));
        shutdown.begin();
        assert_eq!(shutdown.wait(DEADLINE).await, Ok(()));
        assert!(task.await.is_ok() && dropped.await.unwrap().is_none());
    }

    /// The paused clock advances when all tasks are idle.
    #[tokio::test(start_paused = true)]
    async fn the_last_task_ends_after_all_others() {
        let shutdown = Shutdown::new();
        let (release, released) = tokio::sync::oneshot::channel::<()>();
        let other = shutdown.spawn(released);
        let (ended, mut has_ended) = tokio::sync::oneshot::channel();
        shutdown.spawn_last(async move |end| {
            end.cancelled().await;
            ended.send(()).unwrap();
        });
        shutdown.begin();
        assert_eq!(shutdown.wait(DEADLINE).await, Err(ShutdownTimeout { tasks: 1 }));
        assert!(has_ended.try_recv().is_err(), "it ended before another task");
        release.send(()).unwrap();
        assert_eq!(shutdown.wait(DEADLINE).await, Ok(()));
        assert!(other.await.is_ok() && has_ended.try_recv().is_ok());
    }

    #[tokio::test]
    async fn a_child_ends_with_its_parent_but_a_parent_not_with_its_child() {
        let parent = Shutdown::new();
        let child = parent.child();
        child.begin();
        assert!(!parent.has_begun());
        let child = parent.child();
        parent.begin();
        tokio::time::timeout(DEADLINE, child.begun()).await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_parent_has_begun_before_its_child() {
        for _ in 0..2_000 {
            let parent = Shutdown::new();
            let child = parent.child();
            let seen = tokio::spawn({
                let parent = parent.clone();
                async move {
                    child.begun().await;
                    parent.has_begun()
                }
            });
            parent.begin();
            assert!(seen.await.unwrap());
        }
    }
}
