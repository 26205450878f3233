//! A system whose agents answer slowly, word by word.

use gateway::GatewayConfig;
use gateway::generation::GenerationConfig;
use serde_json::{Value, json};
use tests::agent::Agent;
use tests::door::Door;
use tests::eventually::eventually;
use tests::node::Node;
use tests::operator::Operator;
use tests::program::Program;
use tests::settings::Role;
use tests::stack::{Setup, Stack};
use wire::proto::event::v1::Role as MessageRole;
use wire::proto::operate::v1 as proto;

use super::model::Model;
use super::sse::WORD_DELAY;
use crate::ground::{begin, list, text};

/// A system, an agent whose model takes its time, and a session of its frontend.
pub(crate) struct Talk {
    pub(crate) stack: Stack,
    pub(crate) operator: Operator,
    pub(crate) agent: Agent,
    pub(crate) door: Door,
}

impl Talk {
    pub(crate) async fn new() -> Self {
        Self::with(Vec::new()).await
    }

    /// With tools.
    pub(crate) async fn with(tools: Vec<proto::ToolSettings>) -> Self {
        Self::on(Setup::tasks().prepare().await, tools).await
    }

    /// With a process for every role, which can be killed; a run that nobody makes is ended soon.
    pub(crate) async fn in_processes(program: Program) -> Self {
        let mut stack = Setup::processes(program).prepare().await;
        stack.gateway.settings.gateway.generation = GenerationConfig {
            keep_alive_ms: 250,
            abandoned_after_ms: 2_000,
            sweep_every_ms: 200,
            ..GenerationConfig::default()
        };
        Self::on(stack, Vec::new()).await
    }

    /// With an agent that a model server of the test's answers, and changes to the gateway's settings.
    pub(crate) async fn answered_by(
        model: &Model,
        tools: Vec<proto::ToolSettings>,
        change: impl FnOnce(&mut GatewayConfig),
    ) -> Self {
        let mut stack = Setup::tasks().prepare().await;
        change(&mut stack.gateway.settings.gateway);
        Self::of(stack, tools, model.named("slow")).await
    }

    async fn on(stack: Stack, tools: Vec<proto::ToolSettings>) -> Self {
        let slow = json!({"slow": {"kind": "echo", "echo_word_delay_ms": WORD_DELAY.as_millis()}});
        Self::of(stack, tools, slow).await
    }

    async fn of(mut stack: Stack, tools: Vec<proto::ToolSettings>, models: Value) -> Self {
        stack.gateway.settings.gateway.models = serde_json::from_value(models).unwrap();
        stack.start().await;
        let operator = stack.operator().await;
        let agent = operator.agent("acme", "support").await;
        let settings = proto::AgentSettings {
            model: Some(proto::ModelSettings {
                server: "slow".to_owned(),
                model: "slow".to_owned(),
                ..proto::ModelSettings::default()
            }),
            tools,
            ..open()
        };
        operator.settings("support", settings).await;
        let key = operator.api_key("support").await;
        let door = stack
            .door()
            .with("x-api-key", &key.secret)
            .with("x-session-id", "s");
        eventually("a gateway that knows the key", || async {
            (door.get("/api/chats/none").await.status == 404).then_some(())
        })
        .await;
        Self {
            stack,
            operator,
            agent,
            door,
        }
    }

    /// One more gateway with the same settings, and this session at its door.
    pub(crate) async fn second(&self) -> (Node, Door) {
        let mut other = self.stack.another(Role::Gateway);
        let settings = &self.stack.gateway.settings.gateway;
        other.settings.gateway.models = settings.models.clone();
        other.settings.gateway.generation = settings.generation.clone();
        other.start().await;
        let door = self.door.moved_to(other.settings.gateway.http.server.addr);
        (other, door)
    }

    /// Ends every role, and starts it anew.
    pub(crate) async fn restart(&mut self) {
        self.stack.gateway.stop().await;
        self.stack.projector.stop().await;
        self.stack.writer.stop().await;
        self.stack.start().await;
    }

    pub(crate) async fn chat(&self) -> String {
        begin(&self.door, &json!({})).await
    }

    /// The chat's messages as role and text.
    pub(crate) async fn said(&self, chat: &str) -> Vec<(String, String)> {
        said(&self.door, chat).await
    }

    /// Waits until nothing is being answered.
    pub(crate) async fn idle(&self, chat: &str) {
        idle(&self.door, chat).await;
    }
}

/// Settings whose callers choose their sessions, and may give histories with instructions and answers.
pub(crate) fn open() -> proto::AgentSettings {
    proto::AgentSettings {
        identity_mode: proto::IdentityMode::Open.into(),
        allowed_roles: vec![MessageRole::System.into(), MessageRole::Assistant.into()],
        ..proto::AgentSettings::default()
    }
}

/// The chat's messages as role and text, through any gateway's door.
pub(crate) async fn said(door: &Door, chat: &str) -> Vec<(String, String)> {
    let shown = door.get(&format!("/api/chats/{chat}")).await.ok(200);
    list(&shown, "messages").iter().map(role_and_text).collect()
}

/// Waits until nothing is being answered, as any gateway's door tells it.
pub(crate) async fn idle(door: &Door, chat: &str) {
    let path = format!("/api/chats/{chat}/stream");
    eventually("an answer's end", || async {
        (door.get(&path).await.status == 204).then_some(())
    })
    .await;
}

fn role_and_text(message: &Value) -> (String, String) {
    let texts = list(message, "parts").iter();
    let texts = texts.filter(|part| part["type"] == "text");
    let texts: Vec<&str> = texts.map(|part| text(part, "text")).collect();
    (text(message, "role").to_owned(), texts.join("\n"))
}
