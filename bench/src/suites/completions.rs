//! Recorded chat completions, one after the other: the time to the first token, compared with the model server alone.

use std::time::Duration;

use anyhow::Context as _;
use egress::{EgressConfig, Policy, Refusal};
use models::EgressClient;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use wire::proto::operate::v1::{CreateServiceTokenRequest, Scope};

use super::streams::listener::{Dialect, listen};
use super::streams::model_server::{ModelServer, PATH, WORD};
use super::streams::{configure_agent, settings};
use crate::Plan;
use crate::latency::{Latencies, Measure};
use crate::own_stack::ExtraGateway;
use crate::pace::until;
use crate::report::{Comparison, Round, Threshold, Verdict};
use crate::rounds::{alternate, median};
use crate::target::Target;

pub(super) const TITLE: &str = "first tokens of recorded chat completions";

/// In addition to the model server's own.
const FIRST_TOKEN_P50_MS: Threshold = Threshold::AtMost(10.0);
/// Completions of a side in a round.
const COMPLETIONS: usize = 200;
/// Turns of a conversation: each request sends all earlier ones.
const TURNS: usize = 10;
/// Pieces of an answer.
const PIECES: usize = 1;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A back end that chats with an agent, or with the model server.
struct BackEnd {
    client: EgressClient,
    url: String,
    key: String,
    agent: String,
}

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    let gateways = target.gateways.as_ref();
    let gateways = gateways.context("this suite needs --own-stack")?;
    let model = ModelServer::start(PIECES, Duration::ZERO).await?;
    configure_agent(target).await?;
    let key = create_key(target).await?;
    let mut gateway = gateways.start(settings(&model))?;
    let client = || EgressClient::new(Policy::new(&EgressConfig::loopback()), CONNECT_TIMEOUT);
    let through = BackEnd {
        client: client()?,
        url: format!("{}/openai/v1", gateway.http_url),
        key,
        agent: target.agent.clone(),
    };
    let direct = BackEnd {
        client: client()?,
        url: model.url(),
        key: String::new(),
        agent: target.agent.clone(),
    };
    let outcome = alternate_sides(plan, &direct, &through, &mut gateway).await;
    gateway.process.stop().await;
    Ok(comparison(outcome?))
}

async fn create_key(target: &Target) -> anyhow::Result<String> {
    let request = CreateServiceTokenRequest {
        display_name: "bench".to_owned(),
        scopes: vec![Scope::Append.into(), Scope::Read.into()],
        agent_ids: vec![target.agent.clone()],
        ..CreateServiceTokenRequest::default()
    };
    let mut registrar = target.writer()?.registry();
    let created = registrar.create_service_token(request).await?;
    Ok(created.into_inner().secret)
}

async fn alternate_sides(
    plan: &Plan,
    direct: &BackEnd,
    through: &BackEnd,
    gateway: &mut ExtraGateway,
) -> anyhow::Result<Vec<Round>> {
    through.wait_until_ready(gateway).await?;
    // The first requests open connections.
    direct.chat(TURNS).await?;
    through.chat(TURNS).await?;
    let base = || direct.chat(COMPLETIONS);
    let system = || through.chat(COMPLETIONS);
    alternate(plan.rounds, base, system).await
}

impl BackEnd {
    /// Completions in conversations of [`TURNS`] turns; the latency is that of the first token.
    async fn chat(&self, completions: usize) -> anyhow::Result<Measure> {
        let mut latencies = Latencies::new()?;
        let (mut chat, mut messages) = (String::new(), Vec::new());
        for turn in 0..completions {
            if turn % TURNS == 0 {
                chat = uuid::Uuid::now_v7().to_string();
                messages.clear();
            }
            let question = format!("What was said in turn {turn}?");
            messages.push(json!({"role": "user", "content": question}));
            let received = listen(self.completion(&chat, &messages)?, Dialect::ChatCompletions);
            let received = received.await?;
            anyhow::ensure!(received.text == WORD, "an answer with another text");
            latencies.add(received.first);
            messages.push(json!({"role": "assistant", "content": received.text}));
        }
        Ok(latencies.measure_serial())
    }

    fn completion(&self, chat: &str, messages: &[Value]) -> Result<RequestBuilder, Refusal> {
        let body = json!({"model": self.agent, "messages": messages, "stream": true});
        let request = self.request(Method::POST, PATH)?;
        Ok(request.header("x-hansard-conversation", chat).json(&body))
    }

    fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, Refusal> {
        let url = format!("{}{path}", self.url);
        let request = self.client.request(method, &url)?;
        Ok(request.bearer_auth(&self.key))
    }

    /// Waits until the gateway accepts the key.
    async fn wait_until_ready(&self, gateway: &mut ExtraGateway) -> anyhow::Result<()> {
        let what = "the gateway did not start";
        let ready = until(what, LOOK_INTERVAL, START_TIMEOUT, async || {
            gateway.process.check_runs()?;
            let answer = self.request(Method::GET, "/models")?.send().await;
            Ok(answer.is_ok_and(|answer| answer.status() == StatusCode::OK))
        });
        ready.await.map(drop)
    }
}

fn comparison(rounds: Vec<Round>) -> Comparison {
    let delay = rounds.iter().filter_map(|round| {
        let base = round.base.as_ref()?;
        Some(round.system.latency.p50_ms - base.latency.p50_ms)
    });
    let delay = median(delay.collect());
    let verdict = delay.map(|delay| {
        let figure = "first token p50 minus the model server's, ms";
        Verdict::of(figure, delay, FIRST_TOKEN_P50_MS)
    });
    Comparison {
        title: TITLE.to_owned(),
        load: format!(
            "{COMPLETIONS} completions one after the other, in conversations of {TURNS} turns; each request sends the whole history"
        ),
        unit: "completions",
        base: "model server",
        system: "gateway",
        rounds,
        verdicts: verdict.into_iter().collect(),
        ..Comparison::default()
    }
}
