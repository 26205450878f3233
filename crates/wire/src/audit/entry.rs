//! An entry of an audit log: the metadata of its event.

use domain::{JsonText, Violation};
use serde::{Deserialize, Serialize};

use crate::proto::operate::v1::AuditActorKind;

/// Who did what an entry records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditActor {
    /// A person of the dashboard. Entries of earlier versions name no kind: they are of people.
    #[default]
    Person,
    /// An administrator with a token that the tenant has signed.
    Administrator,
    /// A back end with a service token.
    ServiceToken,
}

impl AuditActor {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Person, Self::Administrator, Self::ServiceToken];

    /// The name of the kind.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Administrator => "administrator",
            Self::ServiceToken => "service_token",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The kind as protobuf.
    #[must_use]
    pub fn to_proto(self) -> AuditActorKind {
        match self {
            Self::Person => AuditActorKind::Person,
            Self::Administrator => AuditActorKind::Administrator,
            Self::ServiceToken => AuditActorKind::ServiceToken,
        }
    }

    /// The kind of protobuf; `None`: unspecified.
    #[must_use]
    pub fn from_proto(kind: AuditActorKind) -> Option<Self> {
        match kind {
            AuditActorKind::Unspecified => None,
            AuditActorKind::Person => Some(Self::Person),
            AuditActorKind::Administrator => Some(Self::Administrator),
            AuditActorKind::ServiceToken => Some(Self::ServiceToken),
        }
    }
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Who did it.
    #[serde(default)]
    pub actor_kind: AuditActor,
    /// The name of the person, the administrator or the service token.
    pub name: String,
    /// The role of the person at that time; the kind of the others.
    pub role: String,
    /// What was done, such as `viewed`.
    pub action: String,
    /// The conversation that it was done to; `None`: none, or several.
    pub conversation: Option<String>,
    /// More about it, such as the operation. Never content of messages.
    pub detail: String,
}

impl AuditEntry {
    /// The metadata of the entry's event.
    ///
    /// # Errors
    /// It is larger than the metadata of an event may be.
    pub fn to_metadata(&self) -> Result<JsonText, Violation> {
        let json = serde_json::json!(self).to_string();
        JsonText::parse_metadata(json, domain::bounds::METADATA_BYTES_MAX)
    }

    /// The entry of an event with this metadata; `None`: the event is no entry.
    #[must_use]
    pub fn from_metadata(metadata: Option<&JsonText>) -> Option<Self> {
        serde_json::from_str(metadata?.as_str()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(text: &str) -> JsonText {
        JsonText::parse_metadata(text.to_owned(), domain::bounds::METADATA_BYTES_MAX).unwrap()
    }

    #[test]
    fn entries_survive_their_metadata() {
        for actor_kind in AuditActor::ALL {
            let entry = AuditEntry {
                actor_kind,
                name: "ada".to_owned(),
                role: "support".to_owned(),
                action: "viewed".to_owned(),
                conversation: Some("c".to_owned()),
                detail: "json".to_owned(),
            };
            assert_eq!(AuditEntry::from_metadata(Some(&entry.to_metadata().unwrap())), Some(entry));
            assert_eq!(AuditActor::parse(actor_kind.as_str()), Some(actor_kind));
            assert_eq!(AuditActor::from_proto(actor_kind.to_proto()), Some(actor_kind));
        }
    }

    #[test]
    fn entries_of_earlier_versions_are_of_people() {
        let text = r#"{"name":"ada","role":"viewer","action":"viewed","conversation":null,"detail":""}"#;
        let entry = AuditEntry::from_metadata(Some(&metadata(text))).unwrap();
        assert_eq!((entry.actor_kind, entry.conversation), (AuditActor::Person, None));
        assert_eq!(AuditEntry::from_metadata(Some(&metadata("{}"))), None);
        assert_eq!(AuditEntry::from_metadata(None), None);
    }
}
