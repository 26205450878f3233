//! The load: many callers at once, each with a part of its own, all of what they try written down.

mod client;
mod content;
mod journal;
mod lane;
mod parts;
mod reply;
mod request;
mod runs;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use domain::{ConversationKey, TenantId};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tests::checker::{Call, Seen};
use tests::eventually::eventually_true;
use tokio::task::JoinSet;
use tokio::time::timeout;

pub(crate) use client::{Client, Doors, Fence};
pub(crate) use journal::{Journal, Pending};
pub(crate) use parts::{Exact, racing_for};
pub(crate) use request::Request;

use crate::ground::Ground;

/// Most commands that one caller begins.
const COMMANDS_MAX: usize = 5_000;
/// A conversation that is there, and that many write to.
pub(crate) const HOT: &str = "hot-0";
/// How long the callers may take to settle what they have sent, once told to stop.
const FINISH_LIMIT: Duration = Duration::from_secs(90);

/// A load under way.
#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) journal: Arc<Journal>,
    doors: Doors,
    seed: u64,
    callers: JoinSet<()>,
    begun: usize,
}

impl Workload {
    /// Nobody calls yet.
    pub(crate) fn new(ground: &Ground, seed: u64) -> Self {
        let journal = Arc::new(Journal::new());
        let doors = Doors {
            writers: ground.callers(),
            tenant: TenantId::parse(crate::ground::TENANT).unwrap(),
            agent: crate::ground::AGENT.to_owned(),
            record: ground.record_id,
            fence: match ground.stack.servers.cluster() {
                [_] => Fence::Replica,
                _ => Fence::Acknowledged,
            },
            journal: Arc::clone(&journal),
        };
        Self {
            journal,
            doors,
            seed,
            callers: JoinSet::new(),
            begun: 0,
        }
    }

    /// One more caller, which plays no part yet.
    pub(crate) fn client(&mut self) -> Client {
        self.begun += 1;
        let seed = self.seed.wrapping_add(u64::try_from(self.begun).unwrap());
        Client::new(
            self.doors.clone(),
            StdRng::seed_from_u64(seed),
            COMMANDS_MAX,
        )
    }

    /// Has a part played.
    pub(crate) fn play(&mut self, part: impl Future<Output = ()> + Send + 'static) {
        self.callers.spawn(part);
    }

    /// Everybody calls: conversations that are hot, raced for, cold, erased, changed, full of calls, run in, and
    /// streamed to.
    pub(crate) async fn start(ground: &Ground, seed: u64) -> Self {
        let mut load = Self::new(ground, seed);
        let hot = load.created("hot", 3).await;
        let raced = load.created("raced", 2).await;
        let moody = load.created("moody", 2).await;
        let tooled = load.created("tooled", 1).await;
        let streamed = load.created("streamed", 4).await;
        let run_in = load.created("run-in", 2).await;
        load.play_many(6, |client| parts::hot(client, hot.clone()));
        for conversation in &raced {
            load.play_many(4, |client| parts::racing(client, conversation.clone()));
        }
        load.play_many(2, |client| parts::cold(client, "cold".to_owned()));
        load.play_many(1, |client| parts::cold(client, "lone".to_owned()));
        for pair in 0..2 {
            let (one, other) = (load.client(), load.client());
            load.play(parts::erased(one, other, format!("erased-{pair}")));
        }
        for conversation in moody {
            load.play_many(1, |client| parts::moody(client, conversation.clone()));
        }
        for conversation in run_in {
            load.play_many(1, |client| runs::runs(client, conversation.clone()));
        }
        for caller in 0..3 {
            let name = format!("call-{caller}");
            load.play_many(1, |client| {
                parts::tooled(client, tooled[0].clone(), name.clone())
            });
        }
        let both: Vec<String> = streamed.iter().chain(&hot).cloned().collect();
        load.play_many(2, |client| lane::lane(client, both.clone()));
        load.play_many(2, |client| parts::reading(client, hot.clone()));
        load
    }

    fn play_many<F>(&mut self, count: usize, part: impl Fn(Client) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        for _ in 0..count {
            let client = self.client();
            self.play(part(client));
        }
    }

    /// New conversations.
    pub(crate) async fn created(&mut self, name: &str, count: usize) -> Vec<String> {
        let mut client = self.client();
        let names: Vec<String> = (0..count)
            .map(|number| format!("{name}-{number}"))
            .collect();
        for name in &names {
            client.create(name).await;
        }
        names
    }

    /// Waits until so many more commands have been acknowledged.
    pub(crate) async fn acknowledged(&self, more: usize) {
        let goal = self.journal.acknowledged() + more;
        let what = format!("{more} more acknowledgements");
        eventually_true(&what, || self.journal.acknowledged() >= goal).await;
    }

    /// Waits until what is under way is settled, and nothing more is begun.
    pub(crate) async fn finish(mut self) -> Tried {
        self.journal.stop();
        self.ended().await;
        let (calls, seen) = self.journal.take();
        Tried {
            calls,
            seen,
            seed: self.seed,
        }
    }

    /// Ends everybody at once; what is not settled by then is not told.
    pub(crate) async fn abandon(mut self) -> Tried {
        self.callers.shutdown().await;
        let (calls, seen) = self.journal.take();
        Tried {
            calls,
            seen,
            seed: self.seed,
        }
    }

    /// Waits until every part has come to its own end.
    pub(crate) async fn ended(&mut self) {
        let ended = timeout(FINISH_LIMIT, async {
            while let Some(ended) = self.callers.join_next().await {
                ended.expect("a caller that does not panic");
            }
        });
        ended.await.expect("the end of all callers");
    }
}

/// What a load came to.
#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) calls: Vec<Call>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) seed: u64,
}

impl Tried {
    /// The conversations that were written to and are not erased, by name.
    pub(crate) fn conversations(&self) -> Vec<ConversationKey> {
        let mut keys: Vec<ConversationKey> = self
            .calls
            .iter()
            .map(|call| call.conversation.clone())
            .collect();
        keys.sort();
        keys.dedup();
        keys.retain(|key| !key.conversation.as_str().starts_with("erased"));
        keys
    }
}
