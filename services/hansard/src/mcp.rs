//! The relay of `hansard mcp`: one line of standard input is one message, which is posted to the gateway; its answer is one line of
//! standard output.
//!
//! The relay reads of a message only what the headers need. The gateway is stateless, so messages are independent: at most
//! [`REQUESTS_MAX`] are on their way at once, and answers are printed as they arrive. Only subscriptions have a state, which the
//! relay keeps: see [`subscriptions`].

mod gateway;
mod message;
mod notifications;
mod stdin;
mod subscriptions;
mod tasks;

use std::io::Write as _;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};

use crate::bounded_line::Line;
use crate::console;
pub(crate) use gateway::Endpoint;
use gateway::Gateway;
use message::Message;
use subscriptions::{STREAMS_MAX, SubscriptionRequest};
use tasks::{TaskKey, Tasks};

/// Most messages on their way to the gateway, and most messages that wait to be printed.
const REQUESTS_MAX: usize = 16;

/// Relays until standard input ends and every request is answered.
///
/// # Errors
/// The endpoint is misconfigured, or standard output is closed.
pub(crate) async fn relay(endpoint: &Endpoint) -> anyhow::Result<()> {
    let (lines, mut received) = mpsc::channel(REQUESTS_MAX);
    let (host, mut answers) = mpsc::channel(REQUESTS_MAX);
    let mut relay = Relay {
        gateway: Arc::new(Gateway::new(endpoint)?),
        slots: Arc::new(Semaphore::new(REQUESTS_MAX)),
        tasks: Tasks::default(),
        host,
    };
    // Standard input is read by a thread, because such reads cannot be interrupted.
    std::thread::spawn(move || stdin::read(&lines));
    loop {
        tokio::select! {
            line = received.recv(), if relay.slots.available_permits() > 0 => {
                let Some(line) = line else { break };
                if let Some(answer) = relay.take(line) {
                    print(&answer)?;
                }
            }
            Some(answer) = answers.recv() => print(&answer)?,
            Some(()) = relay.tasks.ended() => {}
        }
    }
    relay.tasks.end_streams();
    let Relay { mut tasks, host, .. } = relay;
    drop(host);
    loop {
        tokio::select! {
            answer = answers.recv() => match answer {
                Some(answer) => print(&answer)?,
                None => return Ok(()),
            },
            Some(()) = tasks.ended() => {}
        }
    }
}

/// The state of the relay.
struct Relay {
    gateway: Arc<Gateway>,
    /// A slot for each request on its way.
    slots: Arc<Semaphore>,
    tasks: Tasks,
    /// Messages to the host.
    host: mpsc::Sender<Value>,
}

impl Relay {
    /// Handles a line. Returns the answer if there is one at once.
    fn take(&mut self, line: Line) -> Option<Value> {
        let message = match read(line) {
            Ok(message) => message,
            Err(error) => return Some(error),
        };
        let id = message.id_text();
        if message.is_cancellation() {
            let id = message.cancelled_id();
            self.tasks.end(&TaskKey::Request(id.clone()));
            self.tasks.end(&TaskKey::Stream(id));
            return None;
        }
        if let Some(request) = SubscriptionRequest::of(&message) {
            return self.subscription(request, message);
        }
        if message.is_listen() {
            let relaying = subscriptions::relay;
            return self.stream(TaskKey::Stream(id), message, relaying);
        }
        self.request(id, message);
        None
    }

    /// Posts a message.
    fn request(&mut self, id: String, message: Message) {
        let (gateway, host) = (Arc::clone(&self.gateway), self.host.clone());
        // A line is only read if a slot is free.
        let slot = Arc::clone(&self.slots).try_acquire_owned().ok();
        self.tasks.start(TaskKey::Request(id), async move {
            let mut answer = gateway.send(&message).await;
            if message.is_initialize() {
                answer = answer.map(subscriptions::offered);
            }
            subscriptions::send(&host, answer).await;
            drop(slot);
        });
    }

    /// Changes the subscriptions.
    fn subscription(&mut self, request: SubscriptionRequest, message: Message) -> Option<Value> {
        let Some(uri) = message.name().map(str::to_owned) else {
            return message.invalid("uri is required: the URI of a resource");
        };
        let key = TaskKey::Subscription(uri.clone());
        match request {
            SubscriptionRequest::Subscribe if !self.tasks.has(&key) => {
                let follow = |message, gateway, host| subscriptions::follow(message, uri, gateway, host);
                self.stream(key, message, follow)
            }
            SubscriptionRequest::Subscribe => message.done(),
            SubscriptionRequest::Unsubscribe => {
                self.tasks.end(&key);
                message.done()
            }
        }
    }

    /// Starts the task of a stream, if there are not too many.
    fn stream<F>(
        &mut self,
        key: TaskKey,
        message: Message,
        start: impl FnOnce(Message, Arc<Gateway>, mpsc::Sender<Value>) -> F,
    ) -> Option<Value>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if self.tasks.streams() >= STREAMS_MAX {
            let why = format!("{STREAMS_MAX} subscriptions are open, the maximum: end one first");
            return message.invalid(&why);
        }
        let task = start(message, Arc::clone(&self.gateway), self.host.clone());
        self.tasks.start(key, task);
        None
    }
}

fn read(line: Line) -> Result<Message, Value> {
    match line {
        Line::Whole(bytes) => Message::parse(&bytes),
        Line::TooLong => Err(message::too_long()),
    }
}

/// Prints a message as one line: JSON text has no line breaks of its own.
fn print(message: &Value) -> std::io::Result<()> {
    let mut out = console::out();
    writeln!(out, "{message}")?;
    out.flush()
}
