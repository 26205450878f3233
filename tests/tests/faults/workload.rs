//! The workload: many concurrent callers with different tasks, and a journal of all calls.

mod client;
mod content;
mod journal;
mod reply;
mod request;
mod runs;
mod stream;
mod workers;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use domain::{ConversationId, ConversationKey, Partition, TenantId};
use event_log::PARTITIONS_DEFAULT;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tests::checker::{Call, FreshRead};
use tests::eventually::eventually_true;
use tokio::task::JoinSet;
use tokio::time::timeout;

pub(crate) use client::{Client, Endpoints, Fence};
pub(crate) use journal::{Journal, Pending};
pub(crate) use request::Request;
pub(crate) use stream::append_on_streams;
pub(crate) use workers::{ExpectVersion, append_times, append_to_busy, create_many};

use crate::fixture::{Fixture, TENANT};

/// The maximum number of commands of one caller.
const COMMANDS_MAX: usize = 5_000;
/// A conversation with many writers.
pub(crate) const HOT: &str = "hot-0";
/// The timeout for settling the current commands after the stop.
const FINISH_LIMIT: Duration = Duration::from_secs(90);

/// A running workload.
#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) journal: Arc<Journal>,
    endpoints: Endpoints,
    seed: u64,
    callers: JoinSet<()>,
    begun: usize,
    /// The maximum number of callers of a task.
    callers_max: usize,
}

impl Workload {
    /// A workload without callers.
    pub(crate) fn new(fixture: &Fixture, seed: u64) -> Self {
        let journal = Arc::new(Journal::new());
        let endpoints = Endpoints {
            writers: fixture.callers(),
            tenant: TenantId::parse(TENANT).unwrap(),
            agent: crate::fixture::AGENT.to_owned(),
            record: fixture.record_id,
            fence: match fixture.stack.servers.cluster() {
                [_] => Fence::Replica,
                _ => Fence::Acknowledged,
            },
            journal: Arc::clone(&journal),
        };
        Self { journal, endpoints, seed, callers: JoinSet::new(), begun: 0, callers_max: usize::MAX }
    }

    /// The same workload, whose commands go through the gateway.
    pub(crate) fn through_gateway(mut self, fixture: &Fixture) -> Self {
        let caller = fixture.agent.caller();
        self.endpoints.writers = vec![caller.with_writer(&fixture.stack.gateway.grpc_url())];
        self
    }

    /// A new caller without a task.
    pub(crate) fn client(&mut self) -> Client {
        self.begun += 1;
        let seed = self.seed.wrapping_add(u64::try_from(self.begun).unwrap());
        Client::new(self.endpoints.clone(), StdRng::seed_from_u64(seed), COMMANDS_MAX)
    }

    /// Starts a task.
    pub(crate) fn spawn(&mut self, part: impl Future<Output = ()> + Send + 'static) {
        self.callers.spawn(part);
    }

    /// Starts all kinds of tasks: conversations that are busy, raced for, short, erased, changed, with tool calls, with
    /// runs, and with streams.
    pub(crate) async fn start(fixture: &Fixture, seed: u64) -> Self {
        Self::new(fixture, seed).begin(fixture).await
    }

    /// With one caller of each task, whose reads are fenced with the tokens of acknowledged writes.
    pub(crate) fn light_and_fenced(mut self) -> Self {
        self.endpoints.fence = Fence::Acknowledged;
        self.callers_max = 1;
        self
    }

    /// Starts the tasks of [`Workload::start`].
    pub(crate) async fn begin(self, fixture: &Fixture) -> Self {
        let mut load = self;
        let hot = load.create("hot", 3).await;
        let contended = load.create("raced", 2).await;
        let changing = load.create("moody", 2).await;
        let with_tools = load.create("tooled", 1).await;
        let streamed = load.create("streamed", 4).await;
        let with_runs = load.create("run-in", 2).await;
        load.spawn_many(6, |client| append_to_busy(client, hot.clone()));
        for conversation in &contended {
            load.spawn_many(4, |client| workers::append_to_contended(client, conversation.clone()));
        }
        load.spawn_many(2, |client| create_many(client, "cold".to_owned()));
        load.spawn_many(1, |client| create_many(client, "lone".to_owned()));
        for pair in 0..2 {
            let (one, other) = (load.client(), load.client());
            load.spawn(workers::erase_under_load(one, other, format!("erased-{pair}")));
        }
        for conversation in changing {
            load.spawn_many(1, |client| workers::archive_and_restore(client, conversation.clone()));
        }
        for conversation in with_runs {
            load.spawn_many(1, |client| runs::make_runs(client, conversation.clone()));
        }
        for caller in 0..3 {
            let name = format!("call-{caller}");
            load.spawn_many(1, |client| workers::call_tools(client, with_tools[0].clone(), name.clone()));
        }
        let both: Vec<String> = streamed.iter().chain(&hot).cloned().collect();
        load.spawn_many(2, |client| append_on_streams(client, both.clone()));
        load.spawn_many(2, |client| workers::read(client, hot.clone()));
        for name in names_of_one_partition().take(fixture.crowd.callers()) {
            load.spawn_many(1, |client| workers::append_to_own(client, name.clone()));
        }
        load
    }

    fn spawn_many<F>(&mut self, count: usize, part: impl Fn(Client) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        for _ in 0..count.min(self.callers_max) {
            let client = self.client();
            self.spawn(part(client));
        }
    }

    /// Creates conversations.
    pub(crate) async fn create(&mut self, name: &str, count: usize) -> Vec<String> {
        let mut client = self.client();
        let names: Vec<String> = (0..count).map(|number| format!("{name}-{number}")).collect();
        for name in &names {
            client.create(name).await;
        }
        names
    }

    /// Waits for a number of further acknowledgements.
    pub(crate) async fn wait_for_acknowledgements(&self, more: usize) {
        let goal = self.journal.acknowledged() + more;
        let what = format!("{more} more acknowledgements");
        eventually_true(&what, || self.journal.acknowledged() >= goal).await;
    }

    /// Stops the callers, and waits until their commands are settled.
    pub(crate) async fn finish(mut self) -> WorkloadResult {
        self.journal.stop();
        self.wait().await;
        let (calls, seen) = self.journal.take();
        WorkloadResult { calls, seen, seed: self.seed }
    }

    /// Stops all callers at once; commands that are not settled are omitted.
    pub(crate) async fn abandon(mut self) -> WorkloadResult {
        self.callers.shutdown().await;
        let (calls, seen) = self.journal.take();
        WorkloadResult { calls, seen, seed: self.seed }
    }

    /// Waits until every task has ended.
    pub(crate) async fn wait(&mut self) {
        let ended = timeout(FINISH_LIMIT, async {
            while let Some(ended) = self.callers.join_next().await {
                ended.expect("a caller that does not panic");
            }
        });
        ended.await.expect("the end of all callers");
    }
}

/// Names of conversations of the first partition.
fn names_of_one_partition() -> impl Iterator<Item = String> {
    let names = (0..).map(|number| format!("crowd-{number}"));
    names.filter(|name| {
        let tenant = TenantId::parse(TENANT).unwrap();
        let conversation = ConversationId::parse(name.as_str()).unwrap();
        Partition::of(&tenant, &conversation, PARTITIONS_DEFAULT) == Partition(0)
    })
}

/// The result of a workload.
#[derive(Debug)]
pub(crate) struct WorkloadResult {
    pub(crate) calls: Vec<Call>,
    pub(crate) seen: Vec<FreshRead>,
    pub(crate) seed: u64,
}

impl WorkloadResult {
    /// The written conversations that are not erased, by name.
    pub(crate) fn conversations(&self) -> Vec<ConversationKey> {
        let mut keys: Vec<ConversationKey> = self.calls.iter().map(|call| call.conversation.clone()).collect();
        keys.sort();
        keys.dedup();
        keys.retain(|key| !journal::is_erased(key));
        keys
    }
}
