//! Commands of callers: creates, forks, messages, changes of owner.

use domain::Timestamp;
use wire::proto::event::v1 as event;
use wire::proto::write::v1 as proto;

use crate::stack::{SECOND, START, Stack};

impl Stack {
    /// Creates a conversation whose only event has this time.
    pub(crate) async fn create(&self, agent: &str, id: &str, owner: event::owner::Kind, at: Timestamp) {
        let request = creation(agent, id, owner, at);
        self.writer().create_conversation(request).await.unwrap();
    }

    /// Creates a fork of the first version of another conversation; its first event has this time.
    pub(crate) async fn fork(&self, agent: &str, id: &str, parent: &str, at: Timestamp) {
        let request = proto::CreateConversationRequest {
            forked_from: Some(event::ForkPoint {
                conversation_id: parent.to_owned(),
                version: 1,
                ..event::ForkPoint::default()
            }),
            ..creation(agent, id, session("s"), at)
        };
        self.writer().create_conversation(request).await.unwrap();
    }

    /// Creates conversations with one session each, one second apart. Their ids begin with the prefix.
    pub(crate) async fn create_many(&self, agent: &str, prefix: &str, count: i64) -> Vec<String> {
        let mut ids = Vec::new();
        for n in 0..count {
            let id = format!("{prefix}{n:03}");
            let at = Timestamp(START.0 + n * SECOND);
            self.create(agent, &id, session(&id), at).await;
            ids.push(id);
        }
        ids
    }

    /// Appends this many messages in one commit.
    pub(crate) async fn say(&self, agent: &str, id: &str, messages: usize) {
        let message = event::MessageAppended {
            role: event::Role::User.into(),
            parts: vec![event::Part { kind: Some(event::part::Kind::Text("hello".to_owned())) }],
            ..event::MessageAppended::default()
        };
        let appended =
            event::Event { fact: Some(event::event::Fact::MessageAppended(message)), ..event::Event::default() };
        let request = proto::AppendEventsRequest {
            target: Some(target(agent, id)),
            events: vec![appended; messages],
            ..proto::AppendEventsRequest::default()
        };
        self.writer().append_events(request).await.unwrap();
    }

    /// The user claims a conversation.
    pub(crate) async fn claim(&self, agent: &str, id: &str, user_id: &str) {
        let request = proto::ChangeOwnerRequest {
            target: Some(target(agent, id)),
            owner: Some(event::Owner { kind: Some(user(user_id)) }),
            expected_owner: None,
        };
        self.writer().change_owner(request).await.unwrap();
    }
}

fn creation(agent: &str, id: &str, owner: event::owner::Kind, at: Timestamp) -> proto::CreateConversationRequest {
    proto::CreateConversationRequest {
        agent_id: agent.to_owned(),
        conversation_id: id.to_owned(),
        owner: Some(event::Owner { kind: Some(owner) }),
        occurred_at: Some(wire::time::to_proto(at)),
        ..proto::CreateConversationRequest::default()
    }
}

pub(crate) fn target(agent: &str, id: &str) -> proto::CommandTarget {
    proto::CommandTarget {
        agent_id: agent.to_owned(),
        conversation_id: id.to_owned(),
        ..proto::CommandTarget::default()
    }
}

pub(crate) fn session(name: &str) -> event::owner::Kind {
    event::owner::Kind::SessionId(name.to_owned())
}

pub(crate) fn user(name: &str) -> event::owner::Kind {
    event::owner::Kind::UserId(name.to_owned())
}
