//! Recorded chat completions, one after the other: the time to the first token, compared with the model server alone.

use std::time::Duration;

use anyhow::Context as _;
use egress::Refusal;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::back_end::BackEnd;
use super::streams::listener::{Dialect, listen};
use super::streams::model_server::{ModelServer, PATH, WORD};
use super::streams::{configure_agent, settings};
use crate::Plan;
use crate::latency::{Latencies, Measure};
use crate::own_stack::ExtraGateway;
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

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    let gateways = target.gateways.as_ref().context("this suite needs --own-stack")?;
    let model = ModelServer::start(PIECES, Duration::ZERO).await?;
    configure_agent(target).await?;
    let mut gateway = gateways.start(settings(&model))?;
    let through = BackEnd::of_gateway(target, &gateway).await?;
    let direct = BackEnd::of_server(model.url(), String::new(), target.agent.clone())?;
    let outcome = alternate_sides(plan, &direct, &through, &mut gateway).await;
    gateway.process.stop().await;
    Ok(comparison(outcome?))
}

async fn alternate_sides(
    plan: &Plan,
    direct: &BackEnd,
    through: &BackEnd,
    gateway: &mut ExtraGateway,
) -> anyhow::Result<Vec<Round>> {
    through.wait_until_ready(gateway).await?;
    // The first requests open connections.
    chat(direct, TURNS).await?;
    chat(through, TURNS).await?;
    let base = || chat(direct, COMPLETIONS);
    let system = || chat(through, COMPLETIONS);
    alternate(plan.rounds, base, system).await
}

/// Completions in conversations of [`TURNS`] turns; the latency is that of the first token.
async fn chat(back_end: &BackEnd, completions: usize) -> anyhow::Result<Measure> {
    let mut latencies = Latencies::new()?;
    let (mut chat, mut messages) = (String::new(), Vec::new());
    for turn in 0..completions {
        if turn % TURNS == 0 {
            chat = uuid::Uuid::now_v7().to_string();
            messages.clear();
        }
        let question = format!("What was said in turn {turn}?");
        messages.push(json!({"role": "user", "content": question}));
        let request = completion(back_end, &chat, &messages)?;
        let received = listen(request, Dialect::ChatCompletions).await?;
        anyhow::ensure!(received.text == WORD, "an answer with another text");
        latencies.add(received.first);
        messages.push(json!({"role": "assistant", "content": received.text}));
    }
    Ok(latencies.measure_serial())
}

fn completion(back_end: &BackEnd, chat: &str, messages: &[Value]) -> Result<RequestBuilder, Refusal> {
    let body = json!({"model": back_end.agent, "messages": messages, "stream": true});
    let request = back_end.request(Method::POST, PATH)?;
    Ok(request.header("x-hansard-conversation", chat).json(&body))
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
