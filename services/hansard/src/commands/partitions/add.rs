//! `hansard partitions add`: adds partitions while everything runs.

use std::io::Write as _;
use std::time::Duration;

use domain::{Layout, Stage};
use event_log::{GrowthError, Record, STAGE_TIME_MIN};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::commands::stores::RecordAddress;
use crate::console;
use crate::exit::{Exit, UsageError};
use crate::progress::{Length, Progress};

/// The seconds between two stages by default: [`STAGE_TIME_MIN`].
const STAGE_SECONDS: u64 = STAGE_TIME_MIN.as_secs();
/// A process can use a layout for this many seconds.
const STAGE_SECONDS_MIN: u64 = 11;
const STAGE_SECONDS_MAX: u64 = 60 * 60;
/// The waits of a growth: after each of its stages.
const WAITS: u64 = 3;
/// How long a step is repeated while the record does not answer: the NATS servers elect leaders for up to 10 s after a loss.
const UNAVAILABLE_MAX: Duration = Duration::from_secs(30);
/// The wait between two attempts of a step.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Add partitions while everything runs. New conversations are spread over all partitions; existing ones stay where they are.
///
/// First the new partitions are announced, so that every reader knows them. Then a new conversation closes its previous partition
/// for itself, and is created in its new one; at last, it is created there directly. Between these stages the command waits until every
/// process has read the change. If it ends early, the same command continues. Partitions cannot be removed.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Number of partitions afterwards, at most 1,024.
    #[arg(value_name = "PARTITIONS")]
    to: u16,
    /// A tag (`server_tags`) that every NATS server of the new partitions must have; may be repeated. By default as for partition 0.
    #[arg(long = "placement-tag", value_name = "TAG")]
    placement_tags: Vec<String>,
    #[command(flatten)]
    record: RecordAddress,
    /// Time between two stages, in seconds, 11 to 3,600. Less than 120 is only safe if no call of a writer, and no message on its way
    /// to NATS, takes longer than this minus 10 s.
    #[arg(
        long, value_name = "SECONDS", default_value_t = STAGE_SECONDS,
        value_parser = clap::value_parser!(u64).range(STAGE_SECONDS_MIN..=STAGE_SECONDS_MAX)
    )]
    stage_seconds: u64,
    /// Print what would be done, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-partitions").await?;
    let layout = record.read_layout().await?;
    let plan = Plan::of(&layout, args.to)?;
    if !args.dry_run {
        grow(&record, &args, &plan).await?;
    }
    let mut out = console::out();
    if args.json {
        writeln!(out, "{}", plan.json(&args))?;
    } else {
        writeln!(out, "{}", plan.text(&args))?;
    }
    Ok(Exit::Done)
}

/// What a growth changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
    before: u16,
    after: u16,
    /// Whether an earlier growth to the same number is continued.
    is_resumed: bool,
}

impl Plan {
    /// Checks the number of partitions before anything is changed.
    fn of(layout: &Layout, partitions: u16) -> Result<Self, UsageError> {
        let generations = layout.generations();
        if let [.., before, after] = generations[..]
            && after == partitions
        {
            return Ok(Self { before, after, is_resumed: true });
        }
        layout.grown(partitions).map_err(|error| UsageError(error.to_string()))?;
        Ok(Self { before: layout.partitions(), after: partitions, is_resumed: false })
    }

    /// The share of new conversations that the new partitions get, in percent.
    fn share_percent(self) -> u32 {
        let added = u32::from(self.after.saturating_sub(self.before));
        added * 100 / u32::from(self.after.max(1))
    }

    fn text(self, args: &Args) -> String {
        let Self { before, after, .. } = self;
        let share = self.share_percent();
        if args.dry_run {
            let seconds = WAITS * args.stage_seconds;
            let verb = if self.is_resumed { "continues" } else { "begins" };
            return format!(
                "would add partitions {before} to {}: {share}% of new conversations use them; the growth {verb} and takes at least {seconds} s; nothing was changed",
                after.saturating_sub(1)
            );
        }
        format!("the record has {after} partitions: {share}% of new conversations use the {} new ones", after - before)
    }

    fn json(self, args: &Args) -> Value {
        json!({
            "before": self.before,
            "after": self.after,
            "newConversationsPercent": self.share_percent(),
            "isResumed": self.is_resumed,
            "isDryRun": args.dry_run,
        })
    }
}

/// Carries out what is left of a growth.
async fn grow(record: &Record, args: &Args, plan: &Plan) -> anyhow::Result<()> {
    let mut progress = Progress::begin("add partitions", Length::Items(WAITS * args.stage_seconds));
    let tags = &args.placement_tags;
    answered(async || record.announce_partitions(plan.after, tags).await).await?;
    loop {
        let stage = record.layout().stage();
        let (waits_before, what) = match stage {
            Stage::Announced => (0, "announced; waiting until every process knows it"),
            Stage::Closing => (1, "closing previous partitions; waiting until every process does"),
            Stage::Open => (2, "open; waiting for late messages"),
        };
        for second in 0..args.stage_seconds {
            progress.advance(waits_before * args.stage_seconds + second, || what.to_owned());
            sleep(Duration::from_secs(1)).await;
        }
        if stage == Stage::Open {
            break;
        }
        answered(async || record.advance_layout().await).await?;
    }
    let removed = answered(async || Ok(record.remove_closings().await?)).await?;
    progress.finish(&format!("done; {removed} closing messages removed"));
    Ok(())
}

/// Repeats a step of a growth while the record does not answer.
async fn answered<T>(step: impl AsyncFn() -> Result<T, GrowthError>) -> Result<T, GrowthError> {
    let deadline = Instant::now() + UNAVAILABLE_MAX;
    loop {
        let result = step().await;
        let is_unavailable = result.as_ref().is_err_and(GrowthError::is_unavailable);
        if !is_unavailable || Instant::now() >= deadline {
            return result;
        }
        sleep(RETRY_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use event_log::Unavailable;

    use super::*;

    #[tokio::test]
    async fn only_a_step_without_an_answer_is_repeated() {
        let unavailable = || GrowthError::Unavailable(Unavailable { what: "lost", retry_after_ms: 1 });
        for (error, attempts) in [(unavailable(), 2), (GrowthError::Superseded, 1)] {
            let (calls, failure) = (Cell::new(0), Cell::new(Some(error)));
            let step = async || {
                calls.set(calls.get() + 1);
                failure.take().map_or(Ok(()), Err)
            };
            assert_eq!(answered(step).await.is_ok(), attempts == 2);
            assert_eq!(calls.get(), attempts);
        }
    }

    #[test]
    fn plans_are_checked_before_anything_is_changed() {
        let open = Layout::from_parts(&[8, 24], Stage::Open).unwrap();
        let growing = Layout::from_parts(&[8, 24], Stage::Closing).unwrap();
        let plan = |before, after, is_resumed| Some(Plan { before, after, is_resumed });
        for (layout, partitions, expected) in [
            (&Layout::new(8), 24, plan(8, 24, false)),
            (&Layout::new(8), 8, None),
            (&Layout::new(8), 4, None),
            (&Layout::new(8), 1_025, None),
            (&growing, 24, plan(8, 24, true)),
            (&growing, 30, None),
            (&open, 24, plan(8, 24, true)),
            (&open, 30, plan(24, 30, false)),
        ] {
            assert_eq!(Plan::of(layout, partitions).ok(), expected, "{partitions}");
        }
    }

    #[test]
    fn the_share_of_the_new_partitions() {
        for (before, after, percent) in [(8, 24, 66), (8, 9, 11), (1, 2, 50)] {
            let plan = Plan { before, after, is_resumed: false };
            assert_eq!(plan.share_percent(), percent);
        }
    }
}
