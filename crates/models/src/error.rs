//! Errors of model servers and of their configuration.

use std::fmt;

/// Model servers cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelsError {
    /// A setting is invalid.
    #[error("{key} {problem}")]
    Configuration {
        /// The setting, such as `local.base_url`.
        key: String,
        /// The broken rule and the remedy.
        problem: String,
    },
    /// The TLS library does not start.
    #[error("the TLS library does not start")]
    Tls,
}

/// Why a reply is missing or incomplete. Neither `Display` nor `Debug` shows contents, keys or URLs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No server has this name.
    #[error("no model server has this name")]
    UnknownServer,
    /// The request is invalid.
    #[error("the request to the model {problem}")]
    Unusable {
        /// The broken rule, with its bound.
        problem: &'static str,
    },
    /// The server cannot be reached, or returned a server error.
    #[error("the model server is unavailable: try again in {retry_after_ms} ms")]
    Unavailable {
        /// When a retry may succeed.
        retry_after_ms: u64,
    },
    /// The server failed too often; its circuit breaker is open.
    #[error("the model server failed too often and is left alone: try again in {retry_after_ms} ms")]
    BreakerOpen {
        /// When the breaker permits a probe.
        retry_after_ms: u64,
    },
    /// The server accepts no more requests (429, 529), or the number of concurrent requests is at its bound.
    #[error("the model server is overloaded: try again in {retry_after_ms} ms")]
    Overloaded {
        /// When a retry may succeed.
        retry_after_ms: u64,
    },
    /// The server rejected the request: the request or the key is invalid.
    #[error("the model server refused the request with status {status}: {error_type}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's name of the error; `http_<status>` if it has none.
        error_type: String,
        /// The server's message. It may contain message content.
        message: ErrorText,
    },
    /// A timeout expired.
    #[error("the model server took too long: {which}")]
    TimedOut {
        /// The step whose timeout expired.
        which: Step,
    },
    /// The reply ended early, or is invalid in its format.
    #[error("the reply broke off or cannot be read")]
    Broken,
    /// The stream of the reply contains an error.
    #[error("the model failed: {error_type}")]
    Failed {
        /// The server's name of the error.
        error_type: String,
        /// The server's message. It may contain message content.
        message: ErrorText,
    },
    /// The reply exceeds a bound.
    #[error("the reply is too large: {bound} may hold {bytes_max} bytes")]
    TooLarge {
        /// The bounded part.
        bound: &'static str,
        /// The bound, in bytes.
        bytes_max: usize,
    },
}

/// A step with a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// The time to the first piece.
    FirstPiece,
    /// The time between received bytes.
    Silence,
    /// The time for the whole reply.
    Total,
}

/// The error message of a server. `Debug` shows only its size.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ErrorText(String);

impl ModelError {
    /// A short, stable name of the error, for an `ErrorOccurred`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownServer => "model_server_unknown",
            Self::Unusable { .. } => "model_request_unusable",
            Self::Unavailable { .. } => "model_unavailable",
            Self::BreakerOpen { .. } => "model_breaker_open",
            Self::Overloaded { .. } => "model_overloaded",
            Self::Refused { .. } => "model_refused",
            Self::TimedOut { .. } => "model_timed_out",
            Self::Broken => "model_reply_broken",
            Self::Failed { .. } => "model_failed",
            Self::TooLarge { .. } => "model_reply_too_large",
        }
    }

    /// When a retry may succeed, in ms; `None` if none can.
    #[must_use]
    pub fn retry_after_ms(&self) -> Option<u64> {
        if let Self::Unavailable { retry_after_ms }
        | Self::BreakerOpen { retry_after_ms }
        | Self::Overloaded { retry_after_ms } = self
        {
            return Some(*retry_after_ms);
        }
        None
    }
}

impl ErrorText {
    /// Maximum bytes of the text.
    pub const BYTES_MAX: usize = 4_096;

    /// Truncates `text` to [`Self::BYTES_MAX`].
    #[must_use]
    pub fn new(text: &str) -> Self {
        let end = text.floor_char_boundary(Self::BYTES_MAX);
        Self(text.get(..end).unwrap_or_default().to_owned())
    }

    /// The text. Write it only to the record.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ErrorText({} bytes)", self.0.len())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FirstPiece => "its first piece",
            Self::Silence => "a sign of life",
            Self::Total => "the reply as a whole",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_texts_are_truncated_and_not_shown() {
        let check = |text: &str, kept: usize| {
            assert_eq!(ErrorText::new(text).expose().len(), kept);
        };
        check("", 0);
        check(&"x".repeat(ErrorText::BYTES_MAX), ErrorText::BYTES_MAX);
        check(&"x".repeat(ErrorText::BYTES_MAX + 1), ErrorText::BYTES_MAX);
        check(&"ü".repeat(ErrorText::BYTES_MAX), ErrorText::BYTES_MAX);
        check(&"€".repeat(ErrorText::BYTES_MAX), ErrorText::BYTES_MAX - 1);
        let failed = ModelError::Failed { error_type: "t".to_owned(), message: ErrorText::new("secret") };
        assert_eq!(failed.to_string(), "the model failed: t");
        assert!(!format!("{failed:?}").contains("secret"));
    }
}
