//! Commands through a gateway with two writers, one of which is frozen, killed or draining.
//!
//! The gateway prefers one writer, and a test does not know which: so each fault strikes one writer after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use tests::admin;
use tests::agent::Agent;
use tests::checker::Call;
use tests::events::text_of;
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use tokio::task::JoinHandle;
use uuid::Uuid;
use wire::proto::event::v1::Role;
use wire::proto::event::v1::event::Fact;
use wire::proto::read::v1::RecordedEvent;

use crate::fixture::{Fixture, OTHER_TENANT};
use crate::injection::seed;
use crate::workload::{Workload, WorkloadResult, append_on_streams, append_to_busy, create_many};

/// A dead or frozen writer may cost a command at most this time.
const COST_MAX: Duration = Duration::from_secs(2);
/// Acknowledgements during a fault.
const DURING: usize = 40;
/// Acknowledgements after both writers were frozen.
const AFTER_BOTH: usize = 20;
const APPENDERS: usize = 4;
/// The agent of the chats.
const CHAT_AGENT: &str = "failover";

/// The load through the gateway, and the longest acknowledgement while one writer answered.
#[derive(Debug)]
pub(crate) struct Failover {
    pub(crate) tried: WorkloadResult,
    pub(crate) longest: Duration,
}

/// Freezes and kills each writer under load, stops one, then freezes both.
pub(crate) async fn run(fixture: &mut Fixture) -> Failover {
    fixture.use_both_writers().await;
    let chats = Chats::start(fixture).await;
    let load = load_through_gateway(fixture).await;
    let mut faults = Vec::new();
    for writer in 0..2 {
        faults.push(load.journal.now());
        signal(fixture, writer, Signal::STOP);
        load.wait_for_acknowledgements(DURING).await;
        signal(fixture, writer, Signal::CONT);
        wait_for_writers(fixture, 2).await;

        faults.push(load.journal.now());
        fixture.writers()[writer].kill();
        load.wait_for_acknowledgements(DURING).await;
        restart(fixture, writer).await;
    }
    faults.push(load.journal.now());
    fixture.writers()[0].stop().await;
    load.wait_for_acknowledgements(DURING).await;
    restart(fixture, 0).await;
    let longest_chat = chats.finish().await;
    let one_answered_until = load.journal.now();
    freeze_both(fixture, &load).await;
    let tried = load.finish().await;
    let is_judged = |call: &&Call| {
        let was_due = call.settled.min(call.invoked + COST_MAX) <= one_answered_until;
        was_due && call.stream_place.is_none()
    };
    let slowest = tried.calls.iter().filter(is_judged).max_by_key(|call| latency(call)).expect("a command");
    let longest = latency(slowest);
    assert!(longest < COST_MAX, "a command waited for {longest:?}: {slowest:?}; faults: {faults:?}");
    assert!(longest_chat < COST_MAX, "an answer of a chat took {longest_chat:?}");
    Failover { tried, longest: longest.max(longest_chat) }
}

/// The time of a command, which was sent once. Callers of streams open another one, and send again what was not answered.
fn latency(call: &Call) -> Duration {
    assert_eq!(call.tries, 1, "the gateway answered {:?} with an error", call.key);
    call.settled.saturating_sub(call.invoked)
}

async fn load_through_gateway(fixture: &Fixture) -> Workload {
    let mut load = Workload::new(fixture, seed().wrapping_add(1)).through_gateway(fixture);
    let conversations = load.create("through", 3).await;
    for _ in 0..APPENDERS {
        let client = load.client();
        load.spawn(append_to_busy(client, conversations.clone()));
    }
    let (creator, streamer) = (load.client(), load.client());
    load.spawn(create_many(creator, "through-new".to_owned()));
    load.spawn(append_on_streams(streamer, conversations));
    load
}

/// While no writer answers, commands fail. They succeed as soon as one of the writers answers.
async fn freeze_both(fixture: &mut Fixture, load: &Workload) {
    (0..2).for_each(|writer| signal(fixture, writer, Signal::STOP));
    wait_for_writers(fixture, 0).await;
    for writer in 0..2 {
        signal(fixture, writer, Signal::CONT);
        load.wait_for_acknowledgements(AFTER_BOTH).await;
    }
}

fn signal(fixture: &mut Fixture, writer: usize, signal: Signal) {
    fixture.writers()[writer].process().expect("a running process").signal(signal);
}

async fn restart(fixture: &mut Fixture, writer: usize) {
    fixture.writers()[writer].start().await;
    wait_for_writers(fixture, 2).await;
}

/// Waits until the gateway knows that so many writers answer.
async fn wait_for_writers(fixture: &Fixture, up: usize) {
    let addr = fixture.stack.gateway.admin_addr();
    eventually("writers that the gateway knows", || async {
        let page = admin::get(addr, "/metrics").await.ok()?.body;
        let line = format!("hansard_gateway_writers{{state=\"up\"}} {up}");
        page.lines().any(|found| found == line).then_some(())
    })
    .await;
}

/// A frontend that sends message after message to a chat.
struct Chats {
    agent: Agent,
    chat: String,
    stop: Arc<AtomicBool>,
    sender: JoinHandle<(usize, Duration)>,
}

impl Chats {
    async fn start(fixture: &Fixture) -> Self {
        let operator = fixture.stack.operator().await;
        let agent = operator.agent(OTHER_TENANT, CHAT_AGENT).await;
        let key = operator.api_key(CHAT_AGENT).await;
        let frontend = fixture.stack.http_client().with("x-api-key", &key.secret).in_session().await;
        let chat = frontend.post("/api/chats", &json!({})).await.ok(201);
        let chat = chat["id"].as_str().expect("an id").to_owned();
        let stop = Arc::new(AtomicBool::new(false));
        let sender = tokio::spawn(send_messages(frontend, chat.clone(), Arc::clone(&stop)));
        Self { agent, chat, stop, sender }
    }

    /// Checks that the chat has each message once, in order. Returns the longest time to a whole answer.
    async fn finish(self) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        let (sent, longest) = self.sender.await.expect("messages that were answered");
        let recorded = self.agent.events(self.agent.list_request(&self.chat)).await;
        let texts: Vec<String> = recorded.iter().filter(|event| is_of_user(event)).filter_map(text_of).collect();
        assert_eq!(texts, (0..sent).map(message).collect::<Vec<_>>());
        longest
    }
}

fn message(number: usize) -> String {
    format!("message {number}")
}

fn is_of_user(recorded: &RecordedEvent) -> bool {
    let fact = recorded.event.as_ref().and_then(|event| event.fact.as_ref());
    matches!(fact, Some(Fact::MessageAppended(message)) if message.role() == Role::User)
}

/// Sends messages, each after the answer to the one before. Returns their number, and the longest time to an answer.
async fn send_messages(frontend: HttpClient, chat: String, stop: Arc<AtomicBool>) -> (usize, Duration) {
    let path = format!("/api/chats/{chat}/messages");
    let (mut sent, mut longest) = (0, Duration::ZERO);
    while !stop.load(Ordering::Relaxed) {
        let (key, began) = (Uuid::now_v7().to_string(), Instant::now());
        let answer = frontend.with("idempotency-key", &key).post(&path, &json!({"content": message(sent)})).await;
        longest = longest.max(began.elapsed());
        assert!(answer.status == 200 && answer.text().contains("[DONE]"), "message {sent}: {}", answer.text());
        sent += 1;
    }
    (sent, longest)
}
