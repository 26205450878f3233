//! What makes a gateway unready.

use runtime::config::Secret;
use serde_json::Value;
use tests::admin;
use tests::eventually::eventually;
use tests::node::Node;
use tests::operator::Token;
use tests::settings::Role;
use wire::proto::operate::v1::Scope;

use crate::fixture::Fixture;

/// The token is checked at the start and while the gateway runs.
#[tokio::test(flavor = "multi_thread")]
async fn gateways_are_ready_only_with_a_token_that_appends_for_all_tenants() {
    let fixture = Fixture::own().await;
    let unknown = Token { id: String::new(), secret: "hs_wrong".to_owned() };
    let of_tenant = fixture.operator.token(&[Scope::Append, Scope::Read], fixture.tenant).await;
    let reader = fixture.operator.token(&[Scope::Read], "").await;
    let valid = fixture.operator.token(&[Scope::Append, Scope::Read], "").await;
    let (invalid, weak) = ("unknown, revoked or expired", "not a token with the scope append for all tenants");
    for (token, refused) in [(&unknown, invalid), (&of_tenant, weak), (&reader, weak)] {
        let mut gateway = gateway_under(&fixture, token);
        gateway.launch().await;
        wait_for_refusal(&gateway, "writer_token", refused).await;
        gateway.stop().await;
    }
    let mut gateway = gateway_under(&fixture, &valid);
    gateway.start().await;
    fixture.operator.revoke(&valid).await;
    wait_for_refusal(&gateway, "writer_token", invalid).await;
}

/// One more gateway, with this token of its own.
fn gateway_under(fixture: &Fixture, token: &Token) -> Node {
    let mut gateway = fixture.stack.another(Role::Gateway);
    gateway.settings.gateway.writer_token = Secret::new(&token.secret);
    gateway
}

/// Waits until only this dependency makes a gateway unready, for this reason.
async fn wait_for_refusal(gateway: &Node, dependency: &str, refused: &str) {
    eventually(refused, || async {
        let answer = admin::get(gateway.admin_addr(), "/readyz").await.ok()?;
        let page: Value = serde_json::from_str(&answer.body).ok()?;
        let down = |(name, state): (&String, &Value)| (state["state"] != "up").then(|| name.clone());
        let names: Vec<String> = page["dependencies"].as_object()?.iter().filter_map(down).collect();
        let reason = page["dependencies"][dependency]["reason"].as_str()?;
        (answer.status == 503 && names == [dependency] && reason.contains(refused)).then_some(())
    })
    .await;
}

/// One more gateway, with these writers.
fn gateway_at(fixture: &Fixture, urls: &str) -> Node {
    let mut gateway = fixture.stack.another(Role::Gateway);
    urls.clone_into(&mut gateway.settings.gateway.writer_url);
    gateway
}

/// Another port at `writer_url` is named. Without a writer, a gateway is ready: it reads.
#[tokio::test(flavor = "multi_thread")]
async fn gateways_are_ready_only_with_urls_of_writers() {
    let fixture = Fixture::own().await;
    let one = &fixture.stack.gateway.settings.gateway;
    let ports = [one.http.server.addr, one.grpc.addr, one.admin_addr];
    for url in ports.map(|addr| format!("http://{addr}")) {
        let mut gateway = gateway_at(&fixture, &url);
        gateway.launch().await;
        wait_for_refusal(&gateway, "writer", &format!("`writer_url`: no writer answers at {url}")).await;
        gateway.stop().await;
    }
    let mut gateway = gateway_at(&fixture, "http://127.0.0.1:1");
    gateway.start().await;
}
