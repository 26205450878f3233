//! How late rows are when the writers are half busy: from the acknowledgement until the row can be read.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use hansard::client::AppendStream;
use wire::proto::write::v1::append_stream_request::Command;

use super::append;
use crate::Plan;
use crate::floor::Floors;
use crate::latency::Measure;
use crate::pace::{Paced, paced_loop};
use crate::report::{Comparison, Report, Threshold, Verdict};
use crate::rounds::{alone, median};
use crate::setup::{self, Fill};
use crate::target::Target;
use crate::watch::{Arrivals, caught_up};

const LAG_P99_MS: Threshold = Threshold::AtMost(250.0);
const HALF: f64 = 0.5;

pub(super) async fn measure(
    plan: &Plan,
    target: &Target,
    report: &Report,
) -> anyhow::Result<Comparison> {
    let floors = target
        .floors
        .as_ref()
        .context("to see rows, give --nats-url and --database-url")?;
    let at_most = match full_load(report) {
        Some(rate) => rate,
        None => append::stream_alone(plan, target).await?,
    };
    let fill = Fill {
        name: "lag",
        conversations: plan.conversations,
        messages: 0,
        event_bytes: plan.event_bytes,
    };
    let conversations = setup::conversations(target, fill).await?;
    caught_up(floors).await?;
    let paced = Paced {
        per_second: at_most * HALF,
        in_flight_max: plan.in_flight,
        duration: plan.duration,
    };
    let rounds = alone(plan.rounds, || {
        turn(plan, target, (floors, paced), Arc::clone(&conversations))
    });
    let rounds = rounds.await?;
    let lag = median(
        rounds
            .iter()
            .map(|round| round.system.latency.p99_ms)
            .collect(),
    );
    let verdicts = lag.map(|lag| Verdict::of("ms of lag, p99", lag, LAG_P99_MS));
    Ok(Comparison {
        title: "lag of the rows at half load".to_owned(),
        load: format!(
            "{:.0} commits a second, half of what streams reach; times from the acknowledgement \
             until the row can be read",
            paced.per_second,
        ),
        unit: "commits",
        base: "",
        beside: None,
        system: "projector",
        rounds,
        verdicts: verdicts.into_iter().collect(),
        notes: Vec::new(),
    })
}

/// What streams reached in this run.
fn full_load(report: &Report) -> Option<f64> {
    let of_streams = |comparison: &&Comparison| comparison.title == append::STREAM_TITLE;
    let comparison = report.comparisons.iter().find(of_streams)?;
    median(
        comparison
            .rounds
            .iter()
            .map(|round| round.system.per_second)
            .collect(),
    )
}

async fn turn(
    plan: &Plan,
    target: &Target,
    (floors, paced): (&Floors, Paced),
    conversations: Arc<[String]>,
) -> anyhow::Result<Measure> {
    let streams: Arc<[AppendStream]> = target
        .writers
        .iter()
        .map(|writer| AppendStream::to(writer, plan.in_flight))
        .collect();
    let arrivals = Arrivals::watch(&floors.rows);
    let teller = arrivals.teller(floors);
    let events = setup::messages(plan.events_per_commit, plan.event_bytes);
    let template = Arc::new(setup::append(target, "", events));
    let load = paced_loop(paced, move |number| {
        let (streams, conversations) = (Arc::clone(&streams), Arc::clone(&conversations));
        let (template, teller) = (Arc::clone(&template), teller.clone());
        async move {
            let stream = streams.get(number % streams.len()).context("no writer")?;
            let conversation = conversations
                .get(number % conversations.len())
                .context("no conversation")?;
            let command = Command::AppendEvents(setup::again(&template, conversation));
            let result = stream.send(command).await?;
            teller.tell(&result.position_token)
        }
    })
    .await?;
    let lag = tokio::time::timeout(Duration::from_mins(5), arrivals.settle()).await??;
    Ok(Measure {
        per_second: load.per_second,
        latency: lag,
    })
}
