//! `resources/subscribe` and `resources/unsubscribe` of the revision 2025-11-25, which need a session: the relay is the session.
//!
//! Each subscription follows its resource by a stream of the revision 2026-07-28, and opens the next stream when one ends.

use std::sync::Arc;
use std::time::Duration;

use backoff::Backoff;
use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;

use super::gateway::{Gateway, ListenError};
use super::message::Message;
use super::notifications::Notifications;

/// Most subscriptions and streams of a host.
pub(super) const STREAMS_MAX: usize = 16;
/// The revision with a handshake.
const REVISION: &str = "2025-11-25";
const UPDATED: &str = "notifications/resources/updated";
const LOST: &str = "the gateway has closed the stream before it followed the resource: try again";
/// The waits before a stream is opened again.
const REOPEN_WAIT: Duration = Duration::from_millis(100);
const REOPEN_WAIT_MAX: Duration = Duration::from_secs(30);

/// A request about a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubscriptionRequest {
    Subscribe,
    Unsubscribe,
}

impl SubscriptionRequest {
    /// The request of a message; `None`: it is another one, or of a revision without such requests.
    pub(super) fn of(message: &Message) -> Option<Self> {
        if message.revision().is_some() {
            return None;
        }
        match message.method()? {
            "resources/subscribe" => Some(Self::Subscribe),
            "resources/unsubscribe" => Some(Self::Unsubscribe),
            _ => None,
        }
    }
}

/// The answer to a handshake, which offers subscriptions.
pub(super) fn offered(mut answer: Value) -> Value {
    let is_revision = answer.pointer("/result/protocolVersion") == Some(&json!(REVISION));
    let resources = answer.pointer_mut("/result/capabilities/resources");
    if let (true, Some(Value::Object(resources))) = (is_revision, resources) {
        resources.insert("subscribe".to_owned(), Value::Bool(true));
    }
    answer
}

/// Answers a request to subscribe, and then sends a notification for each change until the gateway refuses the resource.
pub(super) async fn follow(request: Message, uri: String, gateway: Arc<Gateway>, host: Sender<Value>) {
    let listen = Message::listen(&uri);
    let opened = open(&gateway, &listen).await;
    let (answer, mut stream) = match opened {
        Ok(stream) => (request.done(), Some(stream)),
        Err(ListenError::Answered(error)) => (request.failed_as(&error), None),
        Err(ListenError::Failed(why)) => (request.failed(&why), None),
    };
    send(&host, answer).await;
    while let Some(open_stream) = stream {
        notify(open_stream, &host).await;
        stream = reopened(&gateway, &listen).await;
        // The resource may have changed while no stream was open. If the gateway refuses it, the host learns that by its next read.
        send(&host, Some(updated(&uri))).await;
    }
}

/// The next stream; `None`: the gateway refuses the resource, for example because the conversation is erased.
async fn reopened(gateway: &Gateway, listen: &Message) -> Option<Notifications> {
    let mut backoff = Backoff::new(REOPEN_WAIT, REOPEN_WAIT_MAX);
    loop {
        backoff.wait().await;
        match open(gateway, listen).await {
            Ok(stream) => return Some(stream),
            Err(ListenError::Answered(_)) => return None,
            Err(ListenError::Failed(_)) => {}
        }
    }
}

/// A stream whose resource is followed: its first notification has arrived.
async fn open(gateway: &Gateway, listen: &Message) -> Result<Notifications, ListenError> {
    let mut stream = gateway.listen(listen).await?;
    while let Some(message) = stream.next().await {
        if is_update(&message) {
            return Ok(stream);
        }
        if listen.is_answered_by(&message) && message.get("error").is_some() {
            return Err(ListenError::Answered(message));
        }
    }
    Err(ListenError::Failed(LOST.to_owned()))
}

/// Sends a notification for each change until the stream ends.
async fn notify(mut stream: Notifications, host: &Sender<Value>) {
    while let Some(message) = stream.next().await {
        if let Some(uri) = message.pointer("/params/uri").and_then(Value::as_str)
            && is_update(&message)
        {
            send(host, Some(updated(uri))).await;
        }
    }
}

/// Relays the stream of a host that requests it itself. Its last message is the answer.
pub(super) async fn relay(request: Message, gateway: Arc<Gateway>, host: Sender<Value>) {
    let mut stream = match gateway.listen(&request).await {
        Ok(stream) => stream,
        Err(ListenError::Answered(answer)) => return send(&host, Some(answer)).await,
        Err(ListenError::Failed(why)) => return send(&host, request.failed(&why)).await,
    };
    while let Some(message) = stream.next().await {
        let is_last = request.is_answered_by(&message);
        send(&host, Some(message)).await;
        if is_last {
            return;
        }
    }
    send(&host, request.failed("the gateway has closed the stream: listen again")).await;
}

/// Sends a message to the host. Nobody receives it if the relay ends.
pub(super) async fn send(host: &Sender<Value>, message: Option<Value>) {
    if let Some(message) = message {
        let _ = host.send(message).await;
    }
}

fn is_update(message: &Value) -> bool {
    message.get("method").and_then(Value::as_str) == Some(UPDATED)
}

fn updated(uri: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": uri}})
}
