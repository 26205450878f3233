//! Documents of other tenants and agents, tokens without a scope, and no token.

use tests::agent::Agent;
use tests::errors::{Expected, check_failure};
use tests::stack::Setup;
use tonic::Code;
use wire::proto::document::v1 as proto;
use wire::proto::operate::v1::Scope;

use super::calls::{
    keys, of_conversation, put, put_event, put_request, scope, search_request, try_delete, try_get, try_put,
    try_search, value,
};

const NAME: (&str, &str) = ("n", "k");

/// The outcome of every method; `None` for success.
async fn check(case: &str, agent: &Agent, reads: Option<Expected>, writes: Option<Expected>) {
    let scope = || scope(agent, None);
    let mut documents = agent.caller().documents();
    let namespaces = proto::ListDocumentNamespacesRequest {
        scope: Some(scope()),
        ..proto::ListDocumentNamespacesRequest::default()
    };
    let versions = proto::ListDocumentVersionsRequest {
        scope: Some(scope()),
        namespace: vec!["n".to_owned()],
        key: "k".to_owned(),
        ..proto::ListDocumentVersionsRequest::default()
    };
    let outcomes = [
        (try_get(agent, scope(), NAME).await.map(drop), reads),
        (try_search(agent, search_request(agent, "", "", &[])).await.map(drop), reads),
        (documents.list_document_namespaces(namespaces).await.map(drop), reads),
        (documents.list_document_versions(versions).await.map(drop), reads),
        (try_put(agent, put_request(agent, NAME, "1")).await.map(drop), writes),
        (try_delete(agent, NAME, None).await.map(drop), writes),
    ];
    for (outcome, expected) in outcomes {
        match expected {
            Some(expected) => drop(check_failure(case, outcome, expected)),
            None => outcome.expect(case),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_other_callers_are_rejected() {
    let stack = Setup::tasks().start().await;
    let agent = stack.agent("acme", "ours").await;
    let stranger = stack.agent("globex", "theirs").await;
    put(&agent, NAME, "\"secret\"").await;
    let unknown = Some((Code::NotFound, "AGENT_NOT_FOUND", "scope.agent_id"));
    let foreign = Agent::new(stranger.caller().clone(), agent.id());
    check("a foreign agent", &foreign, unknown, unknown).await;
    let missing = Agent::new(stranger.caller().clone(), "nobody");
    check("no such agent", &missing, unknown, unknown).await;
    let nobody = Agent::new(agent.caller().without_token(), agent.id());
    let unauthenticated = Some((Code::Unauthenticated, "UNAUTHENTICATED", ""));
    check("no token", &nobody, unauthenticated, unauthenticated).await;
    let operator = stack.operator().await;
    let lacking = Some((Code::PermissionDenied, "MISSING_SCOPE", ""));
    for (scope, expected) in [(Scope::Append, lacking), (Scope::Erase, lacking)] {
        let token = operator.token(&[scope], "acme").await.secret;
        let bound = Agent::new(agent.caller().with_token(&token), agent.id());
        check(scope.as_str_name(), &bound, expected, expected).await;
    }
    let token = operator.token(&[Scope::Read], "acme").await.secret;
    let reader = Agent::new(agent.caller().with_token(&token), agent.id());
    let put = try_put(&reader, put_request(&reader, NAME, "1")).await;
    check_failure("a reader", put, (Code::PermissionDenied, "MISSING_SCOPE", ""));
    assert_eq!(value(&reader, NAME).await.as_deref(), Some("\"secret\""));
    let secret = operator.secret_key(&[Scope::Read, Scope::Append], &[stranger.id()]).await;
    let bound = Agent::new(agent.caller().with_token(&secret.secret), agent.id());
    check("a key of another agent", &bound, unknown, unknown).await;
}

/// Agents of one tenant and tenants do not see each other's documents, also with the same names.
#[tokio::test(flavor = "multi_thread")]
async fn agents_and_tenants_are_separate() {
    let stack = Setup::tasks().start().await;
    let agents = [
        stack.agent("acme", "ours").await,
        stack.agent("acme", "sibling").await,
        stack.agent("globex", "theirs").await,
    ];
    for agent in &agents {
        let put = put(agent, NAME, &format!("\"{}\"", agent.id())).await;
        agent.wait_for_rows(&put.conversation_id, put.version).await;
        agent.create(&format!("c-{}", agent.id())).await;
        let id = format!("c-{}", agent.id());
        let appended = agent.append(&id, vec![put_event(NAME, "\"inner\"")]).await;
        agent.wait_for_rows(&id, appended.version).await;
    }
    for agent in &agents {
        let own = format!("\"{}\"", agent.id());
        assert_eq!(value(agent, NAME).await, Some(own.clone()));
        let search = search_request(agent, "", "", &[]);
        let found = try_search(agent, search).await.expect("an answer");
        let values: Vec<&str> = found.documents.iter().map(|one| &*one.value_json).collect();
        assert_eq!(values, [own.as_str()]);
        for other in agents.iter().filter(|other| other.id() != agent.id()) {
            let foreign = || of_conversation(agent, &format!("c-{}", other.id()));
            assert_eq!(try_get(agent, foreign(), NAME).await.unwrap(), None);
            let request =
                proto::SearchDocumentsRequest { scope: Some(foreign()), ..search_request(agent, "", "", &[]) };
            assert_eq!(keys(agent, request).await, Vec::<String>::new());
        }
    }
}
