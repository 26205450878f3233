//! Lag of the rows at half load: from the acknowledgement until the row can be read.

use std::sync::Arc;
use std::time::Duration;

use hansard::client::AppendStream;
use wire::proto::write::v1::AppendEventsRequest;
use wire::proto::write::v1::append_stream_request::Command;

use super::append;
use crate::Plan;
use crate::baseline::Baselines;
use crate::latency::Measure;
use crate::pace::{OpenLoop, pick};
use crate::report::{Comparison, Report, Threshold, Verdict};
use crate::rounds::{alone, median};
use crate::setup::{self, Fill};
use crate::target::Target;
use crate::watch::{arrivals, caught_up};

const LAG_P99_MS: Threshold = Threshold::AtMost(250.0);
const HALF: f64 = 0.5;

pub(super) async fn measure(plan: &Plan, target: &Target, report: &Report) -> anyhow::Result<Comparison> {
    let baselines = target.required_baselines()?;
    let at_most = match full_load(report) {
        Some(rate) => rate,
        None => append::stream_alone(plan, target).await?,
    };
    let fill = Fill {
        name: "lag",
        conversations: plan.conversations,
        messages: 0,
        per_commit: setup::IMPORT,
        event_bytes: plan.event_bytes,
    };
    let conversations = setup::conversations(target, fill).await?;
    caught_up(baselines).await?;
    let paced = OpenLoop { per_second: at_most * HALF, in_flight_max: plan.in_flight_max(), duration: plan.duration };
    let streams = target.writers.iter().map(|writer| AppendStream::to(writer, plan.in_flight_max()));
    let messages = setup::messages(plan.events_per_commit, plan.event_bytes);
    let commits =
        Arc::new(Commits { streams: streams.collect(), conversations, template: setup::append(target, "", messages) });
    let rounds = alone(plan.rounds, || lag(baselines, paced, Arc::clone(&commits))).await?;
    let lags = rounds.iter().map(|round| round.system.latency.p99_ms);
    let verdicts = median(lags.collect()).map(|lag| Verdict::of("lag p99, ms", lag, LAG_P99_MS));
    Ok(Comparison {
        title: "lag of the rows at half load".to_owned(),
        load: format!(
            "{:.0} commits per second, half of the streams' throughput; times from the acknowledgement until the row can \
            be read",
            paced.per_second,
        ),
        unit: "commits",
        system: "projector",
        rounds,
        verdicts: verdicts.into_iter().collect(),
        ..Comparison::default()
    })
}

/// The throughput of streams in this run.
fn full_load(report: &Report) -> Option<f64> {
    let of_streams = |comparison: &&Comparison| comparison.title == append::STREAM_TITLE;
    let comparison = report.comparisons.iter().find(of_streams)?;
    let rates = comparison.rounds.iter().map(|round| round.system.per_second);
    median(rates.collect())
}

struct Commits {
    streams: Vec<AppendStream>,
    conversations: Arc<[String]>,
    template: AppendEventsRequest,
}

/// The rate of commits, and the lag of their rows.
async fn lag(baselines: &Baselines, paced: OpenLoop, commits: Arc<Commits>) -> anyhow::Result<Measure> {
    let (reporter, watching) = arrivals(baselines);
    let load = paced.measure((commits, reporter), |(commits, reporter), number| async move {
        let conversation = pick(&commits.conversations, number)?;
        let request = setup::from_template(&commits.template, conversation);
        let stream = pick(&commits.streams, number)?;
        let result = stream.send(Command::AppendEvents(request)).await?;
        reporter.report(&result.position_token)
    });
    let per_second = load.await?.per_second;
    let latency = tokio::time::timeout(Duration::from_mins(5), watching).await???;
    Ok(Measure { per_second, latency })
}
