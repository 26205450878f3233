use prost_types::Timestamp;
use wire::proto::event::v1::part::Kind;
use wire::proto::event::v1::tool_returned::Output;
use wire::proto::event::v1::{
    self as proto, ConversationCreated, ErrorOccurred, HistorySummarised, MessageAppended, Part, Role, RunFinished,
    SystemNoted, ToolCalled, ToolReturned,
};

use super::*;
use crate::console::Printable;

fn text(role: Role, text: &str) -> Fact {
    let part = Part { kind: Some(Kind::Text(text.to_owned())) };
    Fact::MessageAppended(MessageAppended { role: role.into(), parts: vec![part], ..MessageAppended::default() })
}

fn at(seconds: i64) -> Timestamp {
    Timestamp { seconds, nanos: 0 }
}

fn commit(conversation: &str, seconds: i64, facts: Vec<Fact>) -> DecodedCommit {
    let event = |fact| Event { fact: Some(fact), ..Event::default() };
    DecodedCommit {
        envelope: proto::Envelope {
            tenant_id: "acme".to_owned(),
            conversation_id: conversation.to_owned(),
            recorded_at: Some(at(seconds)),
            ..proto::Envelope::default()
        },
        events: facts.into_iter().map(event).collect(),
    }
}

fn created() -> Fact {
    Fact::ConversationCreated(ConversationCreated {
        agent_id: "support".to_owned(),
        owner: Some(Owner { kind: Some(OwnerKind::SessionId("s-1".to_owned())) }),
        ..ConversationCreated::default()
    })
}

fn called() -> Fact {
    Fact::ToolCalled(ToolCalled {
        call_id: "c1".to_owned(),
        tool_name: "weather".to_owned(),
        input_json: r#"{"city":"Oslo"}"#.to_owned(),
        ..ToolCalled::default()
    })
}

fn returned() -> Fact {
    Fact::ToolReturned(ToolReturned {
        call_id: "c1".to_owned(),
        tool_name: "weather".to_owned(),
        output: Some(Output::OutputJson(r#"{"t":-3}"#.to_owned())),
        ..ToolReturned::default()
    })
}

fn noted(topic: &str, text: &str) -> Fact {
    Fact::SystemNoted(SystemNoted { topic: topic.to_owned(), text: text.to_owned() })
}

#[test]
fn commits_as_a_chat() {
    let error = Fact::ErrorOccurred(ErrorOccurred {
        error_type: "rate_limited".to_owned(),
        message: "too many\nrequests".to_owned(),
    });
    let summary = Fact::HistorySummarised(HistorySummarised {
        through_version: 4,
        text: "About the weather.".to_owned(),
        ..HistorySummarised::default()
    });
    let finished = Fact::RunFinished(RunFinished { outcome: RunOutcome::Abandoned.into(), ..RunFinished::default() });
    let mut earlier = commit("c-1", 1_790_000_100, vec![called(), returned()]);
    earlier.events[0].occurred_at = Some(at(1_790_000_050));
    let commits = [
        commit("c-1", 1_790_000_000, vec![created(), text(Role::User, "Cold?\nTell me.")]),
        earlier,
        commit("c-1", 1_790_000_101, vec![text(Role::Assistant, "\x1b[31mCold.")]),
        commit("c-2", 1_790_000_102, vec![noted("", "a note"), noted("cut", "")]),
        commit("c-2", 1_790_000_103, vec![error, summary, finished]),
        commit("c-1", 1_790_000_104, vec![text(Role::User, "")]),
    ];
    let mut out = Printable(Vec::new());
    let mut transcript = Transcript::default();
    for commit in &commits {
        transcript.write(&mut out, commit).unwrap();
    }
    insta::assert_snapshot!(String::from_utf8(out.0).unwrap());
}
