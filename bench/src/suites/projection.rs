//! Projection of a backlog, compared with plain writes of the same rows and with inserts of the events alone.
//!
//! In the own stack, the projector is stopped while the backlog is created. In other stacks, the backlog is created faster than it
//! can be projected, and the rest after the load is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::try_join_all;
use hansard::client::{AppendStream, retrying};
use hansard::progress::grouped;
use wire::proto::write::v1::append_stream_request::Command;

use crate::Plan;
use crate::baseline::{Baselines, WriteKind};
use crate::latency::{Latency, Measure, real};
use crate::pace::until;
use crate::report::{Comparison, Round, Threshold, Verdict};
use crate::rounds::{alternate_bases, median, median_ratio};
use crate::setup::{self, Fill};
use crate::target::Target;
use crate::watch::{caught_up, caught_up_to, commits_behind, ends};

/// Times the plain write's events per second.
const THROUGHPUT: Threshold = Threshold::AtLeast(0.6);
const OF_BASE: &str = "events per second / plain write";
/// Concurrent commits of a backlog, each to another conversation.
const IN_FLIGHT: usize = 256;

#[derive(Debug, Clone, Copy)]
struct Shape {
    name: &'static str,
    title: &'static str,
    events_per_commit: usize,
    /// Number of conversations. A conversation's row is written once per batch with its commits.
    conversations: usize,
    base: (&'static str, WriteKind),
    beside: Option<(&'static str, WriteKind)>,
}

/// The rows of events: almost all rows of a backlog of large commits.
const EVENTS: (&str, WriteKind) = ("insert of events", WriteKind::Events);
/// The rows of single events and their conversations.
const SAME_ROWS: (&str, WriteKind) = ("the same rows", WriteKind::EventsAndConversations);

/// Many events in few conversations, like an import.
const DENSE: Shape = Shape {
    name: "dense",
    title: "projection of a backlog of large commits",
    events_per_commit: 100,
    conversations: 256,
    base: EVENTS,
    beside: None,
};
/// Few events in many conversations, like live traffic.
const SPARSE: Shape = Shape {
    name: "sparse",
    title: "projection of a backlog of single events",
    events_per_commit: 1,
    conversations: 4_096,
    base: SAME_ROWS,
    beside: Some(EVENTS),
};
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
const GROWTH_TIMEOUT: Duration = Duration::from_mins(2);

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Vec<Comparison>> {
    Ok(vec![measure_one(plan, target, DENSE).await?, measure_one(plan, target, SPARSE).await?])
}

async fn measure_one(plan: &Plan, target: &Target, shape: Shape) -> anyhow::Result<Comparison> {
    let baselines = target.required_baselines()?;
    let fill = Fill {
        name: shape.name,
        conversations: shape.conversations,
        messages: shape.events_per_commit,
        per_commit: setup::IMPORT,
        event_bytes: plan.event_bytes,
    };
    let conversations = setup::conversations(target, fill).await?;
    caught_up(baselines).await?;
    let backlog = Backlog { plan, target, baselines, shape, conversations };
    let rounds = backlog.rounds().await?;
    let ratio = median_ratio(&rounds, |measure| measure.per_second);
    let of_base = ratio.map(|ratio| Verdict::of(OF_BASE, ratio, THROUGHPUT));
    let of_beside = rounds.iter().filter_map(|round| Some(round.system.per_second / round.beside?.per_second));
    let ratio = median(of_beside.collect());
    let note = ratio.map(|ratio| format!("events per second / insert of events: {ratio:.2}"));
    Ok(Comparison {
        title: shape.title.to_owned(),
        load: format!(
            "a backlog of {} events of {} bytes, {} per commit, {} conversations; the plain write inserts {} events \
            at a time through one connection",
            grouped(u64::try_from(plan.backlog_events)?),
            plan.event_bytes,
            shape.events_per_commit,
            shape.conversations,
            crate::baseline::ROWS_PER_INSERT,
        ),
        unit: "events",
        base: shape.base.0,
        beside: shape.beside.map(|(name, _)| name),
        system: "projector",
        rounds,
        verdicts: of_base.into_iter().collect(),
        notes: note.into_iter().collect(),
        ..Comparison::default()
    })
}

/// A backlog that is created and projected repeatedly.
struct Backlog<'a> {
    plan: &'a Plan,
    target: &'a Target,
    baselines: &'a Baselines,
    shape: Shape,
    conversations: Arc<[String]>,
}

impl Backlog<'_> {
    async fn rounds(&self) -> anyhow::Result<Vec<Round>> {
        let write = |written| self.baselines.rows.write(self.plan.duration, written);
        let bases = async || {
            let beside = match self.shape.beside {
                Some((_, written)) => Some(write(written).await?),
                None => None,
            };
            Ok((Some(write(self.shape.base.1).await?), beside))
        };
        alternate_bases(self.plan.rounds, bases, || self.drain()).await
    }

    /// Creates a backlog, ends the load, and waits until the rest is projected.
    async fn drain(&self) -> anyhow::Result<Measure> {
        let baselines = self.baselines;
        if let Some(projector) = &self.target.projector {
            projector.lock().await.stop().await;
        }
        self.grow().await?;
        let ends = ends(baselines).await?;
        let mut commits = commits_behind(baselines, &ends).await?;
        if let Some(projector) = &self.target.projector {
            projector.lock().await.start_again()?;
            // The start of the process does not count.
            let all = commits;
            let what = "the projector did not start";
            until(what, LOOK_INTERVAL, GROWTH_TIMEOUT, async || {
                commits = commits_behind(baselines, &ends).await?;
                Ok(commits < all)
            })
            .await?;
        }
        let took = caught_up_to(baselines, &ends).await?;
        let events = commits * u64::try_from(self.shape.events_per_commit)?;
        Ok(Measure { per_second: real(events) / took.as_secs_f64(), latency: Latency::default() })
    }

    /// Appends until the backlog has the planned size.
    async fn grow(&self) -> anyhow::Result<()> {
        let baselines = self.baselines;
        let enough = u64::try_from(self.plan.backlog_events / self.shape.events_per_commit)?.max(1);
        let is_grown = AtomicBool::new(false);
        let watch = async {
            let what = "the backlog did not grow because the projector is as fast as the load";
            let grown = until(what, LOOK_INTERVAL, GROWTH_TIMEOUT, async || {
                Ok(commits_behind(baselines, &ends(baselines).await?).await? >= enough)
            })
            .await;
            is_grown.store(true, Ordering::Relaxed);
            grown
        };
        let (grown, loaded) = tokio::join!(watch, self.load(&is_grown));
        grown?;
        loaded
    }

    async fn load(&self, is_grown: &AtomicBool) -> anyhow::Result<()> {
        let writer = self.target.writer()?;
        let stream = AppendStream::to(writer, IN_FLIGHT);
        let messages = setup::messages(self.shape.events_per_commit, self.plan.event_bytes);
        let template = setup::append(self.target, "", messages);
        let share = self.conversations.len().div_ceil(IN_FLIGHT).max(1);
        let appends = self.conversations.chunks(share).map(|conversations| {
            let (stream, template) = (stream.clone(), template.clone());
            async move {
                for conversation in conversations.iter().cycle() {
                    if is_grown.load(Ordering::Relaxed) {
                        break;
                    }
                    let append = setup::from_template(&template, conversation);
                    let command = Command::AppendEvents(append);
                    retrying(|| stream.send(command.clone())).await?;
                }
                anyhow::Ok(())
            }
        });
        try_join_all(appends).await?;
        Ok(())
    }
}
