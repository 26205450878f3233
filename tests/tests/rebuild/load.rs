//! Writers that read their writes with every kind of read, until the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tests::agent::Agent;
use tests::events::{text_of, user};
use tests::eventually::eventually_true;
use tokio::task::JoinHandle;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::list_conversations_request::Filter;

/// Concurrent writers, each with its own conversations.
const WRITERS: usize = 3;
const CONVERSATIONS_EACH: usize = 5;

/// The counts and errors of a load.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) writes: usize,
    pub(crate) reads: usize,
    pub(crate) errors: Vec<String>,
}

pub(crate) struct Load {
    over: Arc<AtomicBool>,
    rounds: Arc<AtomicUsize>,
    writers: Vec<JoinHandle<Outcome>>,
}

impl Load {
    pub(crate) async fn start(agent: &Agent) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let rounds = Arc::new(AtomicUsize::new(0));
        let mut writers = Vec::new();
        for writer in 0..WRITERS {
            for n in 0..CONVERSATIONS_EACH {
                agent.create(&id_of(writer, n)).await;
            }
            let (agent, over, rounds) = (agent.clone(), Arc::clone(&over), Arc::clone(&rounds));
            writers.push(tokio::spawn(async move {
                let mut outcome = Outcome::default();
                let mut round = 0;
                while !over.load(Ordering::Relaxed) {
                    let id = id_of(writer, round % CONVERSATIONS_EACH);
                    write_and_read(&agent, &id, round, &mut outcome).await;
                    round += 1;
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
                outcome
            }));
        }
        Self { over, rounds, writers }
    }

    /// Waits for a number of further rounds.
    pub(crate) async fn run_rounds(&self, rounds: usize) {
        let until = self.rounds.load(Ordering::Relaxed) + rounds;
        eventually_true("the load continues", || self.rounds.load(Ordering::Relaxed) >= until).await;
    }

    pub(crate) async fn finish(self) -> Outcome {
        self.over.store(true, Ordering::Relaxed);
        let mut sum = Outcome::default();
        for writer in self.writers {
            let outcome = writer.await.expect("a writer");
            sum.writes += outcome.writes;
            sum.reads += outcome.reads;
            sum.errors.extend(outcome.errors);
        }
        sum
    }
}

fn id_of(writer: usize, n: usize) -> String {
    format!("load-{writer}-{n}")
}

/// One write, and every kind of read of it; a read without the write is an error.
async fn write_and_read(agent: &Agent, id: &str, round: usize, outcome: &mut Outcome) {
    let text = format!("round {round} of {id}");
    let appended = agent.try_append(agent.append_request(id, vec![user(&text)])).await;
    let result = match appended {
        Ok(result) => result,
        Err(status) => return outcome.errors.push(format!("append: {status}")),
    };
    outcome.writes += 1;
    let token = result.position_token.clone();
    let with_token = |target: proto::ReadTarget| proto::ReadTarget { position_token: token.clone(), ..target };
    let version_of =
        |answer: proto::GetConversationResponse| answer.conversation.map_or(0, |conversation| conversation.version);
    let fresh = agent.try_get(agent.read_target(id)).await.map(version_of);
    outcome.count_read("fresh", fresh.map(|version| version >= result.version));
    let eventual = agent.try_get(with_token(agent.eventual_target(id))).await.map(version_of);
    outcome.count_read("eventual", eventual.map(|version| version >= result.version));
    let target = with_token(agent.read_target(id));
    let context = agent.try_context(target, 5).await;
    outcome.count_read("context", context.map(|answer| format!("{answer:?}").contains(&text)));
    let request = proto::ListEventsRequest { from_version: result.version, ..agent.list_request(id) };
    let events = agent.try_events(request).await;
    let has = |answer: proto::ListEventsResponse| {
        let texts = answer.events.iter().filter_map(text_of);
        texts.into_iter().any(|found| found == text)
    };
    outcome.count_read("events", events.map(has));
    let request = agent.conversations_request(Filter::WholeAgent(proto::WholeAgent {}));
    let listed = agent.try_conversations(request).await;
    outcome.count_read("list", listed.map(|answer| !answer.conversations.is_empty()));
}

impl Outcome {
    fn count_read(&mut self, what: &str, answer: Result<bool, tonic::Status>) {
        self.reads += 1;
        match answer {
            Ok(true) => {}
            Ok(false) => self.errors.push(format!("{what}: stale")),
            Err(status) => self.errors.push(format!("{what}: {status}")),
        }
    }
}
