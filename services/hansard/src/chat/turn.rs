//! One turn: a message or decisions, and the answer.

use std::pin::pin;
use std::time::Duration;

use anyhow::bail;
use backoff::Backoff;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep, sleep_until};
use uuid::Uuid;

use super::answer::{self, Answer, Call, Outcome, Piece};
use super::gateway::{Gateway, GatewayError};
use super::screen::Screen;
use super::stream::{AnswerStream, Next};

/// The longest time between Ctrl-C and the beginning of an answer that has not begun, and between a stop and the end of its answer.
const STOP_MAX: Duration = Duration::from_secs(10);
/// The waits before a message is sent again, if the connection was lost before its answer began, and how often it is sent again.
const RESEND_WAIT: Duration = Duration::from_millis(200);
const RESEND_WAIT_MAX: Duration = Duration::from_secs(5);
const RESEND_ATTEMPTS: usize = 7;

/// An answer that has ended.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) outcome: Outcome,
    /// Calls that wait for a decision or a result.
    pub(super) waiting: Vec<Call>,
}

impl Reply {
    fn detached() -> Self {
        Self { outcome: Outcome::Detached, waiting: Vec::new() }
    }
}

/// A message.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) conversation: &'a str,
    pub(super) text: &'a str,
    /// The recorded message that this one replaces, with everything after it.
    pub(super) replaces: Option<&'a str>,
}

/// What a turn needs.
#[derive(Debug)]
pub(super) struct Turns {
    pub(super) gateway: Gateway,
    pub(super) screen: Screen,
    /// Ctrl-C.
    interrupts: Signal,
}

impl Turns {
    /// From now on, Ctrl-C does not end the program.
    pub(super) fn new(gateway: Gateway, screen: Screen) -> anyhow::Result<Self> {
        Ok(Self { gateway, screen, interrupts: signal(SignalKind::interrupt())? })
    }

    /// Waits for Ctrl-C.
    pub(super) async fn interrupted(&mut self) {
        self.interrupts.recv().await;
    }

    /// Ignores each Ctrl-C until now, so that it does not stop the next answer.
    pub(super) fn discard_interrupts(&mut self) -> anyhow::Result<()> {
        self.interrupts = signal(SignalKind::interrupt())?;
        Ok(())
    }

    /// Sends a message and writes its answer. The conversation is created with its first message.
    pub(super) async fn send(&mut self, message: Message<'_>) -> anyhow::Result<Reply> {
        let new_id = Uuid::now_v7().to_string();
        let id = message.replaces.unwrap_or(&new_id);
        let part = json!({"type": "text", "text": message.text});
        let mut body = json!({
            "id": message.conversation,
            "messages": [{"id": id, "role": "user", "parts": [part]}],
            "trigger": "submit-message",
        });
        if let (Some(replaced), Value::Object(body)) = (message.replaces, &mut body) {
            body.insert("messageId".to_owned(), json!(replaced));
        }
        let answer = Answer::default();
        self.post("/api/chat", message.conversation, &body, answer).await
    }

    /// Sends a person's decisions about calls, and writes the rest of the answer.
    pub(super) async fn decide(&mut self, conversation: &str, decisions: Vec<(Call, bool)>) -> anyhow::Result<Reply> {
        let approvals = decisions.iter().map(|(call, approved)| json!({"toolCallId": call.id, "approved": approved}));
        let body = json!({"approvals": approvals.collect::<Vec<_>>()});
        let path = format!("/api/chats/{conversation}/messages");
        // Only approved calls return in the stream; refusals are recorded before it.
        let approved = decisions.into_iter().filter(|(_, approved)| *approved);
        let answer = Answer::after(approved.map(|(call, _)| call).collect());
        self.post(&path, conversation, &body, answer).await
    }

    /// Writes the answer of the active run; `None`: no run is active.
    pub(super) async fn follow_active(&mut self, conversation: &str) -> anyhow::Result<Option<Reply>> {
        let path = format!("/api/chats/{conversation}/stream");
        let request = self.gateway.request(Method::GET, &path);
        let response = self.gateway.send(request).await?;
        let Some(stream) = AnswerStream::following(&self.gateway, conversation, response) else {
            return Ok(None);
        };
        let mut turn = Turn::of(&self.gateway, conversation, &mut self.screen);
        turn.follow(stream, &mut self.interrupts).await.map(Some)
    }

    async fn post(&mut self, path: &str, conversation: &str, body: &Value, answer: Answer) -> anyhow::Result<Reply> {
        let key = Uuid::now_v7().to_string();
        let request = || {
            let request = self.gateway.request(Method::POST, path);
            request.header("idempotency-key", &key).json(body)
        };
        let response = open(&self.gateway, request);
        let result = wait_for_response(response, &mut self.interrupts, &self.screen).await?;
        let (response, is_interrupted) = match result {
            OpenResult::Begun(response) => (response, false),
            OpenResult::Interrupted(response) => (response, true),
            OpenResult::Detached => return Ok(Reply::detached()),
        };
        let Some(stream) = AnswerStream::answering(&self.gateway, conversation, response) else {
            bail!("the answer is not that of a gateway: check --url");
        };
        let mut turn = Turn::of(&self.gateway, conversation, &mut self.screen);
        turn.answer = answer;
        if is_interrupted {
            turn.stop().await?;
        }
        turn.follow(stream, &mut self.interrupts).await
    }
}

/// Sends a request, again if the connection is lost: its idempotency key makes it one request.
async fn open(gateway: &Gateway, request: impl Fn() -> RequestBuilder) -> Result<Response, GatewayError> {
    let mut sent = gateway.send(request()).await;
    if !matches!(sent, Err(GatewayError::Lost)) {
        return sent;
    }
    let mut backoff = Backoff::bounded(RESEND_WAIT, RESEND_WAIT_MAX, RESEND_ATTEMPTS);
    while matches!(sent, Err(GatewayError::Lost | GatewayError::NotReachable)) {
        if !backoff.wait().await {
            return sent;
        }
        sent = gateway.send(request()).await;
    }
    sent
}

/// How a request has been answered.
enum OpenResult {
    Begun(Response),
    /// Ctrl-C was pressed before the response.
    Interrupted(Response),
    /// Ctrl-C was pressed again before the response: the request may have started a run.
    Detached,
}

/// Waits for the response, also after Ctrl-C: the run that the request starts can be stopped only when it has begun.
async fn wait_for_response(
    response: impl Future<Output = Result<Response, GatewayError>>,
    interrupts: &mut Signal,
    screen: &Screen,
) -> anyhow::Result<OpenResult> {
    let mut response = pin!(response);
    tokio::select! {
        result = &mut response => return Ok(OpenResult::Begun(result?)),
        _ = interrupts.recv() => {}
    }
    screen.note("(stopping the answer when it begins: press Ctrl-C again not to wait)")?;
    tokio::select! {
        result = response => Ok(OpenResult::Interrupted(result?)),
        _ = interrupts.recv() => Ok(OpenResult::Detached),
        () = sleep(STOP_MAX) => stop_timeout(),
    }
}

/// The failure of an answer that has not stopped in time.
fn stop_timeout<T>() -> anyhow::Result<T> {
    bail!(
        "the answer has not stopped within {} s: it may continue; open the conversation again to see it",
        STOP_MAX.as_secs()
    )
}

/// An answer that is being written.
struct Turn<'a> {
    gateway: &'a Gateway,
    conversation: &'a str,
    screen: &'a mut Screen,
    answer: Answer,
    outcome: Option<Outcome>,
    /// When a stopped answer must have ended; `None`: it was not stopped.
    stop_by: Option<Instant>,
}

impl<'a> Turn<'a> {
    fn of(gateway: &'a Gateway, conversation: &'a str, screen: &'a mut Screen) -> Self {
        Self { gateway, conversation, screen, answer: Answer::default(), outcome: None, stop_by: None }
    }

    async fn follow(&mut self, mut stream: AnswerStream<'_>, interrupts: &mut Signal) -> anyhow::Result<Reply> {
        loop {
            let deadline = self.stop_by.unwrap_or_else(Instant::now);
            let next = tokio::select! {
                next = stream.next() => next?,
                _ = interrupts.recv() => {
                    if self.stop_by.is_some() {
                        return self.ended(Outcome::Stopped);
                    }
                    self.stop().await?;
                    continue;
                }
                () = sleep_until(deadline), if self.stop_by.is_some() => return stop_timeout(),
            };
            match next {
                Next::Chunk(chunk) => self.write(&chunk)?,
                Next::Reconnecting => self.screen.note("(the connection is lost: reconnecting)")?,
                Next::Gone => return self.recorded().await,
                Next::Done => {
                    let outcome = self.outcome.take().unwrap_or(Outcome::Completed);
                    return self.ended(outcome);
                }
            }
        }
    }

    fn write(&mut self, chunk: &Value) -> anyhow::Result<()> {
        match self.answer.push(chunk) {
            Some(Piece::Text(text)) => self.screen.text(&text)?,
            Some(Piece::TextEnded) => self.screen.text_end()?,
            Some(Piece::Called(call)) => self.screen.call(&call)?,
            Some(Piece::Returned(tool, how)) => self.screen.note(&format!("<- {tool} {how}"))?,
            Some(Piece::Ended(outcome)) => self.outcome = Some(outcome),
            None => {}
        }
        Ok(())
    }

    /// Stops the run. The stream then ends with what is kept.
    async fn stop(&mut self) -> anyhow::Result<()> {
        self.stop_by = Some(Instant::now() + STOP_MAX);
        let path = format!("/api/chats/{}/stop", self.conversation);
        self.gateway.post(&path, &json!({})).await?;
        Ok(())
    }

    /// Writes the recorded answer, because its stream is not kept any more.
    async fn recorded(&mut self) -> anyhow::Result<Reply> {
        self.screen.text_end()?;
        self.screen.note("(the stream is not kept any more: this is the recorded answer)")?;
        let chat = self.gateway.get(&format!("/api/chats/{}?limit=1", self.conversation)).await?;
        let messages = chat.get("messages").and_then(Value::as_array);
        let last = messages.and_then(|messages| messages.last());
        let Some(last) = last.filter(|last| last.get("role") == Some(&json!("assistant"))) else {
            bail!("the answer is not recorded yet: open the conversation again");
        };
        self.screen.text(&text_of(last))?;
        let outcome = last.get("metadata").and_then(answer::outcome);
        self.ended(outcome.unwrap_or(Outcome::Completed))
    }

    fn ended(&mut self, outcome: Outcome) -> anyhow::Result<Reply> {
        self.screen.text_end()?;
        let waiting = match outcome {
            Outcome::Completed => self.answer.waiting().to_vec(),
            Outcome::Stopped | Outcome::Detached | Outcome::Failed(_) => Vec::new(),
        };
        Ok(Reply { outcome, waiting })
    }
}

/// The texts of a message.
pub(super) fn text_of(message: &Value) -> String {
    let parts = message.get("parts").and_then(Value::as_array).into_iter().flatten();
    let texts =
        parts.filter(|part| part.get("type") == Some(&json!("text"))).filter_map(|part| part.get("text")?.as_str());
    texts.collect::<Vec<_>>().join("\n\n")
}
