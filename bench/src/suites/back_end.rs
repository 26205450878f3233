//! A back end with a secret key, which uses OpenAI's APIs over HTTP.

use std::time::Duration;

use egress::{EgressConfig, Policy, Refusal};
use models::EgressClient;
use reqwest::{Method, RequestBuilder, StatusCode};
use wire::proto::operate::v1::{CreateServiceTokenRequest, Scope};

use crate::own_stack::ExtraGateway;
use crate::pace::until;
use crate::target::Target;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A back end of the gateway, or of the model server alone.
pub(super) struct BackEnd {
    client: EgressClient,
    url: String,
    key: String,
    pub(super) agent: String,
}

impl BackEnd {
    /// A back end of the bench's agent, with a new key.
    pub(super) async fn of_gateway(target: &Target, gateway: &ExtraGateway) -> anyhow::Result<Self> {
        let request = CreateServiceTokenRequest {
            display_name: "bench".to_owned(),
            scopes: vec![Scope::Append.into(), Scope::Read.into()],
            agent_ids: vec![target.agent.clone()],
            ..CreateServiceTokenRequest::default()
        };
        let mut registrar = target.writer()?.registry();
        let created = registrar.create_service_token(request).await?;
        let url = format!("{}/openai/v1", gateway.http_url);
        Self::of_server(url, created.into_inner().secret, target.agent.clone())
    }

    /// A back end of another server.
    pub(super) fn of_server(url: String, key: String, agent: String) -> anyhow::Result<Self> {
        let policy = Policy::new(&EgressConfig::loopback());
        Ok(Self { client: EgressClient::new(policy, CONNECT_TIMEOUT)?, url, key, agent })
    }

    pub(super) fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, Refusal> {
        let url = format!("{}{path}", self.url);
        let request = self.client.request(method, &url)?;
        Ok(request.bearer_auth(&self.key))
    }

    /// Waits until the gateway accepts the key.
    pub(super) async fn wait_until_ready(&self, gateway: &mut ExtraGateway) -> anyhow::Result<()> {
        let what = "the gateway did not start";
        let ready = until(what, LOOK_INTERVAL, START_TIMEOUT, async || {
            gateway.process.check_runs()?;
            let answer = self.request(Method::GET, "/models")?.send().await;
            Ok(answer.is_ok_and(|answer| answer.status() == StatusCode::OK))
        });
        ready.await.map(drop)
    }
}
