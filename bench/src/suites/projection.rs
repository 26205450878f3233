//! How fast rows follow a backlog, against a bare write of the same rows, and an insert of the events' rows alone.
//!
//! The projector is stopped while the backlog is made, where it may be; elsewhere the backlog is made faster than it can
//! be projected, and what is left of it when the load ends is projected alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use futures::future::try_join_all;
use hansard::client::{AppendStream, retrying};
use hansard::progress::grouped;
use wire::proto::write::v1::append_stream_request::Command;

use crate::Plan;
use crate::floor::{Floors, Written};
use crate::latency::{Latency, Measure, real};
use crate::pace::until;
use crate::report::{Comparison, Round, Threshold, Verdict};
use crate::rounds::{alternate, median, median_ratio};
use crate::setup::{self, Fill};
use crate::target::Target;
use crate::watch::{caught_up, caught_up_to, commits_behind, ends};

/// Of the bare write's events a second.
const THROUGHPUT: Threshold = Threshold::AtLeast(0.6);
/// What is judged.
const OF_BASE: &str = "events a second, of the bare write's";
/// Commits of a backlog that are on their way at once, each to a conversation of its own.
const IN_FLIGHT: usize = 256;

/// What a backlog is made of.
#[derive(Debug, Clone, Copy)]
struct Shape {
    name: &'static str,
    title: &'static str,
    /// Events of each commit.
    events_per_commit: usize,
    /// Conversations by turns: each row of one is written once for each batch that has commits of it.
    conversations: usize,
    /// What it is judged by.
    base: (&'static str, Written),
    /// What stands beside it.
    beside: Option<(&'static str, Written)>,
}

/// The rows of events, which are nearly all that a backlog of large commits comes to.
const EVENTS: (&str, Written) = ("insert of events", Written::Events);
/// The rows that single events come to.
const SAME_ROWS: (&str, Written) = ("the same rows", Written::EventsAndConversations);

/// Much in a few conversations, as an import leaves it.
const DENSE: Shape = Shape {
    name: "dense",
    title: "projection of a backlog of large commits",
    events_per_commit: 100,
    conversations: 256,
    base: EVENTS,
    beside: None,
};
/// A little in each of many conversations, as people leave it.
const SPARSE: Shape = Shape {
    name: "sparse",
    title: "projection of a backlog of single events",
    events_per_commit: 1,
    conversations: 4_096,
    base: SAME_ROWS,
    beside: Some(EVENTS),
};
/// How often the backlog's size is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// How long the backlog may take to grow.
const PATIENCE: Duration = Duration::from_mins(2);

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Vec<Comparison>> {
    Ok(vec![
        measure_one(plan, target, DENSE).await?,
        measure_one(plan, target, SPARSE).await?,
    ])
}

async fn measure_one(plan: &Plan, target: &Target, shape: Shape) -> anyhow::Result<Comparison> {
    let floors = target
        .floors
        .as_ref()
        .context("to see rows, give --nats-url and --database-url")?;
    let fill = Fill {
        name: shape.name,
        conversations: shape.conversations,
        messages: shape.events_per_commit,
        event_bytes: plan.event_bytes,
    };
    let conversations = setup::conversations(target, fill).await?;
    caught_up(floors).await?;
    let backlog = Backlog {
        plan,
        target,
        floors,
        shape,
        conversations,
    };
    let rounds = backlog.rounds().await?;
    let ratio = median_ratio(&rounds, |measure| measure.per_second);
    let of_base = ratio.map(|ratio| Verdict::of(OF_BASE, ratio, THROUGHPUT));
    let of_beside = rounds
        .iter()
        .filter_map(|round| Some(round.system.per_second / round.beside?.per_second));
    let note = median(of_beside.collect())
        .map(|ratio| format!("of the insert of the events' rows alone: {ratio:.2}"));
    Ok(Comparison {
        title: shape.title.to_owned(),
        load: format!(
            "a backlog of {} events of {} bytes, {} a commit, {} conversations; the bare write takes {} \
             events at a time in one connection",
            grouped(u64::try_from(plan.backlog_events)?),
            plan.event_bytes,
            shape.events_per_commit,
            shape.conversations,
            crate::floor::ROWS_PER_INSERT,
        ),
        unit: "events",
        base: shape.base.0,
        beside: shape.beside.map(|(name, _)| name),
        system: "projector",
        rounds,
        verdicts: of_base.into_iter().collect(),
        notes: note.into_iter().collect(),
    })
}

/// A backlog that is made and projected again and again.
struct Backlog<'a> {
    plan: &'a Plan,
    target: &'a Target,
    floors: &'a Floors,
    shape: Shape,
    conversations: Arc<[String]>,
}

impl Backlog<'_> {
    /// Takes turns with the bare writes.
    async fn rounds(&self) -> anyhow::Result<Vec<Round>> {
        let write = |written| self.floors.rows.write(self.plan.duration, written);
        let mut besides = Vec::new();
        let base = async || {
            if let Some((_, written)) = self.shape.beside {
                besides.push(write(written).await?);
            }
            write(self.shape.base.1).await
        };
        let mut rounds = alternate(self.plan.rounds, base, || self.drain()).await?;
        for (round, beside) in rounds.iter_mut().zip(besides) {
            round.beside = Some(beside);
        }
        Ok(rounds)
    }

    /// Makes a backlog, ends the load, and waits until the rest is projected.
    async fn drain(&self) -> anyhow::Result<Measure> {
        let floors = self.floors;
        if let Some(projector) = &self.target.projector {
            projector.lock().await.stop().await;
        }
        self.grow().await?;
        let ends = ends(floors).await?;
        let mut commits = commits_behind(floors, &ends).await?;
        if let Some(projector) = &self.target.projector {
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
        let events = commits * u64::try_from(self.shape.events_per_commit)?;
        Ok(Measure {
            per_second: real(events) / took.as_secs_f64(),
            latency: Latency::default(),
        })
    }

    /// Loads until the backlog is as large as planned.
    async fn grow(&self) -> anyhow::Result<()> {
        let floors = self.floors;
        let enough = self.plan.backlog_events / self.shape.events_per_commit;
        let enough = u64::try_from(enough)?.max(1);
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
        let (grown, loaded) = tokio::join!(watch, self.load(&over));
        grown?;
        loaded
    }

    async fn load(&self, over: &AtomicBool) -> anyhow::Result<()> {
        let writer = self.target.writers.first().context("no writer")?;
        let stream = AppendStream::to(writer, IN_FLIGHT);
        let messages = setup::messages(self.shape.events_per_commit, self.plan.event_bytes);
        let template = setup::append(self.target, "", messages);
        let share = self.conversations.len().div_ceil(IN_FLIGHT).max(1);
        let appends = self.conversations.chunks(share).map(|conversations| {
            let (stream, template) = (stream.clone(), template.clone());
            async move {
                for conversation in conversations.iter().cycle() {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let command = Command::AppendEvents(setup::again(&template, conversation));
                    retrying(|| stream.send(command.clone())).await?;
                }
                anyhow::Ok(())
            }
        });
        try_join_all(appends).await?;
        Ok(())
    }
}
