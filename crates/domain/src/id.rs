//! The ids and names of the domain. Each is a type of its own; invalid values cannot be constructed.

use std::fmt;

use uuid::Uuid;

use crate::bounds::{CHANNEL_ID_CHARS, CONVERSATION_ID_CHARS_MAX, LABEL_BYTES_MAX, SCOPE_ID_CHARS_MAX};
use crate::printable::is_printable;
use crate::violation::{Violation, ViolationReason, check_length, check_text};

/// Defines text newtypes with checking constructors.
macro_rules! text_newtypes {
    ($($(#[$doc:meta])* $name:ident: $check:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(Box<str>);

        impl $name {
            /// Checks the text and constructs the value.
            ///
            /// # Errors
            /// A [`Violation`] with the rule and the bound; its field is empty.
            pub fn parse(text: impl Into<String>) -> Result<Self, Violation> {
                let text: String = text.into();
                $check(&text)?;
                Ok(Self(text.into_boxed_str()))
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}

/// Defines UUID newtypes.
macro_rules! uuid_newtypes {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub Uuid);

        impl $name {
            /// Parses a UUID in any of its usual forms.
            ///
            /// # Errors
            /// [`ViolationReason::Malformed`]; the field is empty.
            pub fn parse(text: &str) -> Result<Self, Violation> {
                Uuid::try_parse(text).map(Self).map_err(|_| {
                    Violation::new(ViolationReason::Malformed, "is not a UUID: give 8-4-4-4-12 hexadecimal digits")
                })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

text_newtypes! {
    /// The owner of agents and data. 1 to 64 of `A-Z a-z 0-9 _ -`.
    TenantId: |text: &str| check_token(text, SCOPE_ID_CHARS_MAX, "_-");
    /// An assistant that a tenant configures; unique in the record, so it determines the tenant. 1 to 64 of `A-Z a-z 0-9 _ -`.
    AgentId: |text: &str| check_token(text, SCOPE_ID_CHARS_MAX, "_-");
    /// A key that verifies the tokens of a tenant, unique in the tenant. 1 to 64 of `A-Z a-z 0-9 _ -`.
    SigningKeyId: |text: &str| check_token(text, SCOPE_ID_CHARS_MAX, "_-");
    /// The name of a model server in the gateway's configuration. 1 to 64 of `A-Z a-z 0-9 _ -`.
    ModelServerId: |text: &str| check_token(text, SCOPE_ID_CHARS_MAX, "_-");
    /// A conversation, unique in its tenant. 1 to 128 of `A-Z a-z 0-9 _ - :`.
    ConversationId: |text: &str| check_token(text, CONVERSATION_ID_CHARS_MAX, "_-:");
    /// The tenant's id of a verified user. 1 to 256 bytes without control characters.
    UserId: check_label;
    /// The frontend's id of an anonymous session. 1 to 256 bytes without control characters.
    SessionId: check_label;
    /// A chat of a messaging channel, such as a Telegram chat: a keyed hash of the caller's key, so that the id does not
    /// reveal the key. [`CHANNEL_ID_CHARS`] of `0-9 a-f`.
    ChannelId: check_channel;
    /// The provider's id of a tool call. 1 to 256 bytes without control characters.
    CallId: check_label;
    /// A tool's name. 1 to 256 bytes without control characters.
    ToolName: check_label;
    /// Any other short name or foreign id: a model, a provider's response, an error's type. 1 to 256 bytes without control characters.
    Label: check_label;
    /// The name that people give to a tenant, an agent or a key. At most 256 bytes; every character [`is_printable`].
    DisplayName: check_display_name;
}

/// A conversation, unique in the record.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConversationKey {
    /// The tenant.
    pub tenant: TenantId,
    /// The conversation.
    pub conversation: ConversationId,
}

uuid_newtypes! {
    /// One event.
    EventId;
    /// One commit; the caller's idempotency key, if there is one.
    CommitId;
    /// One run.
    RunId;
    /// One logged call of a model server.
    LogId;
}

impl AgentId {
    /// The agent of audit logs. No tenant can create it, and the registry does not have it, so no token may act for it.
    pub const AUDIT_LOG: &'static str = "hansard-audit-log";

    /// Whether it is the agent of audit logs.
    #[must_use]
    pub fn is_audit_log(&self) -> bool {
        self.as_str() == Self::AUDIT_LOG
    }
}

impl ConversationId {
    /// The prefix of the ids of histories under a caller's key. It is reserved: only a channel owns such a conversation.
    pub const HISTORY_PREFIX: &'static str = "history:";

    /// The prefix of the ids of audit logs: only the writer itself appends to them.
    pub const AUDIT_PREFIX: &'static str = "history:audit:";

    /// The prefix of the ids of documents of agents and owners. It is reserved.
    pub const DOCUMENT_PREFIX: &'static str = "document:";

    /// The prefix of the ids of conversations that frontends have named: the name, a colon and a tag of the owner follow.
    pub const NAMED_PREFIX: &'static str = "named:";

    /// The prefix of the ids that the service issues to back ends. A UUID without hyphens follows.
    pub const ISSUED_PREFIX: &'static str = "conv_";

    /// The number of hexadecimal digits of a tag of an owner.
    pub const NAME_TAG_CHARS: usize = 20;

    /// What the ids of conversations with a name begin with: everything but the tag of the owner.
    #[must_use]
    pub fn named_start(name: &str) -> String {
        format!("{}{name}:", Self::NAMED_PREFIX)
    }

    /// Whether the id is one that was derived from a frontend's name.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.0.starts_with(Self::NAMED_PREFIX)
    }

    /// Whether the id has the form of those that the service issues to back ends.
    #[must_use]
    pub fn is_issued(&self) -> bool {
        let rest = self.0.strip_prefix(Self::ISSUED_PREFIX);
        rest.is_some_and(|rest| Uuid::try_parse(rest).is_ok_and(|uuid| uuid.simple().to_string() == rest))
    }

    /// Whether the id is one of an agent's or owner's document.
    #[must_use]
    pub fn is_document(&self) -> bool {
        self.0.starts_with(Self::DOCUMENT_PREFIX)
    }

    /// Whether the id is one of an audit log.
    #[must_use]
    pub fn is_audit_log(&self) -> bool {
        self.0.starts_with(Self::AUDIT_PREFIX)
    }

    /// Whether the id is one of a history under a caller's key.
    #[must_use]
    pub fn is_history(&self) -> bool {
        self.0.starts_with(Self::HISTORY_PREFIX)
    }
}

impl EventId {
    /// The id of the event at `index` of a commit if the caller gave none. It is the same at every retry.
    #[must_use]
    pub fn derived(commit: CommitId, index: usize) -> Self {
        Self(Uuid::new_v5(&commit.0, &u64::try_from(index).unwrap_or(u64::MAX).to_be_bytes()))
    }
}

/// The one place that derives the identity of a command: equal in all of its attempts, and on every process.
impl CommitId {
    /// The id of one of the commits that one request needs.
    #[must_use]
    pub fn part(self, name: &[u8]) -> Self {
        Self(Uuid::new_v5(&self.0, name))
    }

    /// The id of the commit of an act that happens once for each name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self(Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()))
    }

    /// The id of the run that the commit starts.
    #[must_use]
    pub fn started_run(self) -> RunId {
        RunId(Uuid::new_v5(&self.0, b"run"))
    }
}

impl RunId {
    /// The id of a commit about the run that happens once.
    #[must_use]
    pub fn commit(self, name: &[u8]) -> CommitId {
        CommitId(self.0).part(name)
    }

    /// The id of the commit that finishes the run. It is the same for every process that finishes the run.
    #[must_use]
    pub fn finish_commit(self) -> CommitId {
        self.commit(b"finish")
    }
}

fn check_token(text: &str, chars_max: usize, extra: &str) -> Result<(), Violation> {
    if text.is_empty() {
        return Err(missing());
    }
    check_length(text.len(), chars_max)?;
    if text.chars().all(|c| c.is_ascii_alphanumeric() || extra.contains(c)) {
        return Ok(());
    }
    let extra: Vec<String> = extra.chars().map(String::from).collect();
    Err(Violation::new(
        ViolationReason::Malformed,
        format!("has other characters than A-Z a-z 0-9 {}", extra.join(" ")),
    ))
}

/// Rejects a raw key, such as a phone number, which must not be stored.
fn check_channel(text: &str) -> Result<(), Violation> {
    if text.is_empty() {
        return Err(missing());
    }
    let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    if text.len() == CHANNEL_ID_CHARS && text.chars().all(is_digit) {
        return Ok(());
    }
    Err(Violation::new(
        ViolationReason::Malformed,
        format!("is not a channel id: give {CHANNEL_ID_CHARS} characters of 0-9 a-f"),
    ))
}

fn check_label(text: &str) -> Result<(), Violation> {
    if text.is_empty() {
        return Err(missing());
    }
    check_length(text.len(), LABEL_BYTES_MAX)?;
    if text.chars().any(char::is_control) {
        return Err(Violation::new(ViolationReason::Malformed, "has control characters: remove them"));
    }
    Ok(())
}

fn check_display_name(text: &str) -> Result<(), Violation> {
    check_text(text, LABEL_BYTES_MAX)?;
    if text.chars().all(is_printable) {
        return Ok(());
    }
    let rule = "has characters that control a terminal or the direction of text: remove them";
    Err(Violation::new(ViolationReason::Malformed, rule))
}

fn missing() -> Violation {
    Violation::new(ViolationReason::Missing, "is required and was empty")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(outcome: Result<(), Violation>, expected: Option<ViolationReason>) {
        assert_eq!(outcome.err().map(|violation| violation.reason), expected);
    }

    #[test]
    fn names_of_people_are_printable() {
        let name = |text: &str| DisplayName::parse(text).map(drop);
        check(name(""), None);
        check(name("Kundendienst, עברית 😀"), None);
        check(name(&"a".repeat(256)), None);
        check(name(&"a".repeat(257)), Some(ViolationReason::TooLong));
        check(name("a\0"), Some(ViolationReason::NulCharacter));
        for text in ["K\u{1b}[2J", "a\nb", "a\tb", "a\u{9b}31m", "a\u{202e}b", "a\u{2028}"] {
            check(name(text), Some(ViolationReason::Malformed));
        }
    }

    #[test]
    fn tokens_at_their_bounds() {
        let conversation = |text: &str| ConversationId::parse(text).map(drop);
        check(conversation("telegram:42_a-B"), None);
        check(conversation(&"a".repeat(128)), None);
        check(conversation(&"a".repeat(129)), Some(ViolationReason::TooLong));
        check(conversation(""), Some(ViolationReason::Missing));
        for text in ["a.b", "a b", "a*", "a>", "ü", "a\0"] {
            check(conversation(text), Some(ViolationReason::Malformed));
        }
        check(TenantId::parse("a".repeat(64)).map(drop), None);
        check(TenantId::parse("a".repeat(65)).map(drop), Some(ViolationReason::TooLong));
        check(AgentId::parse("a:b").map(drop), Some(ViolationReason::Malformed));
    }

    #[test]
    fn labels_at_their_bounds() {
        check(UserId::parse("jo@example.org é").map(drop), None);
        check(UserId::parse("a".repeat(256)).map(drop), None);
        check(UserId::parse("a".repeat(257)).map(drop), Some(ViolationReason::TooLong));
        check(CallId::parse("a\n").map(drop), Some(ViolationReason::Malformed));
        check(SessionId::parse("a\0").map(drop), Some(ViolationReason::Malformed));
    }

    #[test]
    fn channels_are_hashes_and_never_raw_keys() {
        let channel = |text: &str| ChannelId::parse(text).map(drop);
        let digits = "0123456789abcdef".repeat(4);
        check(channel(&digits), None);
        check(channel(""), Some(ViolationReason::Missing));
        for text in
            ["telegram:42", &digits[1..], &format!("{digits}0"), &digits.to_uppercase(), &format!("é{}", &digits[2..])]
        {
            check(channel(text), Some(ViolationReason::Malformed));
        }
    }

    #[test]
    fn reserved_ids_of_conversations() {
        for (id, history, audit_log, document) in [
            ("history:", true, false, false),
            ("history:x", true, false, false),
            ("history:audit:", true, true, false),
            ("history:audit:2026", true, true, false),
            ("history:audit", true, false, false),
            ("document:", false, false, true),
            ("document:x", false, false, true),
            ("named:x:0123456789abcdef0123", false, false, false),
            ("history", false, false, false),
            ("History:x", false, false, false),
            ("a:history:x", false, false, false),
            ("historyx", false, false, false),
            ("audit:x", false, false, false),
            ("a:document:x", false, false, false),
            ("documents", false, false, false),
        ] {
            let id = ConversationId::parse(id).unwrap();
            let reserved = (id.is_history(), id.is_audit_log(), id.is_document());
            assert_eq!(reserved, (history, audit_log, document), "{id}");
        }
    }

    #[test]
    fn only_one_agent_is_of_audit_logs() {
        for (id, expected) in [
            ("hansard-audit-log", true),
            ("hansard-audit-log-2", false),
            ("Hansard-audit-log", false),
            ("hansard", false),
            ("helper", false),
        ] {
            assert_eq!(AgentId::parse(id).unwrap().is_audit_log(), expected, "{id}");
        }
    }

    #[test]
    fn channel_ids_have_64_digits_and_names_show_their_text() {
        assert_eq!(CHANNEL_ID_CHARS, 64);
        let digits = "0123456789abcdef".repeat(4);
        assert_eq!(ChannelId::parse(digits.as_str()).unwrap().to_string(), digits);
        assert_eq!(ConversationId::parse("a:b").unwrap().to_string(), "a:b");
        let uuid = "0192f0c1-2345-7000-8000-000000000001";
        assert_eq!(EventId::parse(uuid).unwrap().to_string(), uuid);
        let refused = LogId::parse("0192f0c1").unwrap_err();
        assert_eq!(refused.reason, ViolationReason::Malformed);
    }

    #[test]
    fn derived_event_ids_are_stable_and_distinct() {
        let commit = CommitId(Uuid::from_u128(7));
        assert_eq!(EventId::derived(commit, 1), EventId::derived(commit, 1));
        assert_ne!(EventId::derived(commit, 1), EventId::derived(commit, 2));
    }
}
