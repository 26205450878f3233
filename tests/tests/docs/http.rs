//! `docs/reference/http.md`: every operation of the description.

use std::collections::BTreeSet;

use tests::generated;

#[test]
fn the_reference_has_every_operation() {
    let document = serde_json::to_value(gateway::http::router::document()).expect("the description");
    let paths = document.get("paths").and_then(|paths| paths.as_object());
    let mut rows = BTreeSet::new();
    for (path, operations) in paths.expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let Some(summary) = operation.get("summary").and_then(|summary| summary.as_str()) else {
                continue;
            };
            rows.insert(format!("| `{} {path}` | {summary} |\n", method.to_uppercase()));
        }
    }
    assert!(rows.len() > 20, "{rows:?}");
    let rows: String = rows.into_iter().collect();
    let table = format!("\n| operation | meaning |\n|---|---|\n{rows}\n");
    generated::check("docs/reference/http.md", "operations", &table);
}
