//! An operator of one tenant probes for the agents of another.

use tests::errors::Failure;
use tests::operator::Operator;
use tonic::{Code, Status};
use wire::proto::operate::v1 as proto;

use crate::fixture::Fixture;

/// An agent of the other tenant, and an unused id.
const FOREIGN: &str = "globex-support";
const FREE: &str = "globex-nothing";

#[tokio::test(flavor = "multi_thread")]
async fn operators_cannot_probe_agent_ids_of_other_tenants() {
    let fixture = Fixture::start().await;
    let operator = fixture.operator().await;
    operator.agent("globex", FOREIGN).await;
    operator.tenant("acme").await;
    let token = operator.token(&[proto::Scope::Operate], "acme").await;
    let attacker = Operator::new(operator.caller().with_token(&token.secret));

    for (attempt, expected) in [("first", Code::Ok), ("again", Code::AlreadyExists)] {
        let foreign = create(&attacker, FOREIGN).await;
        let free = create(&attacker, FREE).await;
        assert_eq!(foreign, free, "{attempt}");
        assert_eq!(foreign.0, expected, "{attempt}: {foreign:?}");
    }
    // The attacker owns the new agents, beside those of the other tenant.
    let agents = list_agents(&attacker, "acme").await;
    assert_eq!(agents.len(), 2, "{agents:?}");
    assert!(!agents.iter().any(|id| id == FOREIGN || id == FREE));
    assert_eq!(list_agents(&operator, "globex").await, [FOREIGN]);

    for id in [FOREIGN, FREE] {
        for (call, refused) in attempts(&attacker, id).await {
            let failure = Failure::from(refused.expect_err(call));
            let seen = (failure.code, failure.reason.as_str());
            assert_eq!(seen, (Code::NotFound, "REGISTRY_ENTRY_NOT_FOUND"), "{call}");
            assert!(!failure.message.contains(id), "{call}: {failure:?}");
        }
    }
}

/// Tries to create an agent; returns the code and the answer without the id.
async fn create(attacker: &Operator, id: &str) -> (Code, String) {
    let request = proto::CreateAgentRequest {
        tenant_id: "acme".to_owned(),
        agent_id: id.to_owned(),
        ..proto::CreateAgentRequest::default()
    };
    match attacker.registry().create_agent(request).await {
        Ok(answer) => {
            let agent = answer.into_inner().agent.expect("an agent");
            (Code::Ok, agent.agent_id.replace(id, ""))
        }
        Err(status) => (status.code(), status.message().replace(id, "")),
    }
}

async fn list_agents(operator: &Operator, tenant: &str) -> Vec<String> {
    let request = proto::ListAgentsRequest { tenant_id: tenant.to_owned() };
    let listed = operator.registry().list_agents(request).await;
    let agents = listed.expect("agents").into_inner().agents;
    agents.into_iter().map(|agent| agent.agent_id).collect()
}

/// Every other call with an agent id.
async fn attempts(attacker: &Operator, id: &str) -> Vec<(&'static str, Result<(), Status>)> {
    let mut registry = attacker.registry();
    let agent_id = || id.to_owned();
    let settings = registry
        .set_agent_settings(proto::SetAgentSettingsRequest {
            agent_id: agent_id(),
            ..proto::SetAgentSettingsRequest::default()
        })
        .await
        .map(drop);
    let rotate = registry
        .rotate_webhook_secret(proto::RotateWebhookSecretRequest {
            agent_id: agent_id(),
            ..proto::RotateWebhookSecretRequest::default()
        })
        .await
        .map(drop);
    let policy = registry
        .get_context_policy(proto::GetContextPolicyRequest {
            agent_id: agent_id(),
            ..proto::GetContextPolicyRequest::default()
        })
        .await
        .map(drop);
    let key = registry
        .create_api_key(proto::CreateApiKeyRequest { agent_id: agent_id(), ..proto::CreateApiKeyRequest::default() })
        .await
        .map(drop);
    let keys = registry.list_api_keys(proto::ListApiKeysRequest { agent_id: agent_id() }).await.map(drop);
    vec![("settings", settings), ("rotate", rotate), ("policy", policy), ("key", key), ("keys", keys)]
}
