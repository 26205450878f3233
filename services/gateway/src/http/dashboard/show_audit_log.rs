//! `GET /dashboard/audit`: the audit log of a month, the newest entry first.

use axum::extract::State;
use axum::http::StatusCode;
use domain::{RecordedEvent, Version};
use history::{Direction, Page as EventPage, PageBounds, decode};
use pages::components::PageLinks;
use pages::dashboard::audit_log::{AuditLogPage, AuditRow, audit_log};
use pages::layout::Freshness;
use read_model::queries::EventQuery;
use runtime::http::{HttpProblem, Query};
use serde::Deserialize;
use time::OffsetDateTime;

use super::{Page, Person};
use crate::http::owned_chat::from_read_error;
use crate::http::{HttpState, problem};

/// Entries of a page.
pub const AUDIT_PAGE_ENTRIES: u32 = 100;
/// Maximum size of the entries of a page, in bytes.
const AUDIT_PAGE_BYTES_MAX: u64 = 1024 * 1024;
const PATH: &str = "/dashboard/audit";

#[derive(Debug, Default, Deserialize)]
pub(super) struct AuditQuery {
    /// The month, such as `2026-11`; absent: the current one, in UTC.
    month: Option<String>,
    /// Only entries before this version; absent: from the newest.
    before: Option<u64>,
}

/// The metadata of an entry, as the writer records it.
#[derive(Debug, Default, Deserialize)]
struct Entry {
    name: String,
    role: String,
    action: String,
    conversation: Option<String>,
    detail: String,
}

pub(super) async fn show_audit_log(
    State(state): State<HttpState>,
    person: Person,
    Query(query): Query<AuditQuery>,
) -> Result<Page, HttpProblem> {
    let current = month_of(state.now().seconds());
    let month = Month::parse(query.month.as_deref().unwrap_or(&current))?;
    let (rows, next) = entries(&state, &person, month, query.before).await?;
    let later = (month.text() != current).then(|| month.later().text());
    let first = format!("{PATH}?month={}", month.text());
    let next = next.map(|before| format!("{first}&before={before}"));
    Ok(Page(audit_log(AuditLogPage {
        person: person.layout(),
        month: &month.text(),
        earlier: &month.earlier().text(),
        later: later.as_deref(),
        rows: &rows,
        links: PageLinks { first: query.before.map(|_| first.as_str()), next: next.as_deref() },
        freshness: Freshness::Current,
    })))
}

/// The entries of a page, and the version before which the next page starts. A month without entries has no log.
async fn entries(
    state: &HttpState,
    person: &Person,
    month: Month,
    before: Option<u64>,
) -> Result<(Vec<AuditRow>, Option<u64>), HttpProblem> {
    let target = match person.admin.audit_log(state, &month.text()).await {
        Err(missing) if missing.status == StatusCode::NOT_FOUND => return Ok((Vec::new(), None)),
        target => target?,
    };
    let last = before.map(|before| Version(before.saturating_sub(1)));
    let query = history::Query { to: last.unwrap_or(EventQuery::OPEN_END), ..history::Query::all(Direction::Backward) };
    let bounds = PageBounds { events_max: AUDIT_PAGE_ENTRIES, bytes_max: AUDIT_PAGE_BYTES_MAX };
    let page = EventPage::recorded(&state.gateway.reader, &target, query, bounds).await.map_err(from_read_error)?;
    let mut rows = Vec::new();
    for event in &page.events {
        let event = decode(&target.key, event).map_err(problem::from_problem)?;
        rows.extend(row(&event));
    }
    // The first event creates the log.
    let next = page.next.map(|start| start.version.next().0);
    Ok((rows, next.filter(|before| *before > 2)))
}

/// The row of an entry; `None`: the event is the creation of the log.
fn row(event: &RecordedEvent) -> Option<AuditRow> {
    let metadata = event.event.metadata.as_ref()?;
    let entry: Entry = serde_json::from_str(metadata.as_str()).ok()?;
    Some(AuditRow {
        at: event.recorded_at,
        name: entry.name,
        role: entry.role,
        action: entry.action,
        conversation: entry.conversation,
        detail: entry.detail,
    })
}

/// A month of the calendar, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Month {
    year: u16,
    month: u8,
}

fn month_of(seconds: i64) -> String {
    let date = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    format!("{:04}-{:02}", date.year(), u8::from(date.month()))
}

impl Month {
    fn parse(text: &str) -> Result<Self, HttpProblem> {
        let parts = text.split_once('-').filter(|(year, month)| year.len() == 4 && month.len() == 2);
        let month = parts
            .and_then(|(year, month)| Some(Self { year: year.parse().ok()?, month: month.parse().ok()? }))
            .filter(|month| (1..=12).contains(&month.month));
        month.ok_or_else(|| {
            let detail = "month is no month: write it like 2026-11";
            HttpProblem::of_field("FIELD_MALFORMED", "month", detail)
        })
    }

    fn text(self) -> String {
        format!("{:04}-{:02}", self.year, self.month)
    }

    fn earlier(self) -> Self {
        match self.month {
            1 => Self { year: self.year.saturating_sub(1), month: 12 },
            month => Self { month: month - 1, ..self },
        }
    }

    fn later(self) -> Self {
        match self.month {
            12 => Self { year: self.year.saturating_add(1).min(9_999), month: 1 },
            month => Self { month: month + 1, ..self },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_parsed_and_follow_each_other() {
        for text in ["2026", "2026-13", "2026-00", "26-11", "2026-1", "a-11", "+026-11-01", ""] {
            assert!(Month::parse(text).is_err(), "{text}");
        }
        for (earlier, later) in [("2026-11", "2026-12"), ("2026-12", "2027-01")] {
            assert_eq!(Month::parse(earlier).unwrap().later().text(), later);
            assert_eq!(Month::parse(later).unwrap().earlier().text(), earlier);
        }
        assert_eq!(month_of(1_795_996_799), "2026-11");
    }
}
