//! The stream of erasures in progress, one for all partitions.

use domain::ConversationKey;

use super::key;

pub(crate) const STREAM: &str = "HANSARD_ERASURES";
/// The subjects of all entries.
pub(crate) const SUBJECTS: &str = "hansard_erasures.>";

/// The subject of a conversation's entry.
pub(crate) fn subject(key: &ConversationKey) -> String {
    format!("hansard_erasures.{}.{}", key.tenant, key.conversation)
}

/// The conversation of a subject; `None`: not the subject of an entry.
pub(crate) fn key_of(subject: &str) -> Option<ConversationKey> {
    let names = subject.strip_prefix("hansard_erasures.")?;
    let (tenant, conversation) = names.split_once('.')?;
    key(tenant, conversation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_name_their_conversations() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let key = key_of(text);
            let key_ref = key.as_ref();
            let names = key_ref.map(|key| (key.tenant.as_str(), key.conversation.as_str()));
            assert_eq!(names, expected, "{text}");
            assert_eq!(key.as_ref().map(subject).as_deref(), expected.map(|_| text));
        };
        check("hansard_erasures.acme.c:1", Some(("acme", "c:1")));
        check("hansard_erasures.acme", None);
        check("hansard_erasures.acme.c.d", None);
        check("hansard.acme.c", None);
    }
}
