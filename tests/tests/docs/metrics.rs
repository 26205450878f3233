//! `docs/reference/metrics.md`: the tables of metrics in module comments.

use std::collections::BTreeSet;
use std::fs;

use super::source::rust_files;
use tests::generated;

use super::markdown;

const DOCUMENT: &str = "docs/reference/metrics.md";
const PREFIXES: [&str; 5] = ["hansard_", "grpc_server_", "http_server_", "server_", "process_"];
/// The macro of a metric, before its name.
const MACROS: [&str; 3] = ["counter!(", "gauge!(", "histogram!("];

/// A row of a module's table.
fn row(line: &str) -> Option<String> {
    let row = line.strip_prefix("//! ")?;
    let name = row.strip_prefix("| `")?;
    let is_metric = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    is_metric.then(|| row.to_owned())
}

#[test]
fn the_reference_has_every_table() {
    let mut rows = BTreeSet::new();
    for file in rust_files() {
        let text = fs::read_to_string(file).expect("a source");
        rows.extend(text.lines().filter_map(row));
    }
    let rows: Vec<String> = rows.into_iter().collect();
    let table = format!("\n| metric | unit | meaning |\n|---|---|---|\n{}\n\n", rows.join("\n"));
    generated::check(DOCUMENT, "metrics", &table);
}

/// The names of the metrics in a source, if they are literals.
fn names(source: &str) -> impl Iterator<Item = &str> {
    MACROS.iter().flat_map(move |call| {
        let calls = source.split(call).skip(1);
        calls.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
    })
}

#[test]
fn no_metric_is_missing() {
    let document = markdown::read(DOCUMENT).text;
    let mut missing = BTreeSet::new();
    for file in rust_files() {
        let text = fs::read_to_string(file).expect("a source");
        let made = names(&text).filter(|name| PREFIXES.iter().any(|prefix| name.starts_with(prefix)));
        missing.extend(made.filter(|name| !document.contains(*name)).map(str::to_owned));
    }
    assert!(missing.is_empty(), "{DOCUMENT} lacks {missing:?}");
}
