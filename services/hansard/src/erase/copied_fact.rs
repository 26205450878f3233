//! Converts the facts of a fork's history for a conversation without ancestors. Pure.
//!
//! Every event keeps its version, so versions in summaries and receipts stay valid. Content is copied unchanged. What a fork
//! does not inherit is not copied: owners, archiving and runs of its ancestors. Usage of models is not copied, because it is
//! counted in the original conversation.

use domain::event::{ConversationCreated, ConversationUpdated, MessageAppended};
use domain::{Event, Fact, FieldChange, Lifecycle, Owner};

/// The origin of an event of a fork's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The first event of the history.
    First,
    /// An ancestor of the fork.
    Shared,
    /// The fork itself.
    Own,
}

/// The fact in the copy for an event. `owner` is the owner of the fork.
pub(super) fn copied_fact(event: &Event, origin: Origin, owner: &Owner) -> Fact {
    let nothing = || Fact::from(ConversationUpdated::default());
    match (&event.fact, origin) {
        (Fact::Lifecycle(Lifecycle::ConversationCreated(created)), Origin::First) => {
            Fact::from(ConversationCreated { owner: owner.clone(), forked_from: None, ..created.clone() })
        }
        (Fact::Lifecycle(Lifecycle::ConversationCreated(created)), _) => Fact::from(changes(created)),
        (Fact::MessageAppended(message), _) => {
            Fact::MessageAppended(MessageAppended { usage: None, ..message.clone() })
        }
        (
            Fact::Lifecycle(
                Lifecycle::OwnerChanged(_)
                | Lifecycle::ConversationArchived
                | Lifecycle::ConversationRestored
                | Lifecycle::RunStarted(_)
                | Lifecycle::RunStopRequested(_)
                | Lifecycle::RunFinished(_),
            ),
            Origin::First | Origin::Shared,
        ) => nothing(),
        (fact, _) => fact.clone(),
    }
}

/// The creation of a fork, as changes of its parent.
fn changes(created: &ConversationCreated) -> ConversationUpdated {
    ConversationUpdated {
        title: Some(FieldChange::to(created.title.clone())),
        metadata: Some(FieldChange::to(created.metadata.clone())),
        provider_conversation_id: Some(FieldChange::to(created.provider_conversation_id.clone())),
        last_response_id: Some(FieldChange::Clear),
    }
}

#[cfg(test)]
mod tests {
    use domain::event::{Role, SystemNoted, Usage};
    use domain::{
        AgentId, ClientContext, CommitId, ConversationId, EventId, EventTokens, ForkPoint, Part, SessionId, Version,
    };
    use uuid::Uuid;

    use super::*;

    fn session(id: &str) -> Owner {
        Owner::Session(SessionId::parse(id).unwrap())
    }

    fn created(title: Option<&str>, owner: &str, forked: bool) -> Fact {
        Fact::from(ConversationCreated {
            agent: AgentId::parse("bot").unwrap(),
            owner: session(owner),
            title: title.map(str::to_owned),
            metadata: None,
            client_context: ClientContext::default(),
            provider_conversation_id: None,
            forked_from: forked.then(|| ForkPoint {
                conversation: ConversationId::parse("root").unwrap(),
                version: Version(3),
                depth: 1,
            }),
        })
    }

    fn message(usage: Option<Usage>) -> Fact {
        let message = MessageAppended::new(Role::Assistant, vec![Part::Text("hi".to_owned())]);
        Fact::MessageAppended(MessageAppended { usage, ..message })
    }

    fn check(fact: &Fact, origin: Origin, expected: &Fact) {
        let event = Event {
            id: EventId::derived(CommitId(Uuid::nil()), 0),
            occurred_at: None,
            metadata: None,
            tokens: EventTokens::default(),
            fact: fact.clone(),
        };
        assert_eq!(copied_fact(&event, origin, &session("fork's")), *expected);
    }

    #[test]
    fn a_fork_inherits_content_only() {
        let nothing = Fact::from(ConversationUpdated::default());
        check(&created(Some("t"), "root's", false), Origin::First, &created(Some("t"), "fork's", false));
        let begins = Fact::from(ConversationUpdated {
            title: Some(FieldChange::Clear),
            metadata: Some(FieldChange::Clear),
            provider_conversation_id: Some(FieldChange::Clear),
            last_response_id: Some(FieldChange::Clear),
        });
        for origin in [Origin::Shared, Origin::Own] {
            check(&created(None, "s", true), origin, &begins);
            check(&message(Some(Usage::default())), origin, &message(None));
        }
        let note = Fact::from(SystemNoted { topic: None, text: "kept".to_owned() });
        check(&note, Origin::Shared, &note);
        for own in [Lifecycle::ConversationArchived, Lifecycle::ConversationRestored].map(Fact::from) {
            check(&own, Origin::Shared, &nothing);
            check(&own, Origin::Own, &own);
        }
    }
}
