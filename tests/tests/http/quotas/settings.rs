//! Who may set quotas, and where they are shown.

use serde_json::json;
use tonic::Code;
use wire::proto::operate::v1 as proto;

use super::fixture::{bound, fixture, set};

#[tokio::test(flavor = "multi_thread")]
async fn agent_quotas_override_tenant_and_deployment_quotas() {
    let fixture = fixture(|quotas| quotas.owner.runs = Some(7), |_| ()).await;
    let key = fixture.frontend();
    let nobody = fixture.stack.http_client();
    assert_eq!(bound(&key, "owner", "runs").await, Some(7));
    set(&fixture, "owner", "runs", Some(5)).await;
    assert_eq!(bound(&nobody, "owner", "runs").await, Some(7));
    let request = proto::SetAgentSettingsRequest {
        agent_id: fixture.agent_id.to_owned(),
        settings: Some(proto::AgentSettings {
            quotas: Some(proto::Quotas {
                owner: Some(proto::QuotaLimits { runs: Some(3), ..proto::QuotaLimits::default() }),
                ..proto::Quotas::default()
            }),
            ..proto::AgentSettings::default()
        }),
        update_mask: Some(prost_types::FieldMask { paths: vec!["quotas.owner.runs".to_owned()] }),
    };
    fixture.operator.registry().set_agent_settings(request).await.unwrap();
    tests::eventually::eventually("a gateway that knows the agent's quota", || async {
        (bound(&key, "owner", "runs").await == Some(3)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tenant_operators_cannot_raise_quotas() {
    let fixture = fixture(|_| (), |_| ()).await;
    let token = fixture.operator.token(&[proto::Scope::Operate], fixture.tenant).await;
    let bound_operator = tests::operator::Operator::new(fixture.operator.caller().with_token(&token.secret));
    let request = |tenant: &str| proto::SetTenantQuotasRequest {
        tenant_id: tenant.to_owned(),
        ..proto::SetTenantQuotasRequest::default()
    };
    let refused = bound_operator.registry().set_tenant_quotas(request(fixture.tenant)).await;
    assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
    let none = fixture.operator.registry().set_tenant_quotas(request("nobody")).await;
    assert_eq!(none.unwrap_err().code(), Code::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_see_quotas_with_their_usage() {
    let fixture = fixture(|_| (), |_| ()).await;
    set(&fixture, "tenant", "runs", Some(9)).await;
    let path = "/v1/admin/usage?from=2026-01-01&to=2026-01-02";
    let usage = fixture.admin().get(path).await.ok(200);
    let quotas = usage["quotas"].as_array().unwrap();
    assert!(quotas.contains(&json!({"quota": "runs", "bound": 9, "used": 0})), "{usage}");
    assert_eq!(quotas.len(), 5, "{usage}");
}
