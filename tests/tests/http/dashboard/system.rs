//! The System page: its contents, parked conversations, and the switch between tenants.

use domain::{ConversationId, Partition, TenantId};
use tests::dashboard::{Browser, is_sign_in_required};
use tests::events::user;
use tests::eventually::eventually;
use tests::raw_nats::RawNats;
use wire::proto::operate::v1::DashboardRole;

use crate::fixture::Fixture;

const PATH: &str = "/dashboard/system";
const TENANT_PATH: &str = "/dashboard/system/tenant";

async fn person(fixture: &Fixture, tenant: &str, role: DashboardRole) -> Browser {
    Browser::signed_in(fixture.stack.http_client(), &fixture.operator, tenant, role).await
}

/// Publishes a message that is no commit after the last one of a conversation.
async fn park(fixture: &Fixture, id: &str) {
    fixture.agent.create(id).await;
    let appended = fixture.agent.append(id, vec![user("one")]).await;
    fixture.agent.wait_for_rows(id, appended.version).await;
    let tenant = TenantId::parse(fixture.tenant).unwrap();
    let partition = Partition::of(&tenant, &ConversationId::parse(id).unwrap(), 8);
    let subject = format!("hansard.{partition}.{}.{id}", fixture.tenant);
    let mut nats = RawNats::connect(&fixture.stack.servers.nats().url(), "", "").await;
    let errors = nats.publish(&subject, "", "sesame is no commit").await;
    assert_eq!(errors, Vec::<String>::new());
}

/// The sequence that the page offers to drop.
fn sequence(page: &str) -> Option<String> {
    let (_, rest) = page.split_once("name=\"sequence\" value=\"")?;
    Some(rest.split('"').next()?.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_of_the_deployment_is_shown() {
    let fixture = Fixture::own().await;
    let operator = person(&fixture, fixture.tenant, DashboardRole::Operator).await;
    // The projector takes its partitions after it is ready.
    let page = eventually("a sampled lag of a healthy deployment", || async {
        let page = operator.get(PATH).await.text();
        let is_shown = |text| page.contains(text);
        let shown = ["Lag of rows and search", "Healthy: nothing needs an operator."];
        shown.into_iter().all(is_shown).then_some(page)
    })
    .await;
    for text in [
        "conversations_v1",
        "durable",
        "indexes",
        "Rows to",
        "Every conversation is projected.",
        "hansard rebuild conversations",
        fixture.foreign_tenant,
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parked_conversations_are_retried_and_dropped() {
    let fixture = Fixture::own().await;
    park(&fixture, "bad").await;
    let operator = person(&fixture, fixture.foreign_tenant, DashboardRole::Operator).await;
    let parked = eventually("a parked conversation", || async {
        let page = operator.get(PATH).await.text();
        sequence(&page).map(|sequence| (page, sequence))
    });
    let (page, sequence) = parked.await;
    assert!(page.contains("parked conversations: 1"), "{page}");
    assert!(!page.contains("sesame"), "{page}");
    let named = [("tenant", fixture.tenant), ("conversation", "bad")];
    let retry = "/dashboard/system/parked/retry";
    let drop_path = "/dashboard/system/parked/drop";
    assert_eq!(operator.post(retry, &named).await.status, 303);
    eventually("a second attempt", || async {
        let page = operator.get(PATH).await.text();
        page.contains("<td class=\"attempts\">2</td>").then_some(())
    })
    .await;
    let drop = async |confirmation: &str| {
        let typed = ("confirmation", confirmation);
        let fields = [named[0], named[1], ("sequence", &sequence), typed];
        operator.post(drop_path, &fields).await
    };
    let wrong = drop("Bad").await;
    assert_eq!(wrong.status, 400, "{}", wrong.text());
    let missing = [("tenant", fixture.foreign_tenant), ("conversation", "none")];
    assert_eq!(operator.post(retry, &missing).await.status, 404);
    assert_eq!(drop("bad").await.status, 303);
    eventually("no waiting commit", || async {
        let page = operator.get(PATH).await.text();
        page.contains("<td class=\"waiting\">0</td>").then_some(())
    })
    .await;
    // The log of the conversation's tenant has the entries, and no other log names it.
    let administrator = person(&fixture, fixture.tenant, DashboardRole::Administrator).await;
    let log = administrator.get("/dashboard/audit").await.text();
    for text in ["retry of parked commits", "drop of the parked commit at sequence", ">bad<"] {
        assert!(log.contains(text), "{text}: {log}");
    }
    let log = operator.get("/dashboard/audit").await.text();
    assert!(!log.contains(">bad<"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_switch_their_tenant() {
    let fixture = Fixture::own().await;
    let operator = person(&fixture, fixture.tenant, DashboardRole::Operator).await;
    let answer = operator.post(TENANT_PATH, &[("tenant", fixture.foreign_tenant)]).await;
    assert_eq!(answer.headers["location"], PATH);
    let moved = Browser::new(fixture.stack.http_client()).with_session(&answer).await;
    let page = moved.get(PATH).await.text();
    assert!(page.contains(&format!("operator of <strong>{}</strong>", fixture.foreign_tenant)), "{page}");
    eventually("the end of the session", || async {
        is_sign_in_required(&operator.get("/dashboard").await).then_some(())
    })
    .await;
    let log = moved.get("/dashboard/audit").await.text();
    assert!(log.contains("from another tenant"), "{log}");
    let administrator = person(&fixture, fixture.tenant, DashboardRole::Administrator).await;
    let log = administrator.get("/dashboard/audit").await.text();
    assert!(log.contains("to another tenant") && !log.contains(fixture.foreign_tenant), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_switches_and_forged_tenants_look_missing() {
    let fixture = Fixture::own().await;
    for role in [DashboardRole::Viewer, DashboardRole::Support, DashboardRole::Administrator] {
        let browser = person(&fixture, fixture.tenant, role).await;
        for tenant in [fixture.foreign_tenant, "none"] {
            let answer = browser.post(TENANT_PATH, &[("tenant", tenant)]).await;
            assert_eq!(answer.status, 403, "{role:?} {tenant}");
            assert!(!answer.headers.contains_key("set-cookie"));
        }
    }
    let operator = person(&fixture, fixture.tenant, DashboardRole::Operator).await;
    let mut answers = Vec::new();
    for tenant in ["none", "", "../acme", "<script>", &"a".repeat(2_000)] {
        let answer = operator.post(TENANT_PATH, &[("tenant", tenant)]).await;
        assert_eq!(answer.status, 404, "{tenant}");
        answers.push(answer.text());
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert!(answers[0].contains("TENANT_NOT_FOUND"), "{}", answers[0]);
    assert_eq!(operator.get(PATH).await.status, 200);
}
