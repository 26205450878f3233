//! Calls of the document service.

use tests::agent::Agent;
use tonic::Status;
use wire::proto::document::v1 as proto;
use wire::proto::document::v1::document_scope::Kind;
use wire::proto::event::v1 as event;

/// The documents of a user; `None`: of the agent.
pub(super) fn scope(agent: &Agent, user: Option<&str>) -> proto::DocumentScope {
    let kind = user.map(|user| Kind::Owner(tests::events::user_owner(user)));
    proto::DocumentScope { agent_id: agent.id().to_owned(), kind }
}

/// The documents of a conversation.
pub(super) fn of_conversation(agent: &Agent, id: &str) -> proto::DocumentScope {
    proto::DocumentScope { agent_id: agent.id().to_owned(), kind: Some(Kind::ConversationId(id.to_owned())) }
}

/// Labels, separated by slashes; none of an empty text.
pub(super) fn labels(namespace: &str) -> Vec<String> {
    let labels = namespace.split('/').filter(|label| !label.is_empty());
    labels.map(str::to_owned).collect()
}

/// A request to put a value of the agent under `namespace` and `key`.
pub(super) fn put_request(agent: &Agent, (namespace, key): (&str, &str), value: &str) -> proto::PutDocumentRequest {
    proto::PutDocumentRequest {
        scope: Some(scope(agent, None)),
        namespace: labels(namespace),
        key: key.to_owned(),
        value_json: value.to_owned(),
        ..proto::PutDocumentRequest::default()
    }
}

pub(super) async fn try_put(
    agent: &Agent,
    request: proto::PutDocumentRequest,
) -> Result<proto::PutDocumentResponse, Status> {
    let answer = agent.caller().documents().put_document(request).await;
    answer.map(tonic::Response::into_inner)
}

/// Puts a value of the agent.
pub(super) async fn put(agent: &Agent, name: (&str, &str), value: &str) -> proto::PutDocumentResponse {
    try_put(agent, put_request(agent, name, value)).await.expect("a recorded value")
}

pub(super) async fn try_get(
    agent: &Agent,
    scope: proto::DocumentScope,
    (namespace, key): (&str, &str),
) -> Result<Option<proto::Document>, Status> {
    let request = proto::GetDocumentRequest { scope: Some(scope), namespace: labels(namespace), key: key.to_owned() };
    let answer = agent.caller().documents().get_document(request).await;
    answer.map(|answer| answer.into_inner().document)
}

/// The agent's document.
pub(super) async fn get(agent: &Agent, name: (&str, &str)) -> Option<proto::Document> {
    try_get(agent, scope(agent, None), name).await.expect("an answer")
}

/// The value of the agent's document.
pub(super) async fn value(agent: &Agent, name: (&str, &str)) -> Option<String> {
    get(agent, name).await.map(|document| document.value_json)
}

pub(super) async fn try_delete(
    agent: &Agent,
    (namespace, key): (&str, &str),
    expected_version: Option<u64>,
) -> Result<proto::DeleteDocumentResponse, Status> {
    let request = proto::DeleteDocumentRequest {
        scope: Some(scope(agent, None)),
        namespace: labels(namespace),
        key: key.to_owned(),
        expected_version,
        idempotency_key: String::new(),
    };
    let answer = agent.caller().documents().delete_document(request).await;
    answer.map(tonic::Response::into_inner)
}

/// A search of the agent's documents that includes the given writes.
pub(super) fn search_request(
    agent: &Agent,
    prefix: &str,
    filter: &str,
    tokens: &[&str],
) -> proto::SearchDocumentsRequest {
    proto::SearchDocumentsRequest {
        scope: Some(scope(agent, None)),
        namespace_prefix: labels(prefix),
        filter_json: filter.to_owned(),
        position_tokens: tokens.iter().map(|token| (*token).to_owned()).collect(),
        limit: 100,
        ..proto::SearchDocumentsRequest::default()
    }
}

pub(super) async fn try_search(
    agent: &Agent,
    request: proto::SearchDocumentsRequest,
) -> Result<proto::SearchDocumentsResponse, Status> {
    let answer = agent.caller().documents().search_documents(request).await;
    answer.map(tonic::Response::into_inner)
}

/// The keys of a search, in order.
pub(super) async fn keys(agent: &Agent, request: proto::SearchDocumentsRequest) -> Vec<String> {
    let found = try_search(agent, request).await.expect("an answer");
    let documents = found.documents.into_iter();
    documents.map(|document| document.key).collect()
}

/// The versions of the agent's document before another one: numbers and values, the newest first; and the next page.
pub(super) async fn versions(
    agent: &Agent,
    scope: proto::DocumentScope,
    (namespace, key): (&str, &str),
    (before_version, limit): (u64, u32),
) -> (Vec<(u64, String)>, u64) {
    let request = proto::ListDocumentVersionsRequest {
        scope: Some(scope),
        namespace: labels(namespace),
        key: key.to_owned(),
        before_version,
        limit,
    };
    let mut documents = agent.caller().documents();
    let answer = documents.list_document_versions(request).await;
    let page = answer.expect("versions").into_inner();
    let versions = page.versions.into_iter().map(|one| (one.version, one.value_json));
    (versions.collect(), page.next_before_version)
}

/// An event that puts a value.
pub(super) fn put_event((namespace, key): (&str, &str), value: &str) -> event::Event {
    tests::events::event(event::event::Fact::DocumentPut(event::DocumentPut {
        namespace: labels(namespace),
        key: key.to_owned(),
        value_json: value.to_owned(),
        ttl_seconds: 0,
    }))
}
