//! The output of a verification: JSON lines or a table, and a summary.

use std::io::Write as _;
use std::time::Instant;

use domain::ConversationKey;
use serde::Serialize;
use serde_json::{Value, json};

use super::examine::Examination;
use super::problem::name;
use super::repair::RepairResult;
use crate::console;
use crate::exit::Exit;
use crate::progress::{Length, Progress, grouped, per_second};
use crate::table;

/// The maximum number of rows of the table; JSON output is complete.
const SHOWN_MAX: usize = 1_000;

/// The findings so far.
pub(super) struct Report {
    json: bool,
    started: Instant,
    phase_started: Instant,
    progress: Option<Progress>,
    counts: Counts,
    rows: Vec<[String; 4]>,
}

#[derive(Debug, Default, Serialize)]
struct Counts {
    conversations: u64,
    events: u64,
    differing: u64,
    repaired: u64,
    unsettled: u64,
    problems: u64,
    seconds: f64,
    events_per_second: u64,
}

impl Report {
    pub(super) fn start(json: bool) -> Self {
        Self {
            json,
            started: Instant::now(),
            phase_started: Instant::now(),
            progress: None,
            counts: Counts::default(),
            rows: Vec::new(),
        }
    }

    /// Starts a phase with a number of steps.
    pub(super) fn start_phase(&mut self, title: &'static str, steps: u64) {
        self.progress = Some(Progress::begin(title, Length::Items(steps)));
        self.phase_started = Instant::now();
    }

    /// Updates the progress of the phase.
    pub(super) fn advance(&mut self, step: u64, steps: u64) {
        let took = self.phase_started.elapsed();
        if let Some(progress) = &mut self.progress {
            progress.advance(step, || {
                let rate = per_second(step, took.as_secs_f64());
                let left = grouped(steps.saturating_sub(step) / rate.max(1));
                let (done, all, rate) = (grouped(step), grouped(steps), grouped(rate));
                format!("{done} of {all}, {rate}/s, {left} s left")
            });
        }
    }

    /// Counts conversations whose rows are correct.
    pub(super) fn correct(&mut self, conversations: u64, events: u64) {
        self.counts.conversations += conversations;
        self.counts.events += events;
    }

    /// Reports an examination and its repair.
    pub(super) fn examined(
        &mut self,
        key: &ConversationKey,
        found: &Examination,
        repair: &RepairResult,
    ) -> anyhow::Result<()> {
        self.correct(1, found.events);
        if found.is_unsettled {
            self.counts.unsettled += 1;
            let name = name(key);
            self.note(&format!("{name}: changes or is being erased, no result"));
        }
        if found.problems.is_empty() {
            return Ok(());
        }
        self.counts.differing += 1;
        let is_repaired = *repair == RepairResult::Repaired;
        self.counts.repaired += u64::from(is_repaired);
        let outcome = match repair {
            RepairResult::Repaired => "repaired",
            RepairResult::WouldRepair => "would be repaired",
            RepairResult::NotRepaired(why) => why,
        };
        for problem in &found.problems {
            let mut line = problem.to_json(key);
            if let Value::Object(line) = &mut line {
                line.insert("repaired".to_owned(), json!(is_repaired));
                line.insert("outcome".to_owned(), json!(outcome));
            }
            let (name, what) = (name(key), problem.to_string());
            let row = [&name, problem.kind(), &what, outcome];
            self.print(&line, row.map(str::to_owned))?;
        }
        Ok(())
    }

    /// Reports a problem that is not of one conversation.
    pub(super) fn finding(&mut self, line: &Value, row: [&str; 4]) -> anyhow::Result<()> {
        self.counts.differing += 1;
        self.print(line, row.map(str::to_owned))
    }

    /// Counts the repair of such a problem.
    pub(super) fn repaired(&mut self) {
        self.counts.repaired += 1;
    }

    fn print(&mut self, line: &Value, row: [String; 4]) -> anyhow::Result<()> {
        self.counts.problems += 1;
        if self.json {
            writeln!(console::out(), "{line}")?;
        } else if self.rows.len() < SHOWN_MAX {
            self.rows.push(row);
        }
        Ok(())
    }

    fn note(&self, line: &str) {
        match &self.progress {
            Some(progress) => progress.note(line),
            None => console::print_error(line),
        }
    }

    /// Prints the summary and returns the exit code.
    pub(super) fn end(mut self) -> anyhow::Result<Exit> {
        let counts = &mut self.counts;
        counts.seconds = self.started.elapsed().as_secs_f64();
        counts.events_per_second = per_second(counts.events, counts.seconds);
        let summary = format!(
            "{} conversations and {} events in {:.1} s, {} events/s; {} differ, {} of them repaired, {} without result",
            grouped(counts.conversations),
            grouped(counts.events),
            counts.seconds,
            grouped(counts.events_per_second),
            grouped(counts.differing),
            grouped(counts.repaired),
            grouped(counts.unsettled),
        );
        if self.json {
            writeln!(console::out(), "{}", json!({"summary": counts}))?;
        } else if !self.rows.is_empty() {
            let header = ["CONVERSATION", "KIND", "WHAT", "OUTCOME"];
            table::write(&mut console::out(), header, &self.rows)?;
            let shown = u64::try_from(self.rows.len()).unwrap_or(u64::MAX);
            if counts.problems > shown {
                let more = grouped(counts.problems - shown);
                writeln!(console::out(), "and {more} more: --json prints all")?;
            }
        }
        match self.progress {
            Some(progress) => progress.finish(&summary),
            None => console::print_error(&summary),
        }
        Ok(Exit::Differs.when(counts.differing > counts.repaired))
    }
}
