//! A caller with runs: one after the other, with parts; some are stopped, each is finished.

use std::time::Duration;

use domain::event::{RunFinished, RunStarted};
use domain::{Fact, Label, Lifecycle, RunId, RunOutcome};
use rand::RngExt as _;
use tests::checker::Outcome;
use tests::errors::Failure;
use tests::parts::{end, text};
use tokio::time::{Instant, sleep};
use uuid::Builder;
use wire::event::outcome_to_proto;
use wire::proto::run::v1 as proto;

use super::client::{Client, SETTLE_LIMIT};
use super::content;
use super::reply::is_open;

/// The deadline of one try, longer than the record's 3 s.
const TRY_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest pause between two tries; jittered.
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// Makes runs in a conversation without other writers. A started run is always finished.
pub(crate) async fn make_runs(mut client: Client, conversation: String) {
    while client.may_continue() {
        let run = RunId(Builder::from_random_bytes(client.rng.random()).into_uuid());
        let mut events = content::some_events(&mut client.rng);
        events.push(content::plain(Fact::from(RunStarted {
            run,
            model: Some(Label::parse("model-1").unwrap()),
            provider: None,
        })));
        let asked = content::request_of_events(events);
        if let Outcome::Committed(_) = client.command(&conversation, asked).await {
            carry_out(&mut client, &conversation, run).await;
        }
    }
}

async fn carry_out(client: &mut Client, conversation: &str, run: RunId) {
    let mut parts = Parts { conversation, run, sequence: 0, next: 1 };
    for _ in 0..client.rng.random_range(0..4) {
        let words = (parts.next..).take(client.rng.random_range(1..4)).map(|number| text(number, "word ")).collect();
        parts.publish(client, words).await;
    }
    let mut outcome = RunOutcome::Completed;
    if client.rng.random_bool(0.3) {
        outcome = RunOutcome::Stopped;
        let stop = content::request([Fact::Lifecycle(Lifecycle::RunStopRequested(run))]);
        client.command(conversation, stop).await;
    }
    let last = end(parts.next, outcome_to_proto(outcome));
    parts.publish(client, vec![last]).await;
    let mut events = content::some_events(&mut client.rng);
    let finished = Fact::from(RunFinished { run, outcome });
    events.push(content::plain(finished));
    let asked = content::request_of_events(events);
    client.command(conversation, asked).await;
}

/// The parts of a run without other publishers.
struct Parts<'a> {
    conversation: &'a str,
    run: RunId,
    sequence: u64,
    next: u64,
}

impl Parts<'_> {
    /// Publishes parts until that is settled: they can only succeed, and follow the parts before them.
    async fn publish(&mut self, client: &mut Client, parts: Vec<proto::Part>) {
        self.next += u64::try_from(parts.len()).unwrap();
        let request = proto::AppendPartsRequest {
            agent_id: client.endpoints.agent.clone(),
            conversation_id: self.conversation.to_owned(),
            run_id: self.run.to_string(),
            previous_sequence: self.sequence,
            parts,
        };
        let deadline = Instant::now() + SETTLE_LIMIT;
        loop {
            let mut call = tonic::Request::new(request.clone());
            call.set_timeout(TRY_TIMEOUT);
            let failure: Failure = match client.caller().runs().append_parts(call).await {
                Ok(answer) => {
                    let sequence = answer.into_inner().sequence;
                    assert!(sequence > self.sequence, "parts follow one another");
                    self.sequence = sequence;
                    return;
                }
                Err(status) => status.into(),
            };
            assert!(is_open(&failure), "the parts of a run were refused: {failure:?}");
            assert!(Instant::now() < deadline, "parts are not settled: {failure:?}");
            sleep(PAUSE_MAX.mul_f64(client.rng.random())).await;
        }
    }
}
