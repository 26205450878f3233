//! Shows the progress of a long job on standard error: a bar on a terminal, else a line every 2 s.

use std::borrow::Cow;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::console;
use crate::printable::cell;

/// The interval of lines.
const PLAIN_INTERVAL: Duration = Duration::from_secs(2);
/// The interval at which a bar is redrawn.
const TICK: Duration = Duration::from_millis(100);

/// The length of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// A number of items.
    Items(u64),
    /// A number of bytes.
    Bytes(u64),
    /// Unknown.
    Unknown,
}

/// The progress of one job.
#[derive(Debug)]
pub struct Progress {
    title: &'static str,
    shown: Shown,
}

#[derive(Debug)]
enum Shown {
    Bar(ProgressBar),
    Lines { due: Instant },
}

impl Progress {
    /// Starts to show a job.
    #[must_use]
    pub fn begin(title: &'static str, length: Length) -> Self {
        let shown = if std::io::stderr().is_terminal() {
            Shown::Bar(bar(title, length))
        } else {
            Shown::Lines { due: Instant::now() + PLAIN_INTERVAL }
        };
        Self { title, shown }
    }

    /// Shows that the job has reached `position`; `message` describes it.
    pub fn advance(&mut self, position: u64, message: impl FnOnce() -> String) {
        match &mut self.shown {
            Shown::Bar(bar) => {
                bar.set_message(cell(&message()));
                bar.set_position(position);
            }
            Shown::Lines { due } if Instant::now() >= *due => {
                *due = Instant::now() + PLAIN_INTERVAL;
                write_line(&format!("{}: {}", self.title, message()));
            }
            Shown::Lines { .. } => {}
        }
    }

    /// Writes a permanent line above the bar.
    pub fn note(&self, line: &str) {
        match &self.shown {
            Shown::Bar(bar) => bar.suspend(|| write_line(line)),
            Shown::Lines { .. } => write_line(line),
        }
    }

    /// Ends the job and writes `message`.
    pub fn finish(self, message: &str) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
        write_line(&format!("{}: {message}", self.title));
    }
}

fn bar(title: &'static str, length: Length) -> ProgressBar {
    let (bar, template) = match length {
        Length::Items(items) => {
            (ProgressBar::new(items), "{prefix} [{bar:30}] {human_pos}/{human_len} {msg} eta {eta}")
        }
        Length::Bytes(bytes) => (ProgressBar::new(bytes), "{prefix} [{bar:30}] {bytes}/{total_bytes} {msg} eta {eta}"),
        Length::Unknown => (ProgressBar::no_length(), "{prefix} {spinner} {msg}"),
    };
    // The templates are constants, so the default is never needed.
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ");
    let bar = bar.with_style(style).with_prefix(Cow::Borrowed(title));
    bar.enable_steady_tick(TICK);
    bar
}

/// Writes a line; write errors are ignored.
fn write_line(line: &str) {
    drop(writeln!(console::err(), "{line}"));
}

/// Formats a number with commas between its thousands.
#[must_use]
pub fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// The rate per second, rounded down.
pub(crate) fn per_second(count: u64, seconds: f64) -> u64 {
    let took = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let rate = u128::from(count) * 1_000_000_000 / took.as_nanos().max(1);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_numbers_are_formatted() {
        let check = |count, seconds, expected| assert_eq!(per_second(count, seconds), expected);
        check(10, 2.0, 5);
        check(0, 0.0, 0);
        check(3, 0.0, 3_000_000_000);
        check(10, f64::NAN, 10_000_000_000);
        assert_eq!(grouped(258_145), "258,145");
    }
}
