//! A gateway in a runtime of its own, so that a test can kill it: all its tasks end at once.

use std::future::Future;

use conversations::Gateway;
use gateway::GatewayConfig;
use generation::Generations;
use record_access::writer::WriterClient;
use runtime::shutdown::Shutdown;
use tokio::runtime::{Handle, Runtime};

use crate::fake_server::{self, FakeServer, Reply};
use crate::stack::{DEADLINE, Stack};

/// A gateway.
pub(crate) struct Node {
    runtime: Option<Runtime>,
    pub(crate) generations: Generations,
    pub(crate) gateway: Gateway,
    pub(crate) shutdown: Shutdown,
}

impl Node {
    /// A gateway with the stack's configuration.
    pub(crate) async fn start(stack: &Stack) -> Self {
        Self::start_with(stack, |_| ()).await
    }

    /// A gateway with changes to the stack's configuration.
    pub(crate) async fn start_with(stack: &Stack, change: impl FnOnce(&mut GatewayConfig)) -> Self {
        let mut config = stack.config.clone();
        change(&mut config);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let shutdown = Shutdown::new();
        let starting = parts(config, shutdown.clone());
        let (gateway, generations) = runtime.spawn(starting).await.unwrap();
        Self { runtime: Some(runtime), generations, gateway, shutdown }
    }

    /// A gateway with a model server that gives these replies.
    pub(crate) async fn with_replies(stack: &Stack, replies: Vec<Reply>) -> (FakeServer, Self) {
        let server = fake_server::start(replies).await;
        let node = Self::start_with(stack, |config| server.join(config)).await;
        (server, node)
    }

    /// Runs a future in the gateway's own runtime, like its listeners do.
    pub(crate) async fn within<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        self.handle().spawn(work).await.unwrap()
    }

    /// Ends it at once, with all its tasks.
    pub(crate) fn kill(mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    /// Shuts it down with a drain of its runs.
    pub(crate) async fn drain(&self) {
        self.shutdown.begin();
        self.shutdown.wait(DEADLINE).await.unwrap();
    }

    fn handle(&self) -> &Handle {
        self.runtime.as_ref().unwrap().handle()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn parts(config: GatewayConfig, shutdown: Shutdown) -> (Gateway, Generations) {
    let gateway = gateway::run::connect(&config, &shutdown).await.unwrap();
    let writer = WriterClient::at(&config.writer_url, config.writer_token.clone()).unwrap();
    let generations = gateway::run::generations(&config, &gateway, writer, &shutdown).unwrap();
    (gateway, generations)
}
