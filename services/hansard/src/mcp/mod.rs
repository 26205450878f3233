//! The relay of `hansard mcp`: one line of standard input is one message, which is posted to the gateway; its answer is one line of
//! standard output.
//!
//! The relay reads of a message only what the headers need. The gateway is stateless, so messages are independent: at most
//! [`REQUESTS_MAX`] are on their way at once, and answers are printed as they arrive.

mod gateway;
mod message;
mod stdin;

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use crate::console;
pub(crate) use gateway::Endpoint;
use gateway::Gateway;
use message::Message;
use stdin::Line;

/// Most messages on their way to the gateway.
const REQUESTS_MAX: usize = 16;

/// Relays until standard input ends and every request is answered.
///
/// # Errors
/// The endpoint is misconfigured, or standard output is closed.
pub(crate) async fn relay(endpoint: &Endpoint) -> anyhow::Result<()> {
    let gateway = Arc::new(Gateway::new(endpoint)?);
    let slots = Arc::new(Semaphore::new(REQUESTS_MAX));
    let (lines, mut received) = mpsc::channel(REQUESTS_MAX);
    // Standard input is read by a thread, because such reads cannot be interrupted.
    std::thread::spawn(move || stdin::read(&lines));
    let mut requests = Requests::default();
    loop {
        tokio::select! {
            line = received.recv() => {
                let Some(line) = line else { break };
                match read(line) {
                    Ok(message) if message.is_cancellation() => requests.cancel(&message),
                    Ok(message) => {
                        let slot = Arc::clone(&slots).acquire_owned().await?;
                        let gateway = Arc::clone(&gateway);
                        requests.start(message, slot, gateway);
                    }
                    Err(error) => print(&error)?,
                }
            }
            Some(answer) = requests.next() => print_answer(answer)?,
        }
    }
    while let Some(answer) = requests.next().await {
        print_answer(answer)?;
    }
    Ok(())
}

/// The requests on their way, by their id.
#[derive(Default)]
struct Requests {
    tasks: JoinSet<(String, Option<Value>)>,
    by_id: HashMap<String, AbortHandle>,
}

impl Requests {
    fn start(
        &mut self,
        message: Message,
        slot: tokio::sync::OwnedSemaphorePermit,
        gateway: Arc<Gateway>,
    ) {
        let id = message.id_text();
        let task = self.tasks.spawn({
            let id = id.clone();
            async move {
                let answer = gateway.send(&message).await;
                drop(slot);
                (id, answer)
            }
        });
        self.by_id.insert(id, task);
    }

    /// Stops waiting for the answer of a request.
    fn cancel(&mut self, cancellation: &Message) {
        if let Some(task) = self.by_id.remove(&cancellation.cancelled_id()) {
            task.abort();
        }
    }

    /// The next answer; `None`: no request is on its way. The answer to a notification is `None`.
    async fn next(&mut self) -> Option<Option<Value>> {
        match self.tasks.join_next().await? {
            Ok((id, answer)) => {
                self.by_id.remove(&id);
                Some(answer)
            }
            // The request was cancelled.
            Err(_) => Some(None),
        }
    }
}

fn read(line: Line) -> Result<Message, Value> {
    match line {
        Line::Whole(bytes) => Message::parse(&bytes),
        Line::TooLong => Err(message::too_long()),
    }
}

fn print_answer(answer: Option<Value>) -> std::io::Result<()> {
    answer.map_or(Ok(()), |answer| print(&answer))
}

/// Prints a message as one line: JSON text has no line breaks of its own.
fn print(message: &Value) -> std::io::Result<()> {
    let mut out = console::out();
    writeln!(out, "{message}")?;
    out.flush()
}
