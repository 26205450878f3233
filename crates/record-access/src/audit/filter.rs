//! Which entries of an audit log a reader wants.

use wire::audit::{AuditActor, AuditEntry};

/// Every part that is set must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// The kind of the actor.
    pub actor_kind: Option<AuditActor>,
    /// The actor's name.
    pub name: Option<String>,
    /// What was done.
    pub action: Option<String>,
    /// The conversation that it was done to.
    pub conversation: Option<String>,
}

impl AuditFilter {
    /// Whether an entry matches.
    #[must_use]
    pub fn matches(&self, entry: &AuditEntry) -> bool {
        let is = |wanted: &Option<String>, value: &str| wanted.as_deref().is_none_or(|wanted| wanted == value);
        self.actor_kind.is_none_or(|kind| kind == entry.actor_kind)
            && is(&self.name, &entry.name)
            && is(&self.action, &entry.action)
            && is(&self.conversation, entry.conversation.as_deref().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_that_is_set_must_match() {
        let entry = AuditEntry {
            actor_kind: AuditActor::Administrator,
            name: "root".to_owned(),
            role: "administrator".to_owned(),
            action: "viewed".to_owned(),
            conversation: Some("c".to_owned()),
            detail: String::new(),
        };
        let text = |text: &str| Some(text.to_owned());
        let filter = |kind, name, action, conversation| AuditFilter { actor_kind: kind, name, action, conversation };
        let check = |filter: AuditFilter, expected: bool| assert_eq!(filter.matches(&entry), expected, "{filter:?}");
        check(AuditFilter::default(), true);
        check(filter(Some(AuditActor::Administrator), text("root"), text("viewed"), text("c")), true);
        check(filter(Some(AuditActor::Person), None, None, None), false);
        check(filter(None, text("roo"), None, None), false);
        check(filter(None, None, text("exported"), None), false);
        check(filter(None, None, None, text("d")), false);
    }
}
