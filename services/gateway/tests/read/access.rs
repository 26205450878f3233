//! Access: a conversation of another owner, an erased and a missing conversation get the same answer.

use std::collections::BTreeMap;

use registry::Scope;
use tonic::{Code, Status};
use wire::proto::read::v1 as proto;

use crate::author::Author;
use crate::client::{context_request, events_request, eventual_of, get_request, target, watch_request};
use crate::errors::check;
use crate::facts::user;
use crate::stack::{FOREIGN_AGENT, FOREIGN_TENANT, OTHER_AGENT, run, shared};

#[test]
fn callers_without_access() {
    run(async {
        let stack = shared().await;
        let author = Author::begin(stack).await;
        let get = || get_request(target(&author));
        for token in ["", "hs_unknown"] {
            let client = stack.client.with_token(token);
            let got = client.get(get()).await;
            check(got, Code::Unauthenticated, "UNAUTHENTICATED", "");
            let watch = client.watch(watch_request(&author, 1)).await;
            check(watch, Code::Unauthenticated, "UNAUTHENTICATED", "");
        }
        let appender = stack.token(&[Scope::Append], None).await;
        let got = stack.client.with_token(&appender).get(get()).await;
        check(got, Code::PermissionDenied, "MISSING_SCOPE", "");

        let not_found = |outcome| {
            let field = "target.agent_id";
            bytes_of(&check(outcome, Code::NotFound, "AGENT_NOT_FOUND", field))
        };
        let foreign = stack.token(&[Scope::Read], Some(FOREIGN_TENANT)).await;
        let foreign = stack.client.with_token(&foreign).get(get()).await;
        let mut missing = target(&author);
        missing.agent_id = "nobody".to_owned();
        let missing = stack.client.get(get_request(missing)).await;
        assert_eq!(not_found(foreign), not_found(missing));
    });
}

#[test]
fn foreign_erased_and_missing_conversations_get_the_same_answer() {
    run(async {
        let stack = shared().await;
        let mut theirs = Author::begin(stack).await;
        theirs.append(vec![user("secret")]).await;
        let mut erased = Author::begin(stack).await;
        erased.append(vec![user("secret")]).await;
        let mut erased_rows = Author::begin(stack).await;
        erased_rows.append(vec![user("secret")]).await;
        for project in [false, true] {
            if project {
                theirs.project_all().await;
                erased_rows.project_all().await;
                erased.erase().await;
                erased_rows.erase().await;
                erased_rows.project_all().await;
            }
            let mut missing = target(&theirs);
            missing.conversation_id = "none".to_owned();
            let missing = not_found(&theirs, missing).await;
            let mut cases = vec![
                proto::ReadTarget { agent_id: OTHER_AGENT.to_owned(), ..target(&theirs) },
                proto::ReadTarget { agent_id: FOREIGN_AGENT.to_owned(), ..target(&theirs) },
            ];
            if project {
                cases.extend([target(&erased), target(&erased_rows)]);
            }
            for case in cases {
                assert_eq!(not_found(&theirs, case).await, missing);
            }
        }
    });
}

#[test]
fn an_erasure_is_effective_before_it_is_projected() {
    run(async {
        let mut erased = Author::begin(shared().await).await;
        erased.append(vec![user("secret")]).await;
        erased.append(vec![user("secret")]).await;
        erased.project(2).await;
        erased.erase().await;
        let outcome = erased.stack.client.context(context_request(target(&erased), 5)).await;
        check(outcome, Code::NotFound, "CONVERSATION_NOT_FOUND", "");
    });
}

/// The answer of each endpoint for a conversation that is not found, as bytes.
async fn not_found(author: &Author<'_>, target: proto::ReadTarget) -> Vec<Vec<u8>> {
    let client = &author.stack.client;
    let watch = proto::WatchConversationRequest {
        agent_id: target.agent_id.clone(),
        conversation_id: target.conversation_id.clone(),
        from_version: 1,
    };
    let eventual = eventual_of(target.clone());
    let statuses = [
        client.get(get_request(target.clone())).await.unwrap_err(),
        client.get(get_request(eventual.clone())).await.unwrap_err(),
        client.events(events_request(target.clone())).await.unwrap_err(),
        client.context(context_request(target, 0)).await.unwrap_err(),
        client.context(context_request(eventual, 0)).await.unwrap_err(),
        client.watch(watch).await.unwrap_err(),
    ];
    let as_bytes = |status: Status| {
        check(Err::<(), _>(status.clone()), Code::NotFound, "CONVERSATION_NOT_FOUND", "");
        bytes_of(&status)
    };
    statuses.into_iter().map(as_bytes).collect()
}

/// All that a caller receives of a status, except the date.
fn bytes_of(status: &Status) -> Vec<u8> {
    let headers: BTreeMap<String, Vec<u8>> = status
        .metadata()
        .clone()
        .into_headers()
        .iter()
        .filter(|(name, _)| *name != "date")
        .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
        .collect();
    format!("{:?} {} {:?} {headers:?}", status.code(), status.message(), status.details()).into_bytes()
}
