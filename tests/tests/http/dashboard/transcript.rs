//! The transcript of a conversation: depths, pages, hostile texts, changes, exports, and who may see and do what.

use serde_json::{Value, json};
use tests::dashboard::Browser;
use tests::events::{assistant, call, error, note, result, rewind, summary, user};
use tests::eventually::eventually;
use wire::proto::operate::v1::DashboardRole;

use crate::fixture::{Fixture, begin};

const SCRIPT: &str = "<script>alert(1)</script><img src=x onerror=alert(1)>";

pub(super) async fn person(fixture: &Fixture, role: DashboardRole) -> Browser {
    Browser::signed_in(fixture.stack.http_client(), &fixture.operator, fixture.tenant, role).await
}

/// The versions of the events of a page, in order.
fn versions(page: &str) -> Vec<u64> {
    let events = page.split(" data-version=\"").skip(1);
    events.filter_map(|event| event.split('"').next()?.parse().ok()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn depths_show_what_they_promise() {
    let fixture = Fixture::new().await;
    let agent = &fixture.agent;
    agent.create("c").await;
    let events = vec![
        user("Where is my parcel?"),
        call("a", r#"{"order":7}"#),
        result("a", r#"{"place":"Leeds"}"#),
        assistant("In Leeds."),
        note("a note for people"),
        error("a failure"),
        summary(4, "a short summary"),
        rewind(2),
    ];
    agent.append("c", events).await;
    let browser = person(&fixture, DashboardRole::Viewer).await;
    let check = async |depth: &str, expected: &[u64], present: &[&str], absent: &[&str]| {
        let path = format!("/dashboard/conversations/c?depth={depth}");
        let page = browser.get(&path).await;
        let text = page.text();
        assert_eq!(page.status, 200, "{text}");
        assert_eq!(versions(&text), expected, "{depth}");
        for part in present {
            assert!(text.contains(part), "{depth}: {part}");
        }
        for part in absent {
            assert!(!text.contains(part), "{depth}: {part}");
        }
    };
    let said = ["Where is my parcel?", "a failure", "a short summary", "In Leeds."];
    let conversation = [2, 3, 4, 5, 7, 8, 9];
    check("conversation", &conversation, &said, &["a note for people"]).await;
    let everything = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    let noted = ["a note for people", "rewound", "ConversationCreated"];
    check("everything", &everything, &noted, &[]).await;
    let raw = ["&quot;callId&quot;: &quot;a&quot;", "&quot;type&quot;: &quot;SystemNoted&quot;"];
    check("raw", &everything, &raw, &[]).await;
    let page = browser.get("/dashboard/conversations/c?depth=everything").await;
    // A rewind to version 2 hides the events from 3 on, but for itself.
    assert_eq!(page.text().matches(">rewound<").count(), 6);
    let wrong = browser.get("/dashboard/conversations/c?depth=none").await;
    assert_eq!(wrong.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_have_every_event_once_and_open_at_an_event() {
    let fixture = Fixture::new().await;
    fixture.agent.create("c").await;
    let all = 1_000;
    for _ in 0..(all / 500) {
        let events = (0..500).map(|number| user(format!("message {number}")));
        fixture.agent.append("c", events.collect()).await;
    }
    let all = all + 1;
    let browser = person(&fixture, DashboardRole::Viewer).await;
    let mut path = "/dashboard/conversations/c?depth=everything".to_owned();
    let mut found = Vec::new();
    loop {
        let page = browser.get(&path).await.text();
        let mut shown = versions(&page);
        assert!(shown.len() <= 100, "{}", shown.len());
        shown.extend(found);
        found = shown;
        let Some((_, link)) = page.split_once("before=") else {
            break;
        };
        let before = link.split('"').next().unwrap();
        path = format!("/dashboard/conversations/c?depth=everything&before={before}");
    }
    assert_eq!(found, (1..=all).collect::<Vec<u64>>());
    let at = browser.get("/dashboard/conversations/c?at=501").await.text();
    assert_eq!(versions(&at).first(), Some(&501));
    assert!(at.contains("before=501") && at.contains("after=600"), "{at}");
    let after = browser.get(&format!("/dashboard/conversations/c?after={all}")).await;
    assert_eq!(versions(&after.text()), Vec::<u64>::new());
    assert_eq!(after.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_of_a_step_links_to_the_context_before_the_step() {
    let fixture = Fixture::new().await;
    fixture.agent.create("c").await;
    let events = vec![
        user("Where is my parcel?"),
        assistant("I search."),
        call("a", "{}"),
        call("b", "{}"),
        result("a", "1"),
        result("b", "2"),
        assistant("In Leeds."),
    ];
    fixture.agent.append("c", events).await;
    let browser = person(&fixture, DashboardRole::Viewer).await;
    let check = async |query: &str, expected: &[u64]| {
        let path = format!("/dashboard/conversations/c?{query}");
        let page = browser.get(&path).await.text();
        let links = page.split("/context?version=").skip(1).filter_map(|link| link.split('"').next()?.parse().ok());
        assert_eq!(links.collect::<Vec<u64>>(), expected, "{query}");
    };
    for depth in ["conversation", "everything", "raw"] {
        check(&format!("depth={depth}"), &[2, 2, 2, 7]).await;
        // The step began before the page.
        check(&format!("depth={depth}&after=3"), &[2, 2, 7]).await;
        check(&format!("depth={depth}&at=5"), &[2, 7]).await;
        check(&format!("depth={depth}&at=8"), &[7]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn script_in_any_field_is_text() {
    let fixture = Fixture::new().await;
    let session = fixture.session("hostile");
    let body = json!({
        "title": SCRIPT,
        "metadata": {"a": SCRIPT},
        "context": {"pageUrl": "javascript:alert(1)", "userAgent": SCRIPT},
    });
    let chat = begin(&session, &body).await;
    let document = json!({ SCRIPT: SCRIPT }).to_string();
    let events = vec![
        user(SCRIPT),
        assistant(SCRIPT),
        call("a", &document),
        result("a", &document),
        note(SCRIPT),
        error(SCRIPT),
        summary(2, SCRIPT),
    ];
    fixture.agent.append(&chat, events).await;
    let browser = person(&fixture, DashboardRole::Support).await;
    for path in ["", "?depth=everything", "?depth=raw", "/events/2", "/context", "/context?format=anthropic", "/erase"]
    {
        let answer = browser.get(&format!("/dashboard/conversations/{chat}{path}")).await;
        let text = answer.text();
        assert_eq!(answer.status, 200, "{path}: {text}");
        for forbidden in ["<script>", "<img src=x", "href=\"javascript", "style="] {
            assert!(!text.contains(forbidden), "{path}: {forbidden}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_payloads_show_their_head_and_the_rest_on_request() {
    let fixture = Fixture::new().await;
    fixture.agent.create("c").await;
    let long = "x".repeat(400 * 1024);
    fixture.agent.append("c", vec![user(long.as_str())]).await;
    let browser = person(&fixture, DashboardRole::Viewer).await;
    let page = browser.get("/dashboard/conversations/c").await.text();
    assert!(page.len() < 40_000, "{}", page.len());
    assert!(page.contains("/dashboard/conversations/c/events/2"));
    let event = browser.get("/dashboard/conversations/c/events/2").await.text();
    assert!((300_000..330_000).contains(&event.len()), "{}", event.len());
    let file = browser.get("/dashboard/conversations/c/events/2/download").await;
    assert_eq!(file.headers["content-disposition"], "attachment; filename=\"event-2.json\"");
    assert_eq!(file.json()["parts"][0]["text"], long.as_str());
    let missing = browser.get("/dashboard/conversations/c/events/3").await;
    assert_eq!(missing.status, 404);
    assert!(missing.text().contains("EVENT_NOT_FOUND"));
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_and_tenants_decide_what_may_be_done() {
    let fixture = Fixture::new().await;
    fixture.agent.create("c").await;
    fixture.agent.append("c", vec![user("Hi"), assistant("Hello")]).await;
    let viewer = person(&fixture, DashboardRole::Viewer).await;
    let client = fixture.stack.http_client();
    let administrator = DashboardRole::Administrator;
    let foreign = Browser::signed_in(client, &fixture.operator, fixture.foreign_tenant, administrator).await;
    let reads = ["", "/events/1", "/events/1/download", "/context", "/context/body"];
    let support_reads = ["/export", "/erase"];
    for path in reads.iter().chain(&support_reads) {
        let of = |id: &str| format!("/dashboard/conversations/{id}{path}");
        let expected = if reads.contains(path) { 200 } else { 403 };
        assert_eq!(viewer.get(&of("c")).await.status, expected, "{path}");
        let answers = [foreign.get(&of("c")).await, foreign.get(&of("none")).await];
        assert_eq!(answers.each_ref().map(|answer| answer.status), [404; 2], "{path}");
        assert_eq!(answers[0].text(), answers[1].text(), "{path}");
    }
    for path in ["/title", "/archive", "/restore", "/erase"] {
        let fields = [("title", "t"), ("confirmation", "c")];
        let of = |id: &str| format!("/dashboard/conversations/{id}{path}");
        assert_eq!(viewer.post(&of("c"), &fields).await.status, 403, "{path}");
        let answers = [foreign.post(&of("c"), &fields).await, foreign.post(&of("none"), &fields).await];
        assert_eq!(answers[0].status, 404, "{path}");
        assert_eq!(answers[0].text(), answers[1].text(), "{path}");
    }
    assert_eq!(viewer.get("/dashboard/conversations/c").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn support_renames_archives_and_restores() {
    let fixture = Fixture::new().await;
    fixture.agent.create("c").await;
    let browser = person(&fixture, DashboardRole::Support).await;
    let path = "/dashboard/conversations/c";
    let send = async |action: &str, fields: &[(&str, &str)]| {
        let answer = browser.post(&format!("{path}/{action}"), fields).await;
        assert_eq!(answer.status, 303, "{action}: {}", answer.text());
        assert_eq!(answer.headers["location"], path);
        browser.get(path).await.text()
    };
    assert!(send("title", &[("title", "Parcel <7>")]).await.contains("Parcel &lt;7&gt;"));
    assert!(send("archive", &[]).await.contains("/restore\""));
    let archived = browser.post(&format!("{path}/title"), &[("title", "x")]).await;
    assert_eq!(archived.status, 409, "{}", archived.text());
    assert!(send("restore", &[]).await.contains("/archive\""));
    assert!(!send("title", &[("title", "")]).await.contains("Parcel"));
    let log = person(&fixture, DashboardRole::Administrator).await.get("/dashboard/audit").await.text();
    for entry in ["viewed", "changed", "title", "archive", "restore"] {
        assert!(log.contains(entry), "{entry}: {log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_have_every_event() {
    let fixture = Fixture::new().await;
    fixture.agent.create("c").await;
    let mut events = vec![user("=1+1"), call("a", "{}"), result("a", "7"), assistant("Seven.")];
    events.extend([user("again"), rewind(5)]);
    fixture.agent.append("c", events).await;
    let browser = person(&fixture, DashboardRole::Support).await;
    let export = async |format: &str| {
        let answer = browser.get(&format!("/dashboard/conversations/c/export?format={format}")).await;
        assert_eq!(answer.status, 200, "{format}: {}", answer.text());
        let file = answer.headers["content-disposition"].clone();
        assert!(file.starts_with("attachment; filename=\"conversation-c."), "{file}");
        answer
    };
    let lines: Vec<Value> =
        export("ndjson").await.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 8);
    assert_eq!(lines[7], json!({"end": {"version": 7}}));
    let csv = export("csv").await.text();
    assert_eq!(csv.matches("\r\n").count(), 1 + 7 + 1);
    assert!(csv.contains(",'=1+1,"), "{csv}");
    assert_eq!(export("json").await.json()["version"], 7);
    let messages = export("openai").await.json();
    let roles: Vec<&str> =
        messages["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    // The rewind hides the second question.
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    assert_eq!((&messages["count"], &messages["version"]), (&json!(4), &json!(7)));
    let wrong = browser.get("/dashboard/conversations/c/export?format=none").await;
    assert_eq!(wrong.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_are_a_tree_with_ancestors_and_children() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let root = begin(&session, &json!({})).await;
    let fork = async |chat: &str| -> String {
        let path = format!("/api/chats/{chat}/fork");
        let forked = session.post(&path, &json!({})).await.ok(201);
        forked["id"].as_str().unwrap().to_owned()
    };
    let child = fork(&root).await;
    let grandchild = fork(&child).await;
    let browser = person(&fixture, DashboardRole::Viewer).await;
    let tree = async |id: &str| {
        let page = browser.get(&format!("/dashboard/conversations/{id}")).await.text();
        let (_, tree) = page.split_once("<ul class=\"tree\">")?;
        let (tree, _) = tree.split_once("</details>")?;
        Some(tree.to_owned())
    };
    let whole = eventually("the tree of the root", || async {
        let tree = tree(&root).await?;
        tree.contains(&grandchild).then_some(tree)
    })
    .await;
    let order = |tree: &str| [&root, &child, &grandchild].map(|id| tree.find(id.as_str()).unwrap());
    assert!(order(&whole).is_sorted(), "{whole}");
    let of_child = tree(&child).await.unwrap();
    assert!(order(&of_child).is_sorted(), "{of_child}");
    assert_eq!(of_child.matches("aria-current").count(), 1);
    let of_grandchild = tree(&grandchild).await.unwrap();
    assert!(order(&of_grandchild).is_sorted(), "{of_grandchild}");
}
