//! A caller with many concurrent commands on one stream, to several conversations.

use std::collections::HashMap;
use std::time::Duration;

use tests::checker::{Expectation, StreamPlace};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use wire::proto::write::v1::append_stream_response::Outcome as StreamOutcome;
use wire::proto::write::v1::{AppendStreamRequest, AppendStreamResponse, CommitResult};

use super::client::Client;
use super::content;
use super::journal::Pending;
use super::reply::{Reply, reply};
use super::request::Request;

/// Concurrent commands on a stream.
const WINDOW: usize = 16;
/// The timeout of the next answer; after it the stream counts as broken.
const ANSWER_LIMIT: Duration = Duration::from_secs(8);

/// Appends to existing `conversations` until the end.
pub(crate) async fn append_on_streams(mut client: Client, conversations: Vec<String>) {
    while client.may_continue() {
        let stream = Stream {
            number: client.endpoints.journal.next_stream(),
            sent: 0,
            under_way: HashMap::new(),
            open: Vec::new(),
        };
        let open = stream.run(&mut client, &conversations).await;
        for pending in open {
            client.settle(pending).await;
        }
    }
}

/// One stream, and its commands.
struct Stream {
    number: u64,
    sent: u64,
    under_way: HashMap<u64, Pending>,
    open: Vec<Pending>,
}

impl Stream {
    /// Sends until the end or a failure; returns the commands that are not settled.
    async fn run(mut self, client: &mut Client, conversations: &[String]) -> Vec<Pending> {
        let (requests, outgoing) = mpsc::channel(WINDOW);
        self.fill(client, conversations, &requests).await;
        let opened = client.caller().write().append_stream(ReceiverStream::new(outgoing)).await;
        if let Ok(answers) = opened {
            let mut answers = answers.into_inner();
            while !self.under_way.is_empty() {
                let Ok(Ok(Some(answer))) = timeout(ANSWER_LIMIT, answers.message()).await else {
                    break;
                };
                self.take(client, answer);
                if self.open.is_empty() {
                    self.fill(client, conversations, &requests).await;
                }
            }
        }
        if !self.under_way.is_empty() {
            client.endpoints.journal.note_unanswered();
        }
        self.open.extend(self.under_way.into_values());
        self.open
    }

    async fn fill(
        &mut self,
        client: &mut Client,
        conversations: &[String],
        requests: &mpsc::Sender<AppendStreamRequest>,
    ) {
        while self.under_way.len() < WINDOW && client.may_continue() {
            client.endpoints.journal.turn().await;
            self.sent += 1;
            let asked = Expectation { events: content::some_events(&mut client.rng), expected: None };
            let conversation = &conversations[usize::try_from(self.sent).unwrap() % conversations.len()];
            let place = StreamPlace { stream: self.number, place: self.sent };
            let mut pending = client.pending(conversation, asked, Some(place));
            pending.tries = 1;
            let command = Request::of(&pending, &client.endpoints.agent).command();
            self.under_way.insert(self.sent, pending);
            let request = AppendStreamRequest { correlation_id: self.sent, command };
            if requests.send(request).await.is_err() {
                return;
            }
        }
    }

    fn take(&mut self, client: &Client, answer: AppendStreamResponse) {
        let pending = self.under_way.remove(&answer.correlation_id).expect("an answer to a command");
        let result: Result<CommitResult, _> = match answer.outcome.expect("an outcome") {
            StreamOutcome::Result(result) => Ok(result),
            StreamOutcome::Error(error) => Err(error.into()),
        };
        match reply(pending.key, result, client.endpoints.record) {
            Reply::Settled(outcome) => client.endpoints.journal.settle(pending, outcome),
            Reply::Open => {
                client.endpoints.journal.note_unanswered();
                self.open.push(pending);
            }
        }
    }
}
