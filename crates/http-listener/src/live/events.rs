//! Writes the events of a conversation as server-sent events.

use std::borrow::Cow;
use std::time::Duration;

use domain::Version;
use runs::sse::KEEP_ALIVE;
use runtime::http::DrainSignal;
use serde::Serialize;
use tokio::time::{Instant, sleep, sleep_until};

use super::followed::{End, Followed, FollowedItem};
use crate::sse;
use api_json::fact::EventBody;
use api_json::json_line::json_line;

/// The events of one client.
pub(super) struct Events {
    pub(super) followed: Followed,
    /// The version of the last event that was sent, or that the client had before.
    pub(super) sent: Version,
    pub(super) heartbeat: Duration,
    pub(super) ends_at: Instant,
    pub(super) draining: DrainSignal,
    pub(super) is_open: bool,
    pub(super) is_over: bool,
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
            () = self.draining.begun() => Err(conversations::problem::draining().into()),
            () = sleep_until(self.ends_at) => return Some(self.end(End::too_old())),
            item = self.followed.next() => item,
            () = sleep(self.heartbeat) => return Some(KEEP_ALIVE.to_owned()),
        };
        Some(match item.and_then(|item| self.text(&item)) {
            Ok(text) => text,
            Err(end) => self.end(end),
        })
    }

    fn text(&mut self, item: &FollowedItem) -> Result<String, End> {
        let event = match item {
            FollowedItem::Event(event) => event,
            FollowedItem::CaughtUp(version) => {
                return Ok(format!("event: caught-up\ndata: {{\"version\":{version}}}\n\n"));
            }
        };
        let json = json_line(&EventBody::from(&**event)).map_err(|_| {
            let what = format!("event {} has a document that is not JSON", event.version);
            conversations::problem::of_contradiction(what)
        })?;
        self.sent = event.version;
        Ok(format!("id: {}\ndata: {json}\n\n", event.version))
    }

    fn end(&mut self, end: End) -> String {
        self.is_over = true;
        let body = EndBody { code: end.code, detail: end.detail, after: self.sent.0 };
        // Texts and a number are always JSON.
        let json = json_line(&body).unwrap_or_default();
        format!("event: end\ndata: {json}\n\n")
    }
}
