//! What can go wrong between us and a model server.

use std::fmt;

/// Model servers that cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelsError {
    /// A setting is wrong.
    #[error("{key} {problem}")]
    Configuration {
        /// The setting, such as `local.base_url`.
        key: String,
        /// The rule that it breaks, with its mend.
        problem: String,
    },
    /// The TLS library does not start.
    #[error("the TLS library does not start")]
    Tls,
}

/// Why there is no reply, or no more of it. Neither `Display` nor `Debug` shows contents, keys or URLs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No server has this name.
    #[error("no model server has this name")]
    UnknownServer,
    /// The request cannot be sent as it is.
    #[error("the request to the model {problem}")]
    Unusable {
        /// The rule that it breaks, with its bound.
        problem: &'static str,
    },
    /// The server cannot be reached, or says that it fails.
    #[error("the model server is unavailable: try again in {retry_after_ms} ms")]
    Unavailable {
        /// When another try may help.
        retry_after_ms: u64,
    },
    /// The server failed too often, and is left alone for a while.
    #[error(
        "the model server failed too often and is left alone: try again in {retry_after_ms} ms"
    )]
    BreakerOpen {
        /// When it is tried again.
        retry_after_ms: u64,
    },
    /// The server takes no more requests (429, 529), or as many as are allowed at once are on their way.
    #[error("the model server is overloaded: try again in {retry_after_ms} ms")]
    Overloaded {
        /// When another try may help.
        retry_after_ms: u64,
    },
    /// The server refuses the request: it is wrong, or the key is.
    #[error("the model server refused the request with status {status}: {error_type}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's name of the failure; `http_<status>` where it gives none.
        error_type: String,
        /// What the server says of it: may hold contents.
        message: ErrorText,
    },
    /// It took too long.
    #[error("the model server took too long: {which}")]
    TimedOut {
        /// What took too long.
        which: Step,
    },
    /// The reply ended early, or is not of its format.
    #[error("the reply broke off or cannot be read")]
    Broken,
    /// The server tells of a failure in place of the reply, or of its end.
    #[error("the model failed: {error_type}")]
    Failed {
        /// The server's name of the failure.
        error_type: String,
        /// What the server says of it: may hold contents.
        message: ErrorText,
    },
    /// The reply is larger than its bounds.
    #[error("the reply is too large: {bound} may hold {bytes_max} bytes")]
    TooLarge {
        /// What is bounded.
        bound: &'static str,
        /// The bound, in bytes.
        bytes_max: usize,
    },
}

/// What may take too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Until the first piece.
    FirstPiece,
    /// From one sign of life to the next.
    Silence,
    /// The reply as a whole.
    Total,
}

/// What a server says of its failure. `Debug` shows its size alone.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ErrorText(String);

impl ModelError {
    /// The failure's short, stable name, for an `ErrorOccurred`.
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

    /// When another try may help, in ms; none where none would.
    #[must_use]
    pub fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::Unavailable { retry_after_ms }
            | Self::BreakerOpen { retry_after_ms }
            | Self::Overloaded { retry_after_ms } => Some(*retry_after_ms),
            Self::UnknownServer
            | Self::Unusable { .. }
            | Self::Refused { .. }
            | Self::TimedOut { .. }
            | Self::Broken
            | Self::Failed { .. }
            | Self::TooLarge { .. } => None,
        }
    }
}

impl ErrorText {
    /// Most bytes that are kept.
    pub const BYTES_MAX: usize = 4_096;

    /// Keeps the beginning of `text`: at most [`Self::BYTES_MAX`].
    #[must_use]
    pub fn new(text: &str) -> Self {
        let end = text.floor_char_boundary(Self::BYTES_MAX);
        Self(text.get(..end).unwrap_or_default().to_owned())
    }

    /// The text, for the record alone.
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
    fn what_a_server_says_is_kept_in_part_and_not_shown() {
        let check = |text: &str, kept: usize| {
            assert_eq!(ErrorText::new(text).expose().len(), kept);
        };
        check("", 0);
        check(&"x".repeat(ErrorText::BYTES_MAX), ErrorText::BYTES_MAX);
        check(&"x".repeat(ErrorText::BYTES_MAX + 1), ErrorText::BYTES_MAX);
        check(&"ü".repeat(ErrorText::BYTES_MAX), ErrorText::BYTES_MAX);
        check(&"€".repeat(ErrorText::BYTES_MAX), ErrorText::BYTES_MAX - 1);
        let failed = ModelError::Failed {
            error_type: "t".to_owned(),
            message: ErrorText::new("secret"),
        };
        assert_eq!(failed.to_string(), "the model failed: t");
        assert!(!format!("{failed:?}").contains("secret"));
    }
}
