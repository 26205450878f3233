//! Roles and pages: one status for each page and person. The tests fail if a page is served but missing in the matrix, or the
//! reverse.

use std::collections::BTreeSet;

use dashboard::guard::Access;
use dashboard::routes;
use tests::dashboard::{Browser, is_sign_in_required};
use tests::http_client::Answer;
use wire::proto::operate::v1::DashboardRole;

use crate::fixture::Fixture;

/// The value of a form's field that stands for the tenant of the test.
const TENANT: &str = "{tenant}";

/// The people, in the order of the matrix's columns.
fn people(fixture: &Fixture) -> [(&'static str, Option<(&'static str, DashboardRole)>); 6] {
    [
        ("nobody", None),
        ("a viewer", Some((fixture.tenant, DashboardRole::Viewer))),
        ("support", Some((fixture.tenant, DashboardRole::Support))),
        ("an administrator", Some((fixture.tenant, DashboardRole::Administrator))),
        ("an operator", Some((fixture.tenant, DashboardRole::Operator))),
        ("another tenant's administrator", Some((fixture.foreign_tenant, DashboardRole::Administrator))),
    ]
}

type Statuses = [u16; 6];

/// Pages for everybody.
const fn for_all(status: u16) -> Statuses {
    [status; 6]
}

/// Pages for every signed-in person; `ok` is their status.
const fn for_viewers(ok: u16) -> Statuses {
    [303, ok, ok, ok, ok, ok]
}

/// Pages for administrators and operators.
const fn for_administrators(ok: u16) -> Statuses {
    [303, 403, 403, ok, ok, ok]
}

/// What every signed-in person may do.
const fn by_viewers(ok: u16) -> Statuses {
    [401, ok, ok, ok, ok, ok]
}

/// Pages for people with the role support, or a higher one.
const fn for_support(ok: u16) -> Statuses {
    [303, 403, ok, ok, ok, ok]
}

/// What people with the role support, or a higher one, may do.
const fn by_support(ok: u16) -> Statuses {
    [401, 403, ok, ok, ok, ok]
}

/// What administrators and operators may do.
const fn by_administrators(ok: u16) -> Statuses {
    [401, 403, 403, ok, ok, ok]
}

/// One page: its name in the table of routes, a path, the fields of its form, and the statuses.
struct Row {
    name: &'static str,
    path: String,
    fields: &'static [(&'static str, &'static str)],
    statuses: Statuses,
}

fn row(name: &'static str, statuses: Statuses) -> Row {
    let (_, path) = name.split_once(' ').unwrap();
    Row {
        name,
        path: path
            .replace("{version}", "1")
            .replace("{id}", "none")
            .replace("{agent}", "none")
            .replace("{key}", "none"),
        fields: &[],
        statuses,
    }
}

fn matrix() -> Vec<Row> {
    let link = "/dashboard/sign-in/link?token=none";
    vec![
        Row {
            path: "/dashboard/assets/0/style.css".to_owned(),
            ..row("GET /dashboard/assets/{hash}/{name}", for_all(200))
        },
        row("GET /dashboard/sign-in", for_all(200)),
        // `tests/clients/dashboard` signs in at a provider.
        row("GET /dashboard/sign-in/provider", for_all(404)),
        row("GET /dashboard/sign-in/callback", for_all(404)),
        // `sign_in.rs` tests valid links.
        Row { path: link.to_owned(), ..row("GET /dashboard/sign-in/link", for_all(401)) },
        Row { fields: &[("token", "none")], ..row("POST /dashboard/sign-in/link", for_all(401)) },
        row("POST /dashboard/sign-out", by_viewers(303)),
        Row {
            fields: &[("name", "failed"), ("q", "outcome:failed")],
            ..row("POST /dashboard/views", [401, 403, 303, 303, 303, 303])
        },
        row("GET /dashboard/audit", for_administrators(200)),
        row("GET /dashboard", for_viewers(200)),
        row("GET /dashboard/search", for_viewers(200)),
        row("GET /dashboard/usage", for_viewers(200)),
        row("GET /dashboard/usage/download", for_viewers(200)),
        row("GET /dashboard/usage/runs", for_viewers(200)),
    ]
    .into_iter()
    .chain(operators_pages())
    .chain(missing_conversation())
    .chain(settings())
    .collect()
}

/// The pages of operators. `system` tests parked conversations and tenants that exist.
fn operators_pages() -> [Row; 4] {
    let of_operators = |first: u16, ok: u16| [first, 403, 403, 403, ok, 403];
    [
        row("GET /dashboard/system", of_operators(303, 200)),
        Row {
            fields: &[("tenant", TENANT), ("conversation", "none")],
            ..row("POST /dashboard/system/parked/retry", of_operators(401, 404))
        },
        Row {
            fields: &[("tenant", TENANT), ("conversation", "none"), ("sequence", "1"), ("confirmation", "none")],
            ..row("POST /dashboard/system/parked/drop", of_operators(401, 404))
        },
        Row { fields: &[("tenant", "none")], ..row("POST /dashboard/system/tenant", of_operators(401, 404)) },
    ]
}

/// The pages of a conversation that does not exist; `transcript` has one that does.
fn missing_conversation() -> impl Iterator<Item = Row> {
    let reads = [
        "GET /dashboard/conversations/{id}",
        "GET /dashboard/conversations/{id}/stream",
        "GET /dashboard/conversations/{id}/events/{version}",
        "GET /dashboard/conversations/{id}/events/{version}/download",
        "GET /dashboard/conversations/{id}/context",
        "GET /dashboard/conversations/{id}/context/body",
    ];
    let support_reads = [
        "GET /dashboard/conversations/{id}/export",
        "GET /dashboard/conversations/{id}/erase",
        "GET /dashboard/conversations/{id}/erasure",
    ];
    let posts = ["POST /dashboard/conversations/{id}/context", "POST /dashboard/conversations/{id}/context/verify"];
    let support_posts = [
        "POST /dashboard/conversations/{id}/title",
        "POST /dashboard/conversations/{id}/archive",
        "POST /dashboard/conversations/{id}/restore",
        "POST /dashboard/conversations/{id}/erase",
    ];
    let rows = |names: &[&'static str], statuses: Statuses| {
        let rows = names.iter().map(|name| Row {
            fields: &[("title", "t"), ("receipt", "{}"), ("confirmation", "none")],
            ..row(name, statuses)
        });
        rows.collect::<Vec<Row>>()
    };
    rows(&reads, for_viewers(404))
        .into_iter()
        .chain(rows(&support_reads, for_support(404)))
        .chain(rows(&posts, by_viewers(404)))
        .chain(rows(&support_posts, by_support(404)))
}

/// The pages of settings, of an agent that does not exist; `settings` has agents that do.
fn settings() -> impl Iterator<Item = Row> {
    let reads = [
        row("GET /dashboard/settings", for_administrators(200)),
        row("GET /dashboard/settings/signing-keys", for_administrators(200)),
    ];
    let missing_reads = [
        "GET /dashboard/settings/agents/{agent}",
        "GET /dashboard/settings/agents/{agent}/policy",
        "GET /dashboard/settings/agents/{agent}/keys",
        "GET /dashboard/settings/agents/{agent}/webhooks",
    ];
    let missing_posts = [
        "POST /dashboard/settings/agents/{agent}",
        "POST /dashboard/settings/agents/{agent}/policy",
        "POST /dashboard/settings/agents/{agent}/policy/preview",
        "POST /dashboard/settings/agents/{agent}/keys",
        "POST /dashboard/settings/agents/{agent}/keys/{key}/origins",
        "POST /dashboard/settings/agents/{agent}/keys/{key}/rotate",
        "POST /dashboard/settings/agents/{agent}/keys/{key}/revoke",
        "POST /dashboard/settings/agents/{agent}/webhooks/secret",
        "POST /dashboard/settings/signing-keys/retire",
    ];
    let invalid = [row("POST /dashboard/settings/signing-keys", by_administrators(400))];
    let missing_reads = missing_reads.map(|name| row(name, for_administrators(404)));
    let missing_posts = missing_posts
        .map(|name| Row { fields: &[("policy", "{}"), ("confirmation", "none")], ..row(name, by_administrators(404)) });
    reads.into_iter().chain(missing_reads).chain(missing_posts).chain(invalid)
}

async fn browser(fixture: &Fixture, person: Option<(&str, DashboardRole)>) -> Browser {
    let client = fixture.stack.http_client();
    match person {
        Some((tenant, role)) => Browser::signed_in(client, &fixture.operator, tenant, role).await,
        None => Browser::new(client),
    }
}

async fn send(fixture: &Fixture, browser: &Browser, row: &Row) -> Answer {
    if !row.name.starts_with("POST ") {
        return browser.get(&row.path).await;
    }
    let fields = row.fields.iter().map(|(name, value)| (*name, if *value == TENANT { fixture.tenant } else { *value }));
    browser.post(&row.path, &fields.collect::<Vec<_>>()).await
}

#[test]
fn every_page_is_in_the_matrix() {
    let served: BTreeSet<String> =
        routes::table().into_iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    let known: BTreeSet<String> = matrix().iter().map(|row| row.name.to_owned()).collect();
    assert_eq!(served, known);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_person_gets_the_status_of_the_matrix() {
    let fixture = Fixture::new().await;
    let mut wrong = Vec::new();
    for (column, (name, person)) in people(&fixture).into_iter().enumerate() {
        for row in matrix() {
            // A page may end the session.
            let browser = browser(&fixture, person).await;
            let answer = send(&fixture, &browser, &row).await;
            let expected = row.statuses[column];
            if answer.status != expected {
                wrong.push(format!("{} for {name}: {} and not {expected}", row.name, answer.status));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_of_other_pages_are_rejected() {
    let fixture = Fixture::new().await;
    let administrator = Some((fixture.tenant, DashboardRole::Operator));
    let person = browser(&fixture, administrator).await;
    let other = browser(&fixture, administrator).await;
    let posts = routes::table().into_iter();
    let signed: BTreeSet<String> = posts
        .filter(|route| route.method == "POST" && route.access != Access::Public)
        .map(|route| format!("POST {}", route.path))
        .collect();
    for row in matrix().iter().filter(|row| row.name.starts_with("POST ")) {
        for site in ["same-site", "cross-site", "none"] {
            let answer = person.post_from(&row.path, row.fields, site).await;
            assert_eq!(answer.status, 403, "{} from {site}", row.name);
        }
        if signed.contains(row.name) {
            for token in ["", other.form_token()] {
                let forged = person.with_form_token(token);
                let answer = forged.post(&row.path, row.fields).await;
                assert_eq!(answer.status, 403, "{} with {token:?}", row.name);
                assert!(answer.text().contains("FORM_TOKEN_INVALID"));
            }
        }
    }
    assert!(!is_sign_in_required(&person.get("/dashboard").await));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_forbids_scripts_of_others_and_frames() {
    let fixture = Fixture::new().await;
    let person = browser(&fixture, Some((fixture.tenant, DashboardRole::Operator))).await;
    let gets = matrix().into_iter().filter(|row| row.name.starts_with("GET "));
    let paths = gets.map(|row| row.path).chain(["/dashboard/nowhere".to_owned()]);
    for path in paths {
        let answer = person.get(&path).await;
        let header = |name: &str| answer.headers.get(name).cloned().unwrap_or_default();
        let policy = header("content-security-policy");
        for rule in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(header("x-frame-options"), "DENY", "{path}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("referrer-policy"), "no-referrer", "{path}");
        if !path.contains("assets") {
            assert_eq!(header("cache-control"), "no-store", "{path}");
            let is_file = path.starts_with("/dashboard/usage/");
            let content_type = if is_file { "text/csv" } else { "text/html" };
            assert!(header("content-type").starts_with(content_type), "{path}");
            assert!(!answer.text().contains("style="), "{path}");
        }
    }
}
