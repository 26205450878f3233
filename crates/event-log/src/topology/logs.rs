//! The stream of logged calls of model servers: one for all conversations, beside the record.
//!
//! Without it everything works but the log: a server that has no room for it is told of, and nothing ends.

use async_nats::jetstream::stream::Config;
use domain::ConversationKey;
use tokio::time::Instant;

use super::{key, make};
use crate::connection::Connection;
use crate::error::RecordError;

/// The stream.
pub(crate) const STREAM: &str = "HANSARD_LOGS";
/// All that it holds.
pub(super) const SUBJECTS: &str = "hansard_logs.>";

/// The subject of a conversation's logged calls.
pub(crate) fn subject(key: &ConversationKey) -> String {
    format!("hansard_logs.{}.{}", key.tenant, key.conversation)
}

/// The conversation of a subject; `None`: it is no conversation's.
pub(crate) fn key_of(subject: &str) -> Option<ConversationKey> {
    let (tenant, conversation) = subject.strip_prefix("hansard_logs.")?.split_once('.')?;
    key(tenant, conversation)
}

/// Makes the stream, where the server has room for it.
pub(super) async fn create(
    connection: &Connection,
    config: Config,
    deadline: Instant,
) -> Result<(), RecordError> {
    match make(connection, config, deadline).await {
        Err(RecordError::Refused { what, reason }) => {
            tracing::warn!(
                what,
                reason,
                "calls of model servers cannot be logged: the server refused the stream for them"
            );
            Ok(())
        }
        outcome => outcome.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(subject_of: &str, expected: Option<(&str, &str)>) {
        let key = key_of(subject_of);
        let names = key
            .as_ref()
            .map(|key| (key.tenant.as_str(), key.conversation.as_str()));
        assert_eq!(names, expected, "{subject_of}");
        if let Some(key) = key {
            assert_eq!(subject(&key), subject_of);
        }
    }

    #[test]
    fn subjects_name_their_conversations() {
        check("hansard_logs.acme.c:1", Some(("acme", "c:1")));
        check("hansard_logs.acme", None);
        check("hansard_logs.acme.c.d", None);
        check("hansard.acme.c", None);
    }
}
