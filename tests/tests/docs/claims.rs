//! Checks that every claim of the documents with tables of tests names an existing one.

use std::fs;
use std::path::Path;

/// The header cell of the column that names tests.
const TEST_COLUMN: &str = "test";

/// A row of a table whose last column names tests.
struct Claim<'a> {
    line: usize,
    cells: Vec<&'a str>,
}

fn cells(line: &str) -> Vec<&str> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(str::trim).collect()
}

/// The rows of the tables whose last column is [`TEST_COLUMN`].
fn claims(text: &str) -> Vec<Claim<'_>> {
    let mut is_claim_table = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if !line.starts_with('|') {
            is_claim_table = false;
            continue;
        }
        let cells = cells(line);
        if cells.last() == Some(&TEST_COLUMN) {
            is_claim_table = true;
            continue;
        }
        let is_rule = cells.iter().all(|cell| cell.trim_matches(['-', ':']).is_empty());
        if is_claim_table && !is_rule {
            let line = index + 1;
            found.push(Claim { line, cells });
        }
    }
    found
}

/// The `path::function` references of a cell, each in backticks.
fn references(cell: &str) -> Vec<(&str, &str)> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.filter_map(|text| text.split_once(".rs::")).collect()
}

/// The error of a reference; `None` if the test exists.
fn fault(root: &Path, (file, function): (&str, &str)) -> Option<String> {
    let path = root.join(format!("{file}.rs"));
    let Ok(source) = fs::read_to_string(&path) else {
        return Some(format!("{file}.rs does not exist"));
    };
    let is_there = source.contains(&format!("fn {function}("));
    (!is_there).then(|| format!("{file}.rs has no function {function}"))
}

#[test]
fn every_claim_names_an_existing_test() {
    check("docs/explanation/security.md", 40);
    check("docs/explanation/protocols.md", 20);
}

fn check(document: &str, claims_min: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join(document)).expect(document);
    let claims = claims(&text);
    assert!(claims.len() >= claims_min, "{document}: {} claims", claims.len());
    let mut faults = Vec::new();
    for claim in &claims {
        let named = references(claim.cells.last().expect("a cell"));
        if named.is_empty() {
            faults.push(format!("line {}: names no test", claim.line));
        }
        let broken = named.into_iter().filter_map(|named| fault(&root, named));
        faults.extend(broken.map(|fault| format!("line {}: {fault}", claim.line)));
    }
    assert!(faults.is_empty(), "{document}: {}", faults.join("\n"));
}
