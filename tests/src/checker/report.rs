//! Reports calls and findings as a table.

use std::collections::BTreeMap;
use std::fmt;

use super::calls::{Call, Outcome};
use super::finding::{Finding, Kind, Place};
use super::record::RecordContents;

/// A table of counts, followed by each finding. `Display` formats it.
#[derive(Debug, Clone)]
pub struct Report {
    title: String,
    lines: Vec<(String, String)>,
    /// Index of the first line that [`Report::with`] added.
    own_from: usize,
    findings: Vec<Finding>,
}

impl Report {
    /// A report of calls, their record and the findings.
    #[must_use]
    pub fn new(title: impl Into<String>, calls: &[Call], recorded: &RecordContents, findings: Vec<Finding>) -> Self {
        let mut report = Self { title: title.into(), lines: Vec::new(), own_from: 0, findings };
        report.add_calls(calls, recorded);
        report.add_findings();
        report.own_from = report.lines.len();
        report
    }

    /// Adds a line.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.lines.push((name.to_owned(), value.to_string()));
        self
    }

    /// The findings.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The value of the line with this name; empty when there is none.
    #[must_use]
    pub fn value(&self, name: &str) -> &str {
        let line = self.lines.iter().find(|(known, _)| known.trim() == name);
        line.map_or("", |(_, value)| value)
    }

    /// The names and values of the lines that [`Report::with`] added.
    pub fn own_lines(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self.lines.iter().skip(self.own_from);
        own.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn add(&mut self, name: &str, value: impl fmt::Display) {
        self.lines.push((name.to_owned(), value.to_string()));
    }

    fn add_calls(&mut self, calls: &[Call], recorded: &RecordContents) {
        let count = |is: fn(&Outcome) -> bool| calls.iter().filter(|call| is(&call.outcome)).count();
        let retried = calls.iter().filter(|call| call.tries > 1).count();
        self.add("commands tried", calls.len());
        self.add("  on streams", calls.iter().filter(|call| call.stream_place.is_some()).count());
        self.add("  expecting a version", calls.iter().filter(|call| call.asked.expected.is_some()).count());
        self.add("  acknowledged", count(|outcome| matches!(outcome, Outcome::Committed(_))));
        self.add("  nothing to change", count(|outcome| matches!(outcome, Outcome::Unchanged)));
        let mut refusals: BTreeMap<&str, usize> = BTreeMap::new();
        for call in calls {
            if let Outcome::Refused(refusal) = &call.outcome {
                *refusals.entry(&refusal.reason).or_default() += 1;
            }
        }
        for (reason, refused) in refusals {
            self.add(&format!("  refused, {reason}"), refused);
        }
        self.add("  never known", count(|outcome| matches!(outcome, Outcome::Unknown)));
        self.add("  sent more than once", retried);
        self.add("conversations in the record", recorded.conversations.len());
        self.add("commits in the record", recorded.commits());
        self.add("events in the record", recorded.events());
    }

    fn add_findings(&mut self) {
        let count = |is: &dyn Fn(Kind) -> bool| self.findings.iter().filter(|found| is(found.kind)).count();
        let lost = [Place::First, Place::Middle, Place::Last].map(|place| count(&|kind| kind == Kind::Lost(place)));
        let named = [
            ("acknowledged but lost (first, middle, last)", format!("{}, {}, {}", lost[0], lost[1], lost[2])),
            ("doubled", count(&|kind| kind == Kind::Doubled).to_string()),
            ("out of order", count(&|kind| kind == Kind::OutOfOrder).to_string()),
            ("gaps and forks", count(&|kind| matches!(kind, Kind::Gap | Kind::Fork)).to_string()),
            (
                "broken chains, wrong heads",
                count(&|kind| matches!(kind, Kind::BrokenChain | Kind::WrongHead)).to_string(),
            ),
            ("rows that differ", count(&is_of_rows).to_string()),
            ("anything else", count(&is_something_else).to_string()),
        ];
        for (name, value) in named {
            self.add(name, value);
        }
    }
}

fn is_of_rows(kind: Kind) -> bool {
    matches!(kind, Kind::Parked | Kind::RowMissing | Kind::RowUnfounded | Kind::RowDiffers)
}

fn is_something_else(kind: Kind) -> bool {
    match kind {
        Kind::Unasked
        | Kind::WrongAnswer
        | Kind::TimeWentBack
        | Kind::RuleBroken
        | Kind::Misplaced
        | Kind::NotErased
        | Kind::StaleRead
        | Kind::ReadingDiffers => true,
        Kind::Lost(_)
        | Kind::Doubled
        | Kind::OutOfOrder
        | Kind::Gap
        | Kind::Fork
        | Kind::BrokenChain
        | Kind::WrongHead
        | Kind::Parked
        | Kind::RowMissing
        | Kind::RowUnfounded
        | Kind::RowDiffers => false,
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const FINDINGS_SHOWN_MAX: usize = 20;
        writeln!(f, "{}", self.title)?;
        for (name, value) in &self.lines {
            writeln!(f, "  {name:<46} {value}")?;
        }
        for finding in self.findings.iter().take(FINDINGS_SHOWN_MAX) {
            writeln!(f, "  ! {finding}")?;
        }
        match self.findings.len().checked_sub(FINDINGS_SHOWN_MAX) {
            Some(more) if more > 0 => writeln!(f, "  ! and {more} more"),
            Some(_) | None => Ok(()),
        }
    }
}
