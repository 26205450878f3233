//! Writes the items of a watcher as server-sent events.

use std::borrow::Cow;
use std::time::Duration;

use domain::event::Lifecycle;
use domain::{ConversationKey, Fact, Owner, RecordedEvent, Version};
use history::decode;
use read_model::EventRow;
use runs::sse::KEEP_ALIVE;
use runtime::http::{DrainSignal, HttpProblem};
use serde::Serialize;
use tokio::time::{Instant, sleep, sleep_until};
use wire::status::{Problem, Reason};

use crate::http::body::{EventBody, json_line};
use crate::http::owned_chat::not_found;
use crate::http::rate_limits::CountedStream;
use crate::http::{problem, sse};
use crate::watcher::{Items, WatchEnd, WatchItem};

/// The events of one client.
pub(super) struct Events {
    pub(super) items: Items,
    pub(super) key: ConversationKey,
    /// The owner that the client is, and the version in which they own the conversation.
    pub(super) owner: Option<(Owner, Version)>,
    /// The version of the last event that was sent, or that the client had before.
    pub(super) sent: Version,
    pub(super) heartbeat: Duration,
    pub(super) ends_at: Instant,
    pub(super) draining: DrainSignal,
    pub(super) is_open: bool,
    pub(super) is_over: bool,
    pub(super) _counted: CountedStream,
}

/// Why a stream ends.
struct End {
    code: Cow<'static, str>,
    detail: String,
}

/// The data of the event `end`.
#[derive(Serialize)]
struct EndBody {
    code: Cow<'static, str>,
    detail: String,
    after: u64,
}

impl Events {
    /// The next text; `None`: the stream has ended.
    pub(super) async fn next(&mut self) -> Option<String> {
        if self.is_over {
            return None;
        }
        if !self.is_open {
            self.is_open = true;
            return Some(format!("retry: {}\n\n", sse::RETRY.as_millis()));
        }
        let item = tokio::select! {
            biased;
            () = self.draining.begun() => Some(Err(crate::problem::draining().into())),
            () = sleep_until(self.ends_at) => return Some(self.end(End::too_old())),
            item = self.items.recv() => item,
            () = sleep(self.heartbeat) => return Some(KEEP_ALIVE.to_owned()),
        };
        Some(match item {
            Some(Ok(WatchItem::Event(row))) => {
                let written = self.event(&row);
                written.unwrap_or_else(|end| self.end(end))
            }
            Some(Ok(WatchItem::CaughtUp(version))) => {
                format!("event: caught-up\ndata: {{\"version\":{version}}}\n\n")
            }
            Some(Err(end)) => self.end(end.into()),
            // A watcher says why it ends, unless its task was aborted.
            None => self.end(crate::problem::draining().into()),
        })
    }

    fn event(&mut self, row: &EventRow) -> Result<String, End> {
        let event = decode(&self.key, row)?;
        if self.is_lost_by(&event) {
            return Err(not_found().into());
        }
        let json = json_line(&EventBody::from(&event)).map_err(|_| {
            let what = format!("event {} has a document that is not JSON", event.version);
            crate::problem::of_contradiction(what)
        })?;
        self.sent = event.version;
        Ok(format!("id: {}\ndata: {json}\n\n", event.version))
    }

    /// Whether the event gives the conversation to another owner, after the client's right was checked.
    fn is_lost_by(&self, event: &RecordedEvent) -> bool {
        let Some((owner, checked)) = &self.owner else {
            return false;
        };
        let Fact::Lifecycle(Lifecycle::OwnerChanged(change)) = &event.event.fact else {
            return false;
        };
        event.version > *checked && change.owner != *owner
    }

    fn end(&mut self, end: End) -> String {
        self.is_over = true;
        let body = EndBody {
            code: end.code,
            detail: end.detail,
            after: self.sent.0,
        };
        // Texts and a number are always JSON.
        let json = json_line(&body).unwrap_or_default();
        format!("event: end\ndata: {json}\n\n")
    }
}

impl End {
    fn too_old() -> Self {
        Self {
            code: "STREAM_TOO_OLD".into(),
            detail: "the stream has its maximum age: open it again".to_owned(),
        }
    }
}

impl From<WatchEnd> for End {
    fn from(end: WatchEnd) -> Self {
        match end {
            WatchEnd::Failed(problem) => problem.into(),
            WatchEnd::TooSlow(pause) => Self {
                code: "CLIENT_TOO_SLOW".into(),
                detail: format!("the client received nothing for {pause:?}: open the stream again"),
            },
        }
    }
}

impl From<Problem> for End {
    /// A conversation that was found before, and is not found any more, was erased.
    fn from(problem: Problem) -> Self {
        if problem.reason() == Reason::ConversationNotFound {
            return Self {
                code: Reason::ConversationErased.as_str().into(),
                detail: "the conversation was erased".to_owned(),
            };
        }
        problem::from_problem(problem).into()
    }
}

impl From<HttpProblem> for End {
    fn from(problem: HttpProblem) -> Self {
        Self {
            code: problem.code,
            detail: problem.detail,
        }
    }
}
