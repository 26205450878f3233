//! `GET /dashboard/audit`: the audit log of a month, the newest entry first.

use axum::extract::State;
use axum::http::StatusCode;
use domain::{RecordedEvent, Version, ViolationReason};
use history::{Bounds, Direction, Page as EventPage, Target, decode};
use pages::components::PageLinks;
use pages::dashboard::audit_log::{AuditFilterForm, AuditLogPage, AuditRow, audit_log};
use pages::layout::Freshness;
use read_model::queries::EventQuery;
use runtime::http::{HttpProblem, Query};
use serde::Deserialize;
use wire::audit::{AuditActor, AuditEntry, AuditMonth};

use crate::page::Page;
use crate::person::Person;
use conversations::audit::AuditFilter;
use http_listener::state::HttpState;

/// Entries of a page.
pub const AUDIT_PAGE_ENTRIES: usize = 100;
/// Entries that are examined for a page with a filter, at least.
pub const AUDIT_PAGE_EXAMINED_MAX: usize = 5_000;
/// Entries and bytes of one read.
const READ: Bounds = Bounds { events_max: AUDIT_PAGE_ENTRIES, bytes_max: 1024 * 1024 };
const PATH: &str = "/dashboard/audit";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AuditQuery {
    /// The month, such as `2026-11`; absent: the current one, in UTC.
    month: Option<String>,
    /// Only entries before this version; absent: from the newest.
    before: Option<u64>,
    /// The kind of the actor; empty: any.
    actor: String,
    /// The name of the actor; empty: any.
    name: String,
    /// What was done; empty: anything.
    action: String,
    /// The conversation; empty: any.
    conversation: String,
}

pub(super) async fn show_audit_log(
    State(state): State<HttpState>,
    person: Person,
    Query(query): Query<AuditQuery>,
) -> Result<Page, HttpProblem> {
    let current = AuditMonth::of(state.now());
    let month = month(query.month.as_deref(), current)?;
    let (rows, next) = entries(&state, &person, month, &query).await?;
    let later = (month != current).then(|| month.later().to_string());
    let parameters = query.parameters();
    let first = format!("{PATH}?month={month}{parameters}");
    let next = next.map(|before| format!("{first}&before={before}"));
    Ok(Page(audit_log(AuditLogPage {
        person: person.layout(),
        month: &month.to_string(),
        earlier: &month.earlier().to_string(),
        later: later.as_deref(),
        filter: AuditFilterForm {
            actor: &query.actor,
            name: &query.name,
            action: &query.action,
            conversation: &query.conversation,
            query: &parameters,
        },
        rows: &rows,
        links: PageLinks { first: query.before.map(|_| first.as_str()), next: next.as_deref() },
        freshness: Freshness::Current,
    })))
}

impl AuditQuery {
    fn filter(&self) -> Result<AuditFilter, HttpProblem> {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let actor_kind = text(&self.actor).map(|name| {
            let detail = "actor is no kind of actor: write person, administrator or service_token";
            AuditActor::parse(&name).ok_or_else(|| HttpProblem::of_field(ViolationReason::Malformed, "actor", detail))
        });
        Ok(AuditFilter {
            actor_kind: actor_kind.transpose()?,
            name: text(&self.name),
            action: text(&self.action),
            conversation: text(&self.conversation),
        })
    }

    /// The filter as parameters of a URL, each after `&`.
    fn parameters(&self) -> String {
        let parts = [
            ("actor", &self.actor),
            ("name", &self.name),
            ("action", &self.action),
            ("conversation", &self.conversation),
        ];
        let parts = parts.into_iter().filter(|(_, value)| !value.is_empty());
        let parts = parts.map(|(name, value)| {
            let value: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
            format!("&{name}={value}")
        });
        parts.collect()
    }
}

/// The entries of a page, and the version before which the next page starts. A month without entries has no log.
async fn entries(
    state: &HttpState,
    person: &Person,
    month: AuditMonth,
    query: &AuditQuery,
) -> Result<(Vec<AuditRow>, Option<u64>), HttpProblem> {
    let filter = query.filter()?;
    let target = match person.admin.audit_log(state, &month.to_string()).await {
        Err(missing) if missing.status == StatusCode::NOT_FOUND => return Ok((Vec::new(), None)),
        target => target?,
    };
    let mut to = query.before.map_or(EventQuery::OPEN_END, |before| Version(before.saturating_sub(1)));
    let (mut rows, mut examined) = (Vec::new(), 0);
    loop {
        let (events, next) = read(state, &target, to).await?;
        examined += events.len();
        for event in &events {
            rows.extend(row(event, &filter));
            if rows.len() == AUDIT_PAGE_ENTRIES {
                return Ok((rows, before(event.version)));
            }
        }
        match next {
            Some(next) if examined < AUDIT_PAGE_EXAMINED_MAX => to = next,
            next => return Ok((rows, next.and_then(|next| before(next.next())))),
        }
    }
}

/// The first event creates the log.
fn before(version: Version) -> Option<u64> {
    Some(version.0).filter(|before| *before > 2)
}

/// Events up to a version, the newest first, and the version that the next ones start at.
async fn read(
    state: &HttpState,
    target: &Target,
    to: Version,
) -> Result<(Vec<RecordedEvent>, Option<Version>), HttpProblem> {
    let range = history::Range { to, ..history::Range::all(Direction::Backward) };
    let page = EventPage::recorded(&state.gateway.reader, target, range, READ).await?;
    let events = page.events.iter().map(|event| decode(&target.key, event).map_err(HttpProblem::from));
    Ok((events.collect::<Result<_, _>>()?, page.next.map(|start| start.version)))
}

/// The row of a matching entry; `None`: it does not match, or the event is the creation or the end of the log.
fn row(event: &RecordedEvent, filter: &AuditFilter) -> Option<AuditRow> {
    let entry = AuditEntry::from_metadata(event.event.metadata.as_ref()).filter(|entry| filter.matches(entry))?;
    Some(AuditRow {
        at: event.recorded_at,
        actor_kind: entry.actor_kind.as_str(),
        name: entry.name,
        role: entry.role,
        action: entry.action,
        conversation: entry.conversation,
        detail: entry.detail,
    })
}

fn month(text: Option<&str>, current: AuditMonth) -> Result<AuditMonth, HttpProblem> {
    let Some(text) = text else {
        return Ok(current);
    };
    AuditMonth::parse(text).ok_or_else(|| {
        let detail = "month is no month: write it like 2026-11";
        HttpProblem::of_field(ViolationReason::Malformed, "month", detail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_part_of_the_url() {
        let query = AuditQuery { actor: "person".to_owned(), name: "a&b <c>".to_owned(), ..AuditQuery::default() };
        assert_eq!(query.parameters(), "&actor=person&name=a%26b+%3Cc%3E");
        assert_eq!(query.filter().unwrap().name.as_deref(), Some("a&b <c>"));
        assert_eq!(AuditQuery::default().parameters(), "");
        assert!(AuditQuery { actor: "robot".to_owned(), ..AuditQuery::default() }.filter().is_err());
    }
}
