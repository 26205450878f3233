//! Concurrent streamed answers: latency of the first part and memory of a gateway, comparison with the model server alone.

pub(super) mod listener;
pub(super) mod model_server;

use std::time::Duration;

use anyhow::Context as _;
use egress::{EgressConfig, Policy, Refusal};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use models::EgressClient;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;
use wire::proto::operate::v1::{
    AgentSettings, CreateApiKeyRequest, IdentityMode, ModelSettings, SetAgentSettingsRequest,
};

use crate::Plan;
use crate::latency::{Latencies, Measure, real};
use crate::own_stack::ExtraGateway;
use crate::pace::until;
use crate::report::{Comparison, Resident, Round, Threshold, Verdict};
use crate::rounds::{alternate, median};
use crate::target::Target;
use listener::{Dialect, listen};
use model_server::{EVERY, FIRST, ModelServer, PATH, WORD};

pub(super) const TITLE: &str = "first parts of 200 answers at once";

/// In addition to the model's own first piece.
const FIRST_PART_P99_MS: Threshold = Threshold::AtMost(150.0);
/// In addition to the gateway's memory before, per stream.
const MEMORY_KIB: Threshold = Threshold::AtMost(1_024.0);
const STREAMS: usize = 200;
const CHATS_IN_FLIGHT: usize = 32;
/// The model server's name in the gateway's settings.
const SERVER: &str = "bench";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
const START_TIMEOUT: Duration = Duration::from_secs(30);
const MIB: f64 = 1_048_576.0;

/// A frontend of a gateway that uses the bench's model server.
struct Frontend {
    url: String,
    key: String,
    client: EgressClient,
}

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    let gateways = target.gateways.as_ref().context("this suite needs --own-stack")?;
    let pieces = usize::try_from(plan.duration.as_millis() / EVERY.as_millis())?.max(1);
    let model = ModelServer::start(pieces, FIRST).await?;
    let key = create_key(target).await?;
    let mut gateway = gateways.start(settings(&model))?;
    let frontend = Frontend {
        url: gateway.http_url.clone(),
        key,
        client: EgressClient::new(Policy::new(&EgressConfig::loopback()), CONNECT_TIMEOUT)?,
    };
    let whole = WORD.repeat(pieces);
    let outcome = alternate_sides(plan, (&frontend, &model, &whole), &mut gateway).await;
    gateway.process.stop().await;
    let (rounds, held) = outcome?;
    Ok(comparison(pieces, rounds, held))
}

/// Configures the agent with the bench's model and open identity, and creates an API key.
async fn create_key(target: &Target) -> anyhow::Result<String> {
    configure_agent(target).await?;
    let request = CreateApiKeyRequest { agent_id: target.agent.clone(), ..CreateApiKeyRequest::default() };
    let mut registrar = target.writer()?.registry();
    let created = registrar.create_api_key(request).await?.into_inner();
    Ok(created.secret)
}

/// Configures the agent with the bench's model and open identity.
pub(super) async fn configure_agent(target: &Target) -> anyhow::Result<()> {
    let model = ModelSettings { server: SERVER.to_owned(), model: SERVER.to_owned(), ..ModelSettings::default() };
    let request = SetAgentSettingsRequest {
        agent_id: target.agent.clone(),
        settings: Some(AgentSettings {
            model: Some(model),
            identity_mode: IdentityMode::Open.into(),
            ..AgentSettings::default()
        }),
        update_mask: None,
    };
    let mut registrar = target.writer()?.registry();
    registrar.set_agent_settings(request).await?;
    Ok(())
}

/// The bench is a single address that exceeds the default limits.
pub(super) fn settings(model: &ModelServer) -> Vec<String> {
    let limits = ["key", "address"]
        .into_iter()
        .flat_map(|whose| ["per_second", "burst"].map(|what| format!("http.limits.{whose}.{what}=1000000")));
    let server = [
        format!("models.{SERVER}.kind=openai_chat"),
        format!("models.{SERVER}.base_url={}", model.url()),
        "quotas.address.runs=1000000".to_owned(),
    ];
    limits.chain(server).collect()
}

/// Alternates both sides; also returns the gateway's memory before and after.
async fn alternate_sides(
    plan: &Plan,
    (frontend, model, whole): (&Frontend, &ModelServer, &str),
    gateway: &mut ExtraGateway,
) -> anyhow::Result<(Vec<Round>, Option<(Resident, Resident)>)> {
    frontend.wait_until_ready(gateway).await?;
    streamed(frontend.message_requests(1).await?, Dialect::UiMessages, whole).await?;
    let before = gateway.process.resident();
    let url = format!("{}{PATH}", model.url());
    let direct = async || {
        let request = || Ok(frontend.client.request(Method::POST, &url)?.body("{}"));
        let requests: Result<_, Refusal> = std::iter::repeat_with(request).take(STREAMS).collect();
        streamed(requests?, Dialect::ChatCompletions, whole).await
    };
    let through = async || {
        let requests = frontend.message_requests(STREAMS).await?;
        streamed(requests, Dialect::UiMessages, whole).await
    };
    let rounds = alternate(plan.rounds, direct, through).await?;
    Ok((rounds, before.zip(gateway.process.resident())))
}

/// Sends all requests at once and reads all streams; the latency is that of the first text.
async fn streamed(requests: Vec<RequestBuilder>, dialect: Dialect, whole: &str) -> anyhow::Result<Measure> {
    let start = Instant::now();
    let mut streams = JoinSet::new();
    for request in requests {
        streams.spawn(listen(request, dialect));
    }
    let mut latencies = Latencies::new()?;
    while let Some(received) = streams.join_next().await {
        let received = received??;
        anyhow::ensure!(received.text == whole, "an answer with another text");
        latencies.add(received.first);
    }
    Ok(latencies.measure(start.elapsed()))
}

impl Frontend {
    /// Creates chats, each with its own session; returns requests that post a message to each.
    async fn message_requests(&self, chats: usize) -> anyhow::Result<Vec<RequestBuilder>> {
        let create = |_| async {
            let session = uuid::Uuid::now_v7().to_string();
            let created: Value =
                self.post("/api/chats", &session, &json!({}))?.send().await?.error_for_status()?.json().await?;
            let id = created.get("id").and_then(Value::as_str);
            let path = format!("/api/chats/{}/messages", id.context("a chat without id")?);
            anyhow::Ok(self.post(&path, &session, &json!({"content": "What was said?"}))?)
        };
        let requests = stream::iter(0..chats).map(create).buffered(CHATS_IN_FLIGHT);
        requests.try_collect().await
    }

    fn post(&self, path: &str, session: &str, body: &Value) -> Result<RequestBuilder, Refusal> {
        Ok(self.request(Method::POST, path, session)?.json(body))
    }

    fn request(&self, method: Method, path: &str, session: &str) -> Result<RequestBuilder, Refusal> {
        let url = format!("{}{path}", self.url);
        let request = self.client.request(method, &url)?.header("x-api-key", &self.key);
        Ok(request.header("x-session-id", session))
    }

    /// Waits until the gateway accepts the key.
    async fn wait_until_ready(&self, gateway: &mut ExtraGateway) -> anyhow::Result<()> {
        let what = "the gateway did not start";
        let ready = until(what, LOOK_INTERVAL, START_TIMEOUT, async || {
            gateway.process.check_runs()?;
            let request = self.request(Method::GET, "/api/chats/none", "none")?;
            let answer = request.send().await;
            Ok(answer.is_ok_and(|answer| answer.status() == reqwest::StatusCode::NOT_FOUND))
        });
        ready.await.map(drop)
    }
}

fn comparison(pieces: usize, rounds: Vec<Round>, held: Option<(Resident, Resident)>) -> Comparison {
    let own_ms = FIRST.as_secs_f64() * 1_000.0;
    let delay = median(rounds.iter().map(|round| round.system.latency.p99_ms - own_ms).collect());
    let first = delay.map(|delay| {
        let figure = "first part p99 minus the model's own, ms";
        Verdict::of(figure, delay, FIRST_PART_P99_MS)
    });
    let memory = held.map(|(before, after)| {
        let grown = after.peak_bytes.saturating_sub(before.now_bytes);
        let a_stream = real(grown) / real(u64::try_from(STREAMS).unwrap_or(u64::MAX)) / 1_024.0;
        let figure = "peak memory of the gateway per stream, KiB";
        Verdict::of(figure, a_stream, MEMORY_KIB)
    });
    let notes = held.map(|(before, after)| {
        let mib = |bytes| real(bytes) / MIB;
        format!(
            "memory of the gateway: {:.0} MiB before, {:.0} MiB peak, {:.0} MiB after",
            mib(before.now_bytes),
            mib(after.peak_bytes),
            mib(after.now_bytes),
        )
    });
    Comparison {
        title: TITLE.to_owned(),
        load: format!(
            "{STREAMS} concurrent streams, each of {pieces} pieces: the first after {} ms, then one every {} ms",
            FIRST.as_millis(),
            EVERY.as_millis(),
        ),
        unit: "streams",
        base: "model server",
        system: "gateway",
        rounds,
        verdicts: first.into_iter().chain(memory).collect(),
        notes: notes.into_iter().collect(),
        ..Comparison::default()
    }
}
