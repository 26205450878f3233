//! Many answers at once: how late a gateway's first part is, and what it holds, next to the model server read directly.

mod listener;
mod model_server;

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
use crate::own_stack::MoreGateway;
use crate::pace::until;
use crate::report::{Comparison, Resident, Round, Threshold, Verdict};
use crate::rounds::{alternate, median};
use crate::target::Target;
use listener::{Dialect, listen};
use model_server::{EVERY, FIRST, ModelServer, PATH};

pub(super) const TITLE: &str = "first parts of 200 answers at once";

/// Beyond the model's own first piece.
const FIRST_PART_P99_MS: Threshold = Threshold::AtMost(150.0);
/// Beyond what the gateway held before, for each stream.
const MEMORY_KIB: Threshold = Threshold::AtMost(1_024.0);
const STREAMS: usize = 200;
/// Chats that are begun at once.
const BEGUN_AT_ONCE: usize = 32;
/// The model server, as the gateway's settings name it.
const SERVER: &str = "bench";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
const START_PATIENCE: Duration = Duration::from_secs(30);
const MIB: f64 = 1_048_576.0;

/// A gateway whose model is the bench's, and its frontend.
struct Door {
    url: String,
    key: String,
    client: EgressClient,
}

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    let gateways = target.gateways.as_ref();
    let gateways = gateways.context("to stream answers, give --own-stack")?;
    let pieces = usize::try_from(plan.duration.as_millis() / EVERY.as_millis())?.max(1);
    let model = ModelServer::start(pieces).await?;
    let key = frontend(target).await?;
    let mut gateway = gateways.start(settings(&model))?;
    let door = Door {
        url: gateway.http_url().to_owned(),
        key,
        client: EgressClient::new(Policy::new(&EgressConfig::loopback()), CONNECT_TIMEOUT)?,
    };
    let whole = model_server::text(pieces);
    let outcome = turns(plan, (&door, &model, &whole), &mut gateway).await;
    gateway.stop().await;
    let (rounds, held) = outcome?;
    Ok(compared(pieces, rounds, held))
}

/// An agent's key, its model being the bench's. The bench chooses its sessions.
async fn frontend(target: &Target) -> anyhow::Result<String> {
    let writer = target.writers.first().context("no writer")?;
    let mut registrar = writer.registry();
    let model = ModelSettings {
        server: SERVER.to_owned(),
        model: SERVER.to_owned(),
        ..ModelSettings::default()
    };
    let request = SetAgentSettingsRequest {
        agent_id: target.agent.clone(),
        settings: Some(AgentSettings {
            model: Some(model),
            identity_mode: IdentityMode::Open.into(),
            ..AgentSettings::default()
        }),
        update_mask: None,
    };
    registrar.set_agent_settings(request).await?;
    let request = CreateApiKeyRequest {
        agent_id: target.agent.clone(),
        ..CreateApiKeyRequest::default()
    };
    let made = registrar.create_api_key(request).await?.into_inner();
    Ok(made.secret)
}

/// The bench is one address, and asks more often than one may.
fn settings(model: &ModelServer) -> Vec<String> {
    let limits = ["key", "address"].into_iter().flat_map(|whose| {
        ["per_second", "burst"].map(|what| format!("http.limits.{whose}.{what}=1000000"))
    });
    let server = [
        format!("models.{SERVER}.kind=openai_chat"),
        format!("models.{SERVER}.base_url={}", model.url()),
        "quotas.address.runs=1000000".to_owned(),
    ];
    limits.chain(server).collect()
}

/// Lets both sides take turns; what the gateway held before them, and after.
async fn turns(
    plan: &Plan,
    (door, model, whole): (&Door, &ModelServer, &str),
    gateway: &mut MoreGateway,
) -> anyhow::Result<(Vec<Round>, Option<(Resident, Resident)>)> {
    door.wait_until_served(gateway).await?;
    streamed(door.asked(1).await?, Dialect::UiMessages, whole).await?;
    let before = gateway.resident();
    let url = format!("{}{PATH}", model.url());
    let direct = async || {
        let ask = || Ok(door.client.request(Method::POST, &url)?.body("{}"));
        let requests: Result<_, Refusal> = std::iter::repeat_with(ask).take(STREAMS).collect();
        streamed(requests?, Dialect::ChatCompletions, whole).await
    };
    let through = async || {
        let requests = door.asked(STREAMS).await?;
        streamed(requests, Dialect::UiMessages, whole).await
    };
    let rounds = alternate(plan.rounds, direct, through).await?;
    Ok((rounds, before.zip(gateway.resident())))
}

/// Asks everything at once, and hears all of it; the latency is that of the first text.
async fn streamed(
    requests: Vec<RequestBuilder>,
    dialect: Dialect,
    whole: &str,
) -> anyhow::Result<Measure> {
    let begun = Instant::now();
    let mut streams = JoinSet::new();
    for request in requests {
        streams.spawn(listen(request, dialect));
    }
    let mut latencies = Latencies::new()?;
    while let Some(heard) = streams.join_next().await {
        let heard = heard??;
        anyhow::ensure!(heard.text == whole, "an answer that is not what was said");
        latencies.add(heard.first);
    }
    Ok(latencies.measure(begun.elapsed()))
}

impl Door {
    /// Requests of so many new chats, each of a session of its own, that say something.
    async fn asked(&self, chats: usize) -> anyhow::Result<Vec<RequestBuilder>> {
        let begin = |_| async {
            let session = uuid::Uuid::now_v7().to_string();
            let begun = self
                .post("/api/chats", &session, &json!({}))?
                .send()
                .await?;
            let begun: Value = begun.error_for_status()?.json().await?;
            let id = begun.get("id").and_then(Value::as_str);
            let path = format!("/api/chats/{}/messages", id.context("a chat without id")?);
            anyhow::Ok(self.post(&path, &session, &json!({"content": "What was said?"}))?)
        };
        let asked = stream::iter(0..chats).map(begin).buffered(BEGUN_AT_ONCE);
        asked.try_collect().await
    }

    fn post(&self, path: &str, session: &str, body: &Value) -> Result<RequestBuilder, Refusal> {
        let url = format!("{}{path}", self.url);
        let request = self.client.request(Method::POST, &url)?;
        let request = request.header("x-api-key", &self.key);
        Ok(request.header("x-session-id", session).json(body))
    }

    /// Waits until the gateway knows the key.
    async fn wait_until_served(&self, gateway: &mut MoreGateway) -> anyhow::Result<()> {
        let what = "the gateway does not serve";
        until(what, (LOOK_INTERVAL, START_PATIENCE), async || {
            gateway.check_runs()?;
            let url = format!("{}/api/chats/none", self.url);
            let asked = self.client.request(Method::GET, &url)?;
            let asked = asked.header("x-api-key", &self.key);
            let answer = asked.header("x-session-id", "none").send().await;
            Ok(answer.is_ok_and(|answer| answer.status() == reqwest::StatusCode::NOT_FOUND))
        })
        .await?;
        Ok(())
    }
}

fn compared(pieces: usize, rounds: Vec<Round>, held: Option<(Resident, Resident)>) -> Comparison {
    let own_ms = FIRST.as_secs_f64() * 1_000.0;
    let beyond = rounds
        .iter()
        .map(|round| round.system.latency.p99_ms - own_ms);
    let beyond = median(beyond.collect());
    let first = beyond.map(|beyond| {
        let figure = "ms of the first part beyond the model's own, p99";
        Verdict::of(figure, beyond, FIRST_PART_P99_MS)
    });
    let memory = held.map(|(before, after)| {
        let grown = after.peak_bytes.saturating_sub(before.now_bytes);
        let a_stream = real(grown) / real(u64::try_from(STREAMS).unwrap_or(u64::MAX)) / 1_024.0;
        let figure = "KiB of the gateway's memory for each stream, at its peak";
        Verdict::of(figure, a_stream, MEMORY_KIB)
    });
    let notes = held.map(|(before, after)| {
        let mib = |bytes| real(bytes) / MIB;
        format!(
            "the gateway's memory: {:.0} MiB before, {:.0} MiB at most, {:.0} MiB after",
            mib(before.now_bytes),
            mib(after.peak_bytes),
            mib(after.now_bytes),
        )
    });
    Comparison {
        title: TITLE.to_owned(),
        load: format!(
            "{STREAMS} streams asked for at once, each of {pieces} pieces: the first after {} ms, one more every {} ms",
            FIRST.as_millis(),
            EVERY.as_millis(),
        ),
        unit: "streams",
        base: "model server",
        beside: None,
        system: "gateway",
        rounds,
        verdicts: first.into_iter().chain(memory).collect(),
        notes: notes.into_iter().collect(),
    }
}
