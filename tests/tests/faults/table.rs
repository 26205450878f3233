//! The table of faults, calls and findings, written by the test suite.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;

use tests::checker::Report;

/// The variable with the file, relative to the repository's root; without it nothing is written.
const VARIABLE: &str = "FAULT_REPORT";
/// The variable that is `true` in CI.
const CI: &str = "CI";
/// Lines of a report that the table omits.
const LEFT_OUT: [&str; 4] =
    ["seed (FAULT_SEED)", "strikes", "conversations read through the gateway", "fresh reads under load"];

/// The rows of this process so far, by title.
static ROWS: Mutex<BTreeMap<String, Row>> = Mutex::new(BTreeMap::new());

/// The result of one fault.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    pub(crate) strikes: String,
    pub(crate) commands: String,
    pub(crate) acknowledged: String,
    pub(crate) again: String,
    pub(crate) findings: String,
    pub(crate) besides: String,
}

impl Row {
    /// The row of a report.
    pub(crate) fn of(report: &Report) -> Self {
        let own = report.own_lines();
        let besides: Vec<String> =
            own.filter(|(name, _)| !LEFT_OUT.contains(name)).map(|(name, value)| format!("{name}: {value}")).collect();
        Self {
            strikes: report.value("strikes").to_owned(),
            commands: report.value("commands tried").to_owned(),
            acknowledged: report.value("acknowledged").to_owned(),
            again: report.value("sent more than once").to_owned(),
            findings: report.findings().len().to_string(),
            besides: besides.join("; "),
        }
    }
}

/// Adds a row, and writes the table if the environment requests it.
pub(crate) fn add(fault: &str, row: Row) {
    let mut rows = ROWS.lock().unwrap();
    rows.insert(fault.to_owned(), row);
    if let Ok(file) = std::env::var(VARIABLE) {
        // Tests run in their package's folder.
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        fs::write(root.join(file), format_table(&rows)).expect("a table of faults");
    }
}

/// Why a fault cannot be tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The machine does not permit it.
    Machine(String),
    /// A tool is missing that `.ci/run` provides.
    Tool(String),
}

/// The value; without it, prints that the test is skipped and why, and adds that to the table.
///
/// # Panics
/// A tool is missing in CI.
pub(crate) fn permitted<T>(fault: &str, permitted: Result<T, Obstacle>) -> Option<T> {
    let obstacle = match permitted {
        Ok(permitted) => return Some(permitted),
        Err(obstacle) => obstacle,
    };
    let (Obstacle::Machine(why) | Obstacle::Tool(why)) = &obstacle;
    assert!(!must_be_tried(&obstacle, std::env::var(CI).ok().as_deref()), "not skipped in CI: {fault}: {why}");
    print(&format!("\nskipped: {fault}: {why}\n"));
    let row = Row { findings: "skipped".to_owned(), besides: format!("skipped: {why}"), ..Row::default() };
    add(fault, row);
    None
}

/// Whether the fault must be tried despite the obstacle; `ci`: the value of the variable [`CI`].
fn must_be_tried(obstacle: &Obstacle, ci: Option<&str>) -> bool {
    matches!(obstacle, Obstacle::Tool(_)) && ci == Some("true")
}

#[test]
fn only_missing_tools_fail_and_only_in_ci() {
    let [machine, tool] = [Obstacle::Machine, Obstacle::Tool].map(|obstacle| obstacle("why".to_owned()));
    for ci in [None, Some(""), Some("true")] {
        assert!(!must_be_tried(&machine, ci), "{ci:?}");
        assert_eq!(must_be_tried(&tool, ci), ci == Some("true"), "{ci:?}");
    }
}

/// Prints directly to standard output, because a passing test's output is captured.
pub(crate) fn print(text: &str) {
    let _closed = std::io::stdout().lock().write_all(text.as_bytes());
}

fn format_table(rows: &BTreeMap<String, Row>) -> String {
    let mut text = String::from(
        "# Faults\n\n\
         What was tried, and what was found. The suite (`tests/tests/faults`) writes this page:\n\n\
         ```sh\n\
         FAULT_REPORT=docs/explanation/faults.md cargo test -p tests --features faults --test faults     # the long form\n\
         FAULT_REPORT=docs/explanation/faults.md cargo test -p tests --test faults                       # the short one, as in CI\n\
         ```\n\n\
         A finding is anything that `tests::checker` rejects: an acknowledged commit that is lost, duplicated or out of order, a \
         gap or fork of versions, a broken chain, a stale read, a row or an answer that differs. Every test fails on a finding, \
         except where the table says that it was expected.\n\n\
         | fault | strikes | commands | acknowledged | sent again | findings | besides |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for (fault, row) in rows {
        let Row { strikes, commands, acknowledged, again, findings, besides } = row;
        let besides = besides.replace('|', "/");
        writeln!(text, "| {fault} | {strikes} | {commands} | {acknowledged} | {again} | {findings} | {besides} |")
            .unwrap();
    }
    text
}
