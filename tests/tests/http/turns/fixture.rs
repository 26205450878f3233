//! A system whose agents answer slowly, word by word.

use gateway::GatewayConfig;
use generation::GenerationConfig;
use serde_json::{Value, json};
use tests::agent::Agent;
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use tests::node::Node;
use tests::operator::Operator;
use tests::program::Program;
use tests::settings::Role;
use tests::shared::{TestStack, WORD_DELAY};
use tests::stack::{Setup, Stack};
use wire::proto::event::v1::Role as MessageRole;
use wire::proto::operate::v1 as proto;

use super::model::Model;
use crate::fixture::{begin, list, text};

/// A system, an agent with a slow model, and a session of its frontend.
pub(crate) struct TurnFixture {
    pub(crate) stack: TestStack,
    pub(crate) operator: Operator,
    pub(crate) tenant: &'static str,
    pub(crate) agent_id: &'static str,
    pub(crate) agent: Agent,
    pub(crate) client: HttpClient,
}

impl TurnFixture {
    /// A new tenant of the shared stack.
    pub(crate) async fn new() -> Self {
        Self::with(Vec::new()).await
    }

    /// The same, with tools.
    pub(crate) async fn with(tools: Vec<proto::ToolSettings>) -> Self {
        Box::pin(Self::of(TestStack::Shared(Stack::shared().await), tools)).await
    }

    /// In a stack of the test, to stop its roles.
    pub(crate) async fn own() -> Self {
        Self::own_with(Vec::new()).await
    }

    /// The same, with tools.
    pub(crate) async fn own_with(tools: Vec<proto::ToolSettings>) -> Self {
        Self::on(Setup::tasks().prepare().await, tools).await
    }

    /// With a process for every role, which can be killed; an abandoned run ends soon.
    pub(crate) async fn in_processes(program: Program) -> Self {
        let mut stack = Setup::processes(program).prepare().await;
        stack.gateway.settings.gateway.generation = GenerationConfig {
            // Longer than the machine may delay the parts of a run that is not abandoned.
            abandoned_after_ms: 6_000,
            ..GenerationConfig::default()
        };
        Self::on(stack, Vec::new()).await
    }

    /// With a model server of the test for the agent, and changed settings of the gateway.
    pub(crate) async fn with_model(
        model: &Model,
        tools: Vec<proto::ToolSettings>,
        change: impl FnOnce(&mut GatewayConfig),
    ) -> Self {
        let mut stack = Setup::tasks().prepare().await;
        change(&mut stack.gateway.settings.gateway);
        Self::start(stack, tools, model.settings_as("slow")).await
    }

    async fn on(stack: Stack, tools: Vec<proto::ToolSettings>) -> Self {
        let slow = json!({"slow": {"kind": "echo", "echo_word_delay_ms": WORD_DELAY.as_millis()}});
        Self::start(stack, tools, slow).await
    }

    async fn start(mut stack: Stack, tools: Vec<proto::ToolSettings>, models: Value) -> Self {
        stack.gateway.settings.gateway.models = serde_json::from_value(models).unwrap();
        stack.start().await;
        Box::pin(Self::of(TestStack::own(stack), tools)).await
    }

    async fn of(stack: TestStack, tools: Vec<proto::ToolSettings>) -> Self {
        let operator = stack.operator().await;
        let [tenant, agent_id] = stack.names(["acme", "support"]);
        let agent = operator.agent(tenant, agent_id).await;
        let settings = proto::AgentSettings {
            model: Some(proto::ModelSettings {
                server: "slow".to_owned(),
                model: "slow".to_owned(),
                ..proto::ModelSettings::default()
            }),
            tools,
            ..open_settings()
        };
        operator.settings(agent_id, settings).await;
        let key = operator.api_key(agent_id).await;
        let client = stack.http_client().with("x-api-key", &key.secret).with("x-session-id", "s");
        eventually("a gateway that knows the key", || async {
            (client.get("/api/chats/none").await.status == 404).then_some(())
        })
        .await;
        Self { stack, operator, tenant, agent_id, agent, client }
    }

    /// One more gateway with the same settings, and a client of it with this session.
    pub(crate) async fn second_gateway(&self) -> (Node, HttpClient) {
        let mut other = self.stack.another(Role::Gateway);
        let settings = &self.stack.gateway.settings.gateway;
        other.settings.gateway.models = settings.models.clone();
        other.settings.gateway.generation = settings.generation.clone();
        other.settings.gateway.http.server.request_timeout_ms = settings.http.server.request_timeout_ms;
        other.start().await;
        let client = self.client.with_addr(other.settings.gateway.http.server.addr);
        (other, client)
    }

    /// Restarts every role.
    pub(crate) async fn restart(&mut self) {
        self.stack.gateway.stop().await;
        self.stack.projector.stop().await;
        self.stack.writer.stop().await;
        self.stack.start().await;
    }

    pub(crate) async fn chat(&self) -> String {
        begin(&self.client, &json!({})).await
    }

    /// The chat's messages as role and text.
    pub(crate) async fn messages(&self, chat: &str) -> Vec<(String, String)> {
        messages(&self.client, chat).await
    }

    /// Waits until no answer is in progress.
    pub(crate) async fn idle(&self, chat: &str) {
        idle(&self.client, chat).await;
    }
}

/// Settings for callers with any session ids, who may give histories with instructions and answers.
pub(crate) fn open_settings() -> proto::AgentSettings {
    proto::AgentSettings {
        identity_mode: proto::IdentityMode::Open.into(),
        allowed_roles: vec![MessageRole::System.into(), MessageRole::Assistant.into()],
        frontend: Some(proto::FrontendSettings {
            tool_calls: proto::ToolCallDetail::Full.into(),
            ..proto::FrontendSettings::default()
        }),
        ..proto::AgentSettings::default()
    }
}

/// The chat's messages as role and text, from any gateway.
pub(crate) async fn messages(client: &HttpClient, chat: &str) -> Vec<(String, String)> {
    let shown = client.get(&format!("/api/chats/{chat}")).await.ok(200);
    list(&shown, "messages").iter().map(role_and_text).collect()
}

/// Waits until no answer is in progress, at any gateway.
pub(crate) async fn idle(client: &HttpClient, chat: &str) {
    let path = format!("/api/chats/{chat}/stream");
    eventually("an answer's end", || async { (client.get(&path).await.status == 204).then_some(()) }).await;
}

fn role_and_text(message: &Value) -> (String, String) {
    let texts: Vec<&str> =
        list(message, "parts").iter().filter(|part| part["type"] == "text").map(|part| text(part, "text")).collect();
    (text(message, "role").to_owned(), texts.join("\n"))
}
