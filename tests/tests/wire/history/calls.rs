//! Calls of the history service, and short messages: `u hi` is of the user, `a hello` of the assistant, `s …` are
//! instructions.

use tests::agent::Agent;
use tests::events::text_of_parts;
use tonic::Status;
use wire::proto::event::v1 as event;
use wire::proto::history::v1 as proto;

/// A key with one candidate.
pub(crate) fn key(agent: &Agent, candidate: &str) -> proto::HistoryKey {
    proto::HistoryKey {
        agent_id: agent.id().to_owned(),
        history_key_candidates: vec![candidate.to_owned()],
        ..proto::HistoryKey::default()
    }
}

/// Messages as callers send them.
pub(crate) fn messages(short: &[&str]) -> Vec<event::MessageAppended> {
    let messages = short.iter().map(|short| {
        let (who, text) = short.split_once(' ').expect("a speaker and a text");
        let role = match who {
            "u" => event::Role::User,
            "a" => event::Role::Assistant,
            "s" => event::Role::System,
            _ => panic!("{short}"),
        };
        event::MessageAppended {
            role: role.into(),
            parts: vec![event::Part { kind: Some(event::part::Kind::Text(text.to_owned())) }],
            ..event::MessageAppended::default()
        }
    });
    messages.collect()
}

/// Messages in short form.
pub(crate) fn short(messages: &[event::MessageAppended]) -> Vec<String> {
    let short = messages.iter().map(|message| {
        let who =
            message.role().as_str_name().trim_start_matches("ROLE_").chars().take(1).collect::<String>().to_lowercase();
        format!("{who} {}", text_of_parts(&message.parts))
    });
    short.collect()
}

/// The codes of warnings.
pub(crate) fn codes(warnings: &[proto::HistoryWarning]) -> Vec<&str> {
    assert!(warnings.iter().all(|warning| !warning.message.is_empty()));
    warnings.iter().map(|warning| warning.code.as_str()).collect()
}

/// A request to load the maximum number of messages.
pub(crate) fn load_request(key: &proto::HistoryKey, current: &[&str]) -> proto::LoadHistoryRequest {
    proto::LoadHistoryRequest { key: Some(key.clone()), messages: messages(current), messages_max: 1_000 }
}

/// A request to record.
pub(crate) fn record_request(key: &proto::HistoryKey, current: &[&str]) -> proto::RecordHistoryRequest {
    proto::RecordHistoryRequest {
        key: Some(key.clone()),
        messages: messages(current),
        ..proto::RecordHistoryRequest::default()
    }
}

/// Loads.
pub(crate) async fn try_load(
    agent: &Agent,
    request: proto::LoadHistoryRequest,
) -> Result<proto::LoadHistoryResponse, Status> {
    let answer = agent.caller().history().load_history(request).await?;
    Ok(answer.into_inner())
}

/// Records.
pub(crate) async fn try_record(
    agent: &Agent,
    request: proto::RecordHistoryRequest,
) -> Result<proto::RecordHistoryResponse, Status> {
    let answer = agent.caller().history().record_history(request).await?;
    Ok(answer.into_inner())
}

/// Loads without a warning.
pub(crate) async fn load(agent: &Agent, key: &proto::HistoryKey, current: &[&str]) -> proto::LoadHistoryResponse {
    let loaded = try_load(agent, load_request(key, current)).await.expect("a history");
    assert_eq!(loaded.warnings, [], "{loaded:?}");
    loaded
}

/// Records without a warning.
pub(crate) async fn record(agent: &Agent, key: &proto::HistoryKey, current: &[&str]) -> proto::RecordHistoryResponse {
    let recorded = try_record(agent, record_request(key, current)).await.expect("a record");
    assert_eq!(recorded.warnings, [], "{recorded:?}");
    recorded
}
