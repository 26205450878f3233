//! What was found, as it is told: a line each for machines, a table for people, and a summary for both.

use std::io::Write as _;
use std::time::Instant;

use domain::ConversationKey;
use serde_json::{Value, json};

use super::examine::Examined;
use super::mend::Mended;
use super::problem::name;
use crate::console;
use crate::exit::Exit;
use crate::progress::{Length, Progress, grouped, per_second};
use crate::table;

/// Most differences that the table shows; machines get all.
const SHOWN_MAX: usize = 1_000;

/// What was found so far.
pub(super) struct Report {
    json: bool,
    begun: Instant,
    part_begun: Instant,
    progress: Option<Progress>,
    counts: Counts,
    rows: Vec<[String; 4]>,
}

#[derive(Debug, Default)]
struct Counts {
    conversations: u64,
    events: u64,
    differing: u64,
    mended: u64,
    unsettled: u64,
    problems: u64,
}

impl Report {
    pub(super) fn begin(json: bool) -> Self {
        Self {
            json,
            begun: Instant::now(),
            part_begun: Instant::now(),
            progress: None,
            counts: Counts::default(),
            rows: Vec::new(),
        }
    }

    /// A part of the work begins, of so many steps.
    pub(super) fn start(&mut self, title: &'static str, steps: u64) {
        self.progress = Some(Progress::begin(title, Length::Items(steps)));
        self.part_begun = Instant::now();
    }

    /// The part has come to a step.
    pub(super) fn advance(&mut self, step: u64, steps: u64) {
        let took = self.part_begun.elapsed();
        if let Some(progress) = &mut self.progress {
            progress.advance(step, || {
                let rate = per_second(step, took.as_secs_f64());
                let seconds_left = steps.saturating_sub(step) / rate.max(1);
                format!(
                    "{} of {}, {}/s, {} s left",
                    grouped(step),
                    grouped(steps),
                    grouped(rate),
                    grouped(seconds_left),
                )
            });
        }
    }

    /// Conversations whose rows are whole.
    pub(super) fn whole(&mut self, conversations: u64, events: u64) {
        self.counts.conversations += conversations;
        self.counts.events += events;
    }

    /// What an examination came to.
    pub(super) fn examined(
        &mut self,
        key: &ConversationKey,
        found: &Examined,
        mended: &Mended,
    ) -> anyhow::Result<()> {
        self.whole(1, found.events);
        if found.is_unsettled {
            self.counts.unsettled += 1;
            let name = name(key);
            self.note(&format!(
                "{name}: moves or is being erased, and was not judged"
            ));
        }
        if found.problems.is_empty() {
            return Ok(());
        }
        self.counts.differing += 1;
        self.counts.mended += u64::from(*mended == Mended::Yes);
        let outcome = match mended {
            Mended::Yes => "repaired",
            Mended::Would => "would be repaired",
            Mended::No(why) => why,
        };
        for problem in &found.problems {
            let mut line = problem.to_json(key);
            if let Value::Object(line) = &mut line {
                line.insert("repaired".to_owned(), json!(*mended == Mended::Yes));
                line.insert("outcome".to_owned(), json!(outcome));
            }
            let kind = problem.kind().to_owned();
            self.tell(
                &line,
                [name(key), kind, problem.to_string(), outcome.to_owned()],
            )?;
        }
        Ok(())
    }

    /// Something that is wrong with no one conversation.
    pub(super) fn finding(&mut self, line: &Value, row: [String; 4]) -> anyhow::Result<()> {
        self.counts.differing += 1;
        self.tell(line, row)
    }

    /// What was wrong with no one conversation is right now.
    pub(super) fn mended(&mut self) {
        self.counts.mended += 1;
    }

    fn tell(&mut self, line: &Value, row: [String; 4]) -> anyhow::Result<()> {
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
            None => console::complain(line),
        }
    }

    /// Tells the rest, and how to end.
    pub(super) fn end(self) -> anyhow::Result<Exit> {
        let Counts {
            conversations,
            events,
            differing,
            mended,
            unsettled,
            problems,
        } = self.counts;
        let seconds = self.begun.elapsed().as_secs_f64();
        let rate = per_second(events, seconds);
        let summary = format!(
            "{} conversations and {} events in {seconds:.1} s, {} events/s; {} differ, {} of them repaired, {} not judged",
            grouped(conversations),
            grouped(events),
            grouped(rate),
            grouped(differing),
            grouped(mended),
            grouped(unsettled),
        );
        if self.json {
            let line = json!({"summary": {
                "conversations": conversations, "events": events, "differing": differing, "repaired": mended,
                "unsettled": unsettled, "problems": problems, "seconds": seconds, "events_per_second": rate,
            }});
            writeln!(console::out(), "{line}")?;
        } else if !self.rows.is_empty() {
            let header = ["CONVERSATION", "KIND", "WHAT", "OUTCOME"];
            table::write(&mut console::out(), header, &self.rows)?;
            let shown = u64::try_from(self.rows.len()).unwrap_or(u64::MAX);
            if problems > shown {
                let more = grouped(problems - shown);
                writeln!(console::out(), "and {more} more: --json tells all")?;
            }
        }
        match self.progress {
            Some(progress) => progress.finish(&summary),
            None => console::complain(&summary),
        }
        Ok(if differing > mended {
            Exit::Differs
        } else {
            Exit::Done
        })
    }
}
