//! The session token of a person of the dashboard at the registry service: what an administrator may do, and nothing else.

mod rpcs;

use tests::agent::Agent;
use tests::client::Caller;
use tests::dashboard::Browser;
use tests::errors::{Expected, check_failure};
use tests::events::user;
use tests::eventually::eventually;
use tests::operator::Operator;
use tests::stack::{Setup, Stack};
use tonic::Code::{NotFound, PermissionDenied, Unauthenticated};
use wire::proto::history::v1::{HistoryKey, LoadHistoryRequest};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::DashboardRole;

use rpcs::{Outcomes, Target, accepted, correction, other_rpcs};

const NOBODY: Expected = (Unauthenticated, "UNAUTHENTICATED", "");

/// An agent of each of two tenants, an API key of the foreign one, and their operator.
async fn setup() -> (Stack, Operator, String) {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    operator.agent("globex", "globex-support").await;
    let foreign = operator.api_key("globex-support").await;
    (stack, operator, foreign.id)
}

async fn session(stack: &Stack, operator: &Operator, role: DashboardRole) -> (Browser, Caller) {
    let client = stack.http_client();
    let browser = Browser::signed_in(client, operator, "acme", role).await;
    let caller = operator.caller().with_token(browser.session_token());
    (browser, caller)
}

/// The outcomes of the other services of writer and gateway.
async fn other_services(caller: &Caller) -> Outcomes {
    let own = Agent::new(caller.clone(), "support");
    let key = HistoryKey {
        agent_id: "support".to_owned(),
        history_key_candidates: vec!["k".to_owned()],
        ..Default::default()
    };
    let history = LoadHistoryRequest { key: Some(key), ..Default::default() };
    let stop = own.stop_request("c", "018f0000-0000-7000-8000-000000000000");
    vec![
        ("create", own.try_create(own.create_request("")).await.map(drop)),
        ("append", own.try_append(own.append_request("c", vec![user("x")])).await.map(drop)),
        ("erase", own.try_erase(own.target("c")).await.map(drop)),
        ("read", own.try_get(own.read_target("c")).await.map(drop)),
        ("history", caller.history().load_history(history).await.map(drop)),
        ("run", own.try_stop(stop).await.map(drop)),
    ]
}

fn own(key: &str) -> Target<'_> {
    Target { tenant: "acme", agent: "support", key }
}

fn check_all(outcomes: Outcomes, expected: Expected) {
    for (rpc, outcome) in outcomes {
        check_failure(rpc, outcome, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_change_their_tenant_and_leave_an_audit_log() {
    let (stack, operator, _) = setup().await;
    for role in [DashboardRole::Administrator, DashboardRole::Operator] {
        let key = operator.api_key("support").await.id;
        let (browser, caller) = session(&stack, &operator, role).await;
        for (rpc, outcome) in accepted(&caller, own(&key)).await {
            let is_second = role == DashboardRole::Operator && rpc == "add signing key";
            if is_second {
                let exists = (tonic::Code::AlreadyExists, "REGISTRY_ENTRY_EXISTS", "signing_key_id");
                check_failure(rpc, outcome, exists);
            } else {
                outcome.unwrap_or_else(|status| panic!("{rpc}: {status:?}"));
            }
        }
        let log = browser.get("/dashboard/audit").await.text();
        for entry in [
            "agent support: all settings",
            "agent support: context policy",
            "agent support: new API key",
            "agent support: webhook secret",
            "input -7, output +0, cached +0, reasoning +0 tokens, correction",
            "messages of the model (none)",
            "signing key next: added",
            "signing key next: retired",
            &format!("API key {key}: origins"),
            &format!("API key {key}: rotated"),
            &format!("API key {key}: revoked"),
        ] {
            assert!(log.contains(entry), "{entry}: {log}");
        }
    }
}

/// Other changes by service tokens have no entry.
#[tokio::test(flavor = "multi_thread")]
async fn corrections_by_service_tokens_have_one_audit_entry() {
    let (stack, operator, _) = setup().await;
    let key = operator.api_key("support").await.id;
    let token = operator.token(&[proto::Scope::Operate], "acme").await;
    let caller = operator.caller().with_token(&token.secret);
    let request = correction(own(&key));
    for _ in 0..2 {
        caller.registry().correct_usage(request.clone()).await.expect("a correction");
    }
    let (browser, _) = session(&stack, &operator, DashboardRole::Administrator).await;
    let log = browser.get("/dashboard/audit").await.text();
    assert_eq!(log.matches("a wrong proxy").count(), 1, "{log}");
    assert!(log.contains("service_token"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_sees_no_other_tenant() {
    let (stack, operator, foreign_key) = setup().await;
    let (_, caller) = session(&stack, &operator, DashboardRole::Operator).await;
    let foreign = Target { tenant: "globex", agent: "globex-support", key: &foreign_key };
    let missing = Target { tenant: "nobody", agent: "nobody", key: "0123456789abcdef" };
    for target in [foreign, missing] {
        for (rpc, outcome) in accepted(&caller, target).await {
            let status = outcome.expect_err(rpc);
            assert_eq!(status.code(), NotFound, "{rpc}: {status:?}");
            assert!(!status.message().contains(target.agent), "{rpc}: {status:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lower_roles_change_nothing() {
    let (stack, operator, _) = setup().await;
    let key = operator.api_key("support").await.id;
    for role in [DashboardRole::Viewer, DashboardRole::Support] {
        let (_, caller) = session(&stack, &operator, role).await;
        let outcomes = accepted(&caller, own(&key)).await;
        check_all(outcomes, (PermissionDenied, "MISSING_SCOPE", ""));
    }
}

/// A session makes no credentials that outlive it, but for keys of its own tenant, and is no token of another service.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_no_service_tokens() {
    let (stack, operator, _) = setup().await;
    operator.agent("acme", "sales").await.create("c").await;
    let (browser, caller) = session(&stack, &operator, DashboardRole::Operator).await;
    check_all(other_rpcs(&caller, browser.session_token()).await, NOBODY);
    check_all(other_services(&caller).await, NOBODY);
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_sessions_and_links_change_nothing() {
    let (stack, operator, _) = setup().await;
    let key = operator.api_key("support").await.id;
    let own = own(&key);
    let (browser, caller) = session(&stack, &operator, DashboardRole::Administrator).await;
    assert_eq!(browser.post("/dashboard/sign-out", &[]).await.status, 303);
    eventually("the end of the session at the writer", || async {
        let request = proto::ListAgentsRequest { tenant_id: "acme".to_owned() };
        let listed = caller.registry().list_agents(request).await;
        listed.is_err().then_some(())
    })
    .await;
    check_all(accepted(&caller, own).await, NOBODY);
    let link = operator.dashboard_link("acme", DashboardRole::Administrator);
    let link = operator.caller().with_token(&link.await);
    check_all(accepted(&link, own).await, NOBODY);
    // A token of another tenant's key is forged.
    let (other, _) = session(&stack, &operator, DashboardRole::Administrator).await;
    let token = other.session_token();
    let forged = operator.caller().with_token(&format!("{}{}", &token[..token.len() - 4], "AAAA"));
    check_all(accepted(&forged, own).await, NOBODY);
}
