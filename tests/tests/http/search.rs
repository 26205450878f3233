//! Search by all ways in: what each caller finds, how results look, and what no caller finds.

use serde_json::{Value, json};
use tests::events::{assistant, call, result, user};
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use wire::proto::operate::v1 as operate;
use wire::proto::operate::v1::Scope;
use wire::proto::read::v1::SearchConversationsRequest;

use crate::fixture::{Fixture, bearer, begin, list, text};

const CHATS: &str = "/api/search";
const SERVICES: &str = "/v1/search";
const ADMINS: &str = "/v1/admin/search";

/// A page of results.
async fn page(client: &HttpClient, path: &str, query: &[(&str, &str)]) -> Value {
    let query = query.iter().copied();
    let query: String = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    client.get(&format!("{path}?{query}")).await.ok(200)
}

/// The snippets of the results, with matches in brackets.
fn snippets(page: &Value) -> Vec<String> {
    let part = |part: &Value| {
        let text = text(part, "text").to_owned();
        if part["isMatch"] == true { format!("[{text}]") } else { text }
    };
    let results = list(page, "results").iter();
    results.map(|result| list(result, "snippet").iter().map(part).collect()).collect()
}

/// Waits until a search finds these texts.
async fn finds(client: &HttpClient, path: &str, query: &str, expected: &[&str]) -> Value {
    eventually(&format!("{path}: {query}: {expected:?}"), || async {
        let page = page(client, path, &[("q", query)]).await;
        (snippets(&page) == expected).then_some(page)
    })
    .await
}

/// A chat of a session with a question, an answer, a call and a result.
async fn chat(fixture: &Fixture, client: &HttpClient, question: &str) -> String {
    let chat = begin(client, &json!({"title": "Where it is"})).await;
    let events = vec![
        user(question),
        assistant("It is behind the oak."),
        call("c1", r#"{"order": "K\u00f6ln-42"}"#),
        result("c1", r#"{"state": "lost oak"}"#),
    ];
    fixture.agent.append(&chat, events).await;
    chat
}

async fn service(fixture: &Fixture) -> HttpClient {
    let token = fixture.operator.token(&[Scope::Read], fixture.tenant).await;
    bearer(&fixture.stack, &token.secret)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_caller_finds_what_it_may_read() {
    let fixture = Fixture::new().await;
    let owner = fixture.session("s");
    let id = chat(&fixture, &owner, "Where is my <b>parcel</b>?").await;
    let (admin, service) = (fixture.admin(), service(&fixture).await);
    for (client, path) in [(&admin, ADMINS), (&service, SERVICES)] {
        let found = finds(client, path, "parcel", &["Where is my <b>[parcel]</b>?"]).await;
        let result = &found["results"][0];
        assert_eq!(result["conversationId"], id.as_str());
        assert_eq!(result["agentId"], fixture.agent_id);
        assert_eq!((&result["kind"], &result["role"]), (&json!("message"), &json!("user")));
        assert_eq!((&result["version"], &result["status"]), (&json!(2), &json!("active")));
        assert_eq!(result["title"], "Where it is");
        assert_eq!((&found["matchCount"], &found["matchCountIsCapped"]), (&json!(1), &json!(false)));
        finds(client, path, "köln", &["search\norder: [Köln]-42"]).await;
        let oaks = ["search\nstate: lost [oak]", "It is behind the [oak]."];
        finds(client, path, "oak", &oaks).await;
        finds(client, path, "oak has:tool", &oaks[..1]).await;
        finds(client, path, "\"the oak\"", &["It is behind [the oak]."]).await;
    }
    // Tool calls are not shown to visitors.
    finds(&owner, CHATS, "oak", &["It is behind the [oak]."]).await;
    finds(&owner, CHATS, "has:tool", &[]).await;
    let title = finds(&owner, CHATS, "has:title", &["Where it is"]).await;
    let result = &title["results"][0];
    assert_eq!((&result["agentId"], &result["version"]), (&Value::Null, &Value::Null));
    // Others find nothing, and no number tells of it.
    let others = fixture.stack.http_client();
    let sales = others.with("x-api-key", &fixture.other_key.secret);
    let foreign = others.with("x-api-key", &fixture.foreign_key.secret);
    for (client, path) in [
        (fixture.session("t"), CHATS),
        (fixture.user("ada"), CHATS),
        (sales.with("x-session-id", "s"), CHATS),
        (foreign.with("x-session-id", "s"), CHATS),
        (fixture.foreign_admin(), ADMINS),
        (service.with("x-agent-id", fixture.other_agent_id), SERVICES),
    ] {
        let page = page(&client, path, &[("q", "parcel")]).await;
        assert_eq!(snippets(&page), [""; 0], "{path}");
        assert!(matches!(page["matchCount"].as_u64(), None | Some(0)), "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_continue_after_each_other() {
    let fixture = Fixture::new().await;
    let owner = fixture.session("s");
    let chat = begin(&owner, &json!({})).await;
    for number in 0..7 {
        let text = format!("oak number{number}{}", " oak".repeat(number));
        fixture.agent.append(&chat, vec![user(text)]).await;
    }
    let admin = fixture.admin();
    eventually("all results", || async {
        let page = page(&admin, ADMINS, &[("q", "oak")]).await;
        (list(&page, "results").len() == 7).then_some(())
    })
    .await;
    for order in ["newest", "relevance"] {
        let (mut versions, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let mut query = vec![("q", "oak"), ("limit", "3"), ("order", order)];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page = page(&admin, ADMINS, &query).await;
            let results = list(&page, "results").iter();
            versions.extend(results.map(|result| result["version"].as_u64().unwrap()));
            assert_eq!(page["matchCount"].is_null(), cursor.is_some());
            cursor = page["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        if order == "newest" {
            assert_eq!(versions, [8, 7, 6, 5, 4, 3, 2]);
        } else {
            assert_eq!(versions[0], 8, "{versions:?}");
        }
        versions.sort_unstable();
        assert_eq!(versions, [2, 3, 4, 5, 6, 7, 8]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rewound_erased_and_archived_chats_are_found_as_documented() {
    let fixture = Fixture::new().await;
    let owner = fixture.session("s");
    let admin = fixture.admin();
    let id = chat(&fixture, &owner, "the first parcel").await;
    finds(&owner, CHATS, "parcel", &["the first [parcel]"]).await;
    fixture.agent.append(&id, vec![tests::events::rewind(1)]).await;
    finds(&owner, CHATS, "parcel", &[]).await;
    finds(&admin, ADMINS, "parcel", &[]).await;
    let hidden = finds(&admin, ADMINS, "parcel has:rewound", &["the first [parcel]"]).await;
    assert_eq!(hidden["results"][0]["isRewound"], true);
    finds(&owner, CHATS, "parcel has:rewound", &[]).await;
    let path = format!("/api/chats/{id}");
    owner.patch(&path, &json!({"archived": true})).await.ok(200);
    let archived = eventually("an archived result", || async {
        let page = page(&owner, CHATS, &[("q", "has:title")]).await;
        let status = page["results"][0]["status"].clone();
        (status == "archived").then_some(page)
    })
    .await;
    assert_eq!(snippets(&archived), ["Where it is"]);
    owner.erase(&path).await;
    finds(&owner, CHATS, "has:title", &[]).await;
    finds(&admin, ADMINS, "parcel has:rewound", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_with_a_position_includes_the_write() {
    let fixture = Fixture::new().await;
    let owner = fixture.session("s");
    for number in 0..5 {
        let title = format!("title{number}");
        let begun = owner.post("/api/chats", &json!({"title": title})).await;
        let position = begun.headers["x-position-token"].clone();
        begun.ok(201);
        let reader = owner.with("x-position-token", &position);
        let found = page(&reader, CHATS, &[("q", &title)]).await;
        assert_eq!(snippets(&found), [format!("[{title}]")]);
        assert!(found["indexedUntil"].is_string(), "{found}");
        assert_eq!(found["isReindexing"], false);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_searches_name_the_parameter() {
    let fixture = Fixture::new().await;
    let admin = fixture.admin();
    let check = async |query: &[(&str, &str)], code: &str, field: &str| {
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        let answer = admin.get(&format!("{ADMINS}?{query}")).await;
        let problem = answer.json();
        assert_eq!(answer.status, 400, "{problem}");
        assert_eq!((text(&problem, "code"), text(&problem, "field")), (code, field));
    };
    check(&[], "SEARCH_QUERY_INVALID", "q").await;
    check(&[("q", "-oak")], "SEARCH_QUERY_INVALID", "q").await;
    check(&[("q", "role:robot")], "SEARCH_QUERY_INVALID", "q").await;
    check(&[("q", &"x".repeat(513))], "SEARCH_QUERY_INVALID", "q").await;
    check(&[("q", &"x ".repeat(17))], "SEARCH_QUERY_INVALID", "q").await;
    check(&[("q", "oak"), ("limit", "101")], "FIELD_OUT_OF_RANGE", "limit").await;
    check(&[("q", "oak"), ("cursor", "x")], "PAGE_TOKEN_INVALID", "cursor").await;
    let found = page(&admin, ADMINS, &[("q", &"x".repeat(512)), ("limit", "100")]).await;
    assert_eq!(snippets(&found), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_search_can_be_disabled() {
    let fixture = Fixture::new().await;
    let owner = fixture.session("s");
    chat(&fixture, &owner, "a parcel").await;
    finds(&owner, CHATS, "parcel", &["a [parcel]"]).await;
    let set = async |disabled| {
        let request = operate::SetTenantSearchRequest { tenant_id: fixture.tenant.to_owned(), disabled };
        let set = fixture.operator.registry().set_tenant_search(request).await;
        assert_eq!(set.unwrap().into_inner().tenant.unwrap().search_disabled, disabled);
    };
    set(true).await;
    eventually("a disabled search", || async {
        let refused = owner.get(&format!("{CHATS}?q=parcel")).await;
        (refused.status == 403).then(|| assert_eq!(text(&refused.json(), "code"), "SEARCH_DISABLED"))
    })
    .await;
    set(false).await;
    eventually("an enabled search", || async {
        let answer = owner.get(&format!("{CHATS}?q=parcel")).await;
        (answer.status == 200 && snippets(&answer.json()) == ["a [parcel]"]).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn grpc_searches_an_agent_or_the_tenant() {
    let fixture = Fixture::new().await;
    let owner = fixture.session("s");
    let id = chat(&fixture, &owner, "a parcel").await;
    finds(&fixture.admin(), ADMINS, "parcel", &["a [parcel]"]).await;
    let search = async |agent: &str, whole_tenant, token: &str| {
        let request = SearchConversationsRequest {
            agent_id: agent.to_owned(),
            whole_tenant,
            query: "parcel".to_owned(),
            ..SearchConversationsRequest::default()
        };
        let mut reader = fixture.stack.caller(token).read();
        let found = reader.search_conversations(request).await;
        found.map(|found| found.into_inner().results)
    };
    let read = fixture.operator.token(&[Scope::Read], fixture.tenant).await.secret;
    let found = search(fixture.agent_id, false, &read).await.unwrap();
    assert_eq!(found[0].conversation_id, id);
    assert_eq!(found[0].snippet.iter().filter(|part| part.is_match).count(), 1);
    assert_eq!(search(fixture.other_agent_id, false, &read).await.unwrap(), []);
    assert_eq!(search(fixture.other_agent_id, true, &read).await.unwrap(), found);
    let missing = search(fixture.foreign_agent_id, true, &read).await.unwrap_err();
    assert_eq!(missing.code(), tonic::Code::NotFound);
    let append = fixture.operator.token(&[Scope::Append], fixture.tenant).await.secret;
    let refused = search(fixture.agent_id, false, &append).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied);
}
