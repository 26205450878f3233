//! The tasks of the relay: requests on their way, and open streams.

use std::collections::HashMap;
use std::future::Future;

use tokio::task::{AbortHandle, Id, JoinSet};

/// What a task does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum TaskKey {
    /// Waits for the answer to the request with this id.
    Request(String),
    /// Relays the stream of the request with this id.
    Stream(String),
    /// Follows the resource with this URI.
    Subscription(String),
}

/// The tasks, by what they do.
#[derive(Default)]
pub(super) struct Tasks {
    tasks: JoinSet<()>,
    by_key: HashMap<TaskKey, AbortHandle>,
}

impl Tasks {
    pub(super) fn start(&mut self, key: TaskKey, task: impl Future<Output = ()> + Send + 'static) {
        let task = self.tasks.spawn(task);
        self.by_key.insert(key, task);
    }

    pub(super) fn has(&self, key: &TaskKey) -> bool {
        self.by_key.contains_key(key)
    }

    /// The number of open streams.
    pub(super) fn streams(&self) -> usize {
        let is_stream = |key: &&TaskKey| !matches!(key, TaskKey::Request(_));
        self.by_key.keys().filter(is_stream).count()
    }

    /// Ends a task, if it runs.
    pub(super) fn end(&mut self, key: &TaskKey) {
        if let Some(task) = self.by_key.remove(key) {
            task.abort();
        }
    }

    /// Ends all streams.
    pub(super) fn end_streams(&mut self) {
        self.by_key.retain(|key, task| {
            let is_request = matches!(key, TaskKey::Request(_));
            if !is_request {
                task.abort();
            }
            is_request
        });
    }

    /// Waits until a task has ended; `None`: none runs.
    pub(super) async fn ended(&mut self) -> Option<()> {
        let ended: Id = self.tasks.join_next_with_id().await?.map_or_else(|error| error.id(), |(id, ())| id);
        self.by_key.retain(|_, task| task.id() != ended);
        Some(())
    }
}
