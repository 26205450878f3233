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

/// The value, if the machine permits it; otherwise prints that the test is skipped, and adds that to the table.
pub(crate) fn permitted<T>(fault: &str, permitted: Result<T, String>) -> Option<T> {
    let why = match permitted {
        Ok(permitted) => return Some(permitted),
        Err(why) => why,
    };
    print(&format!("\nskipped: {fault}: {why}\n"));
    let besides = format!("skipped: {why}");
    let row = Row { besides, ..Row::default() };
    add(fault, row);
    None
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
