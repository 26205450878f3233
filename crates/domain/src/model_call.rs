//! The provider log: calls of model servers, for debugging. It is not part of the record.

use std::fmt;
use std::time::Duration;

use crate::bounds::LOGGED_BODY_BYTES_MAX;
use crate::event::Usage;
use crate::{AgentId, Label, LogId, ModelServerId, RunId, Timestamp};

/// The purpose of a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallPurpose {
    /// An answer in a conversation.
    Answer,
    /// A summary of a conversation.
    Summary,
    /// A title of a conversation.
    Title,
}

/// One request to a model server, and its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    /// Its id.
    pub id: LogId,
    /// The run.
    pub run: RunId,
    /// Its purpose.
    pub purpose: CallPurpose,
    /// The number of the attempt, counted from 1.
    pub attempt: u32,
    /// The model server.
    pub server: ModelServerId,
    /// The server's name of the model.
    pub model: Label,
    /// When it was sent.
    pub started_at: Timestamp,
    /// Time to the first piece of the reply, in ms; `None`: there was no reply.
    pub first_piece_ms: Option<u64>,
    /// Time to the end, in ms.
    pub took_ms: u64,
    /// The HTTP status; `None`: there was no response, or the model is built in.
    pub http_status: Option<u16>,
    /// How it ended: `finished`, `dropped`, or a failure's short stable name.
    pub outcome: Label,
    /// Why the model stopped, from the server.
    pub finish_reason: Option<Label>,
    /// The tokens that the server reports.
    pub usage: Option<Usage>,
    /// Bytes of the request's body.
    pub request_bytes: u64,
    /// Bytes of the reply as received.
    pub reply_bytes: u64,
    /// The request's body; `None`: it is not stored.
    pub request: Option<LoggedBody>,
    /// The reply; `None`: it is not stored.
    pub reply: Option<LoggedBody>,
}

/// A body of at most [`LOGGED_BODY_BYTES_MAX`] bytes. `Debug` prints only its size.
#[derive(Clone, PartialEq, Eq)]
pub struct LoggedBody {
    /// Its text.
    pub text: String,
    /// Whether a longer body was cut.
    pub is_cut: bool,
}

/// A call with its agent and its retention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedCall {
    /// The agent.
    pub agent: AgentId,
    /// Its retention in days, 1 to [`LOG_DAYS_MAX`](crate::bounds::LOG_DAYS_MAX).
    pub days: u32,
    /// The call.
    pub call: ModelCall,
}

impl LoggedCall {
    /// Its retention.
    #[must_use]
    pub fn kept_for(&self) -> Duration {
        Duration::from_hours(24).saturating_mul(self.days)
    }
}

impl LoggedBody {
    /// Cuts a text to the bound.
    #[must_use]
    pub fn of(mut text: String) -> Self {
        let end = text.floor_char_boundary(LOGGED_BODY_BYTES_MAX);
        let is_cut = end < text.len();
        text.truncate(end);
        Self { text, is_cut }
    }
}

impl fmt::Debug for LoggedBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoggedBody({} bytes)", self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected_bytes: usize, is_cut: bool) {
        let body = LoggedBody::of(text.to_owned());
        assert_eq!((body.text.len(), body.is_cut), (expected_bytes, is_cut));
        assert!(text.starts_with(&body.text));
    }

    #[test]
    fn bodies_are_cut_at_their_bound_and_say_so() {
        check("", 0, false);
        check("abc", 3, false);
        let full = "x".repeat(LOGGED_BODY_BYTES_MAX);
        check(&full, LOGGED_BODY_BYTES_MAX, false);
        check(&format!("{full}x"), LOGGED_BODY_BYTES_MAX, true);
        let wide = format!("{}é", "x".repeat(LOGGED_BODY_BYTES_MAX - 1));
        check(&wide, LOGGED_BODY_BYTES_MAX - 1, true);
    }

    #[test]
    fn a_body_is_not_shown() {
        let body = LoggedBody::of("secret".to_owned());
        assert_eq!(format!("{body:?}"), "LoggedBody(6 bytes)");
    }
}
