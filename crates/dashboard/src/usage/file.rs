//! Usage as a file.

use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use domain::ViolationReason;
use read_model::queries::USAGE_ROWS_MAX;
use runtime::http::HttpProblem;

use super::range::{Range, is_cut};
use http_listener::csv_row::{CSV, row};

/// A file with a row of names and a row for each of `rows`.
///
/// # Errors
/// There may be more rows than were read.
pub(super) fn file<T, const COUNT: usize>(
    name: &str,
    range: &Range,
    columns: [&str; COUNT],
    rows: &[T],
    cells: impl Fn(&T) -> [String; COUNT],
) -> Result<Response, HttpProblem> {
    if is_cut(rows) {
        let detail = format!("the range has {USAGE_ROWS_MAX} rows or more: choose fewer days, or one agent");
        return Err(HttpProblem::of_field(ViolationReason::OutOfRange, "to", &detail));
    }
    let mut content = Vec::new();
    row(&columns.map(str::to_owned), &mut content);
    for one in rows {
        row(&cells(one), &mut content);
    }
    let (first, last) = (range.days.first(), range.days.last());
    let name = format!("attachment; filename=\"{name}-{first}-{last}.csv\"");
    let headers = [(header::CONTENT_TYPE, CSV.to_owned()), (header::CONTENT_DISPOSITION, name)];
    Ok((headers, content).into_response())
}
