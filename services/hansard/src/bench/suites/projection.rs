//! How fast rows follow a backlog, against a bare insert of the same rows.
//!
//! The projector is stopped while the backlog is made, where it may be; elsewhere the backlog is made faster than it can
//! be projected, and what is left of it when the load ends is projected alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use futures::future::try_join_all;
use wire::proto::write::v1::append_stream_request::Command;

use crate::bench::Plan;
use crate::bench::floor::Floors;
use crate::bench::latency::{Latency, Measure, real};
use crate::bench::pace::until;
use crate::bench::report::{Comparison, Threshold, Verdict};
use crate::bench::rounds::{alternate, median_ratio};
use crate::bench::setup::{self, Fill};
use crate::bench::target::Target;
use crate::bench::watch::{caught_up, caught_up_to, commits_behind, ends};
use crate::client::{AppendStream, retrying};
use crate::progress::grouped;

/// Of the bare insert's rows a second.
const THROUGHPUT: Threshold = Threshold::AtLeast(0.6);
/// Events of a commit of the backlog.
const EVENTS_PER_COMMIT: usize = 100;
/// Conversations of the backlog, each with one commit on its way.
const CONVERSATIONS: usize = 256;
/// How often the backlog's size is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// How long the backlog may take to grow.
const PATIENCE: Duration = Duration::from_mins(2);

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    let floors = target
        .floors
        .as_ref()
        .context("to see rows, give --nats-url and --database-url")?;
    let fill = Fill {
        name: "backlog",
        conversations: CONVERSATIONS,
        messages: EVENTS_PER_COMMIT,
        event_bytes: plan.event_bytes,
    };
    let conversations = setup::conversations(target, fill).await?;
    caught_up(floors).await?;
    let base = || floors.rows.insert(plan.duration);
    let system = || drain(plan, target, floors, Arc::clone(&conversations));
    let rounds = alternate(plan.rounds, base, system).await?;
    let ratio = median_ratio(&rounds, |measure| measure.per_second);
    let verdicts =
        ratio.map(|ratio| Verdict::of("rows a second, of the bare insert", ratio, THROUGHPUT));
    Ok(Comparison {
        title: "projection of a backlog".to_owned(),
        load: format!(
            "a backlog of {} events of {} bytes, {EVENTS_PER_COMMIT} a commit; the insert takes \
             {} rows at a time in one connection",
            grouped(u64::try_from(plan.backlog_events)?),
            plan.event_bytes,
            crate::bench::floor::ROWS_PER_INSERT,
        ),
        unit: "rows",
        base: "bare insert",
        system: "projector",
        rounds,
        verdicts: verdicts.into_iter().collect(),
        notes: Vec::new(),
    })
}

/// Makes a backlog, ends the load, and waits until the rest is projected.
async fn drain(
    plan: &Plan,
    target: &Target,
    floors: &Floors,
    conversations: Arc<[String]>,
) -> anyhow::Result<Measure> {
    if let Some(projector) = &target.projector {
        projector.lock().await.stop().await;
    }
    grow(plan, target, floors, &conversations).await?;
    let ends = ends(floors).await?;
    let mut commits = commits_behind(floors, &ends).await?;
    if let Some(projector) = &target.projector {
        projector.lock().await.start_again()?;
        // Its start is not its speed.
        let all = commits;
        until(
            "the projector did not begin",
            (LOOK_INTERVAL, PATIENCE),
            async || {
                commits = commits_behind(floors, &ends).await?;
                Ok(commits < all)
            },
        )
        .await?;
    }
    let took = caught_up_to(floors, &ends).await?;
    let events = commits * u64::try_from(EVENTS_PER_COMMIT)?;
    Ok(Measure {
        per_second: real(events) / took.as_secs_f64(),
        latency: Latency::default(),
    })
}

/// Loads until the backlog is as large as planned.
async fn grow(
    plan: &Plan,
    target: &Target,
    floors: &Floors,
    conversations: &[String],
) -> anyhow::Result<()> {
    let enough = u64::try_from(plan.backlog_events / EVENTS_PER_COMMIT)?.max(1);
    let over = AtomicBool::new(false);
    let watch = async {
        let grown = until(
            "the backlog did not grow, the projector being as fast as the load,",
            (LOOK_INTERVAL, PATIENCE),
            async || Ok(commits_behind(floors, &ends(floors).await?).await? >= enough),
        )
        .await;
        over.store(true, Ordering::Relaxed);
        grown
    };
    let (grown, loaded) = tokio::join!(watch, load(plan, target, conversations, &over));
    grown?;
    loaded
}

async fn load(
    plan: &Plan,
    target: &Target,
    conversations: &[String],
    over: &AtomicBool,
) -> anyhow::Result<()> {
    let writer = target.writers.first().context("no writer")?;
    let stream = AppendStream::to(writer, CONVERSATIONS);
    let template = setup::append(
        target,
        "",
        setup::messages(EVENTS_PER_COMMIT, plan.event_bytes),
    );
    let appends = conversations.iter().map(|conversation| {
        let (stream, template) = (stream.clone(), template.clone());
        async move {
            while !over.load(Ordering::Relaxed) {
                let command = Command::AppendEvents(setup::again(&template, conversation));
                retrying(|| stream.send(command.clone())).await?;
            }
            anyhow::Ok(())
        }
    });
    try_join_all(appends).await?;
    Ok(())
}
