//! Values are put, read, replaced and deleted.

use tests::stack::Stack;
use wire::proto::event::v1::owner::Kind as OwnerKind;
use wire::proto::read::v1::WholeAgent;
use wire::proto::read::v1::list_conversations_request::Filter;

use super::calls::{
    get, keys, labels, put, put_request, scope, search_request, try_delete, try_get, try_put, value, versions,
};

const NAME: (&str, &str) = ("memories/用户", "a.b / c");
const VALUE: &str = "{\"b\": 1.50,  \"a\": [null, 2e400]}";

#[tokio::test(flavor = "multi_thread")]
async fn values_are_returned_verbatim_and_replaced() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    assert_eq!(get(&agent, NAME).await, None);
    let first = put(&agent, NAME, VALUE).await;
    let found = get(&agent, NAME).await.expect("a document");
    assert_eq!((found.value_json.as_str(), found.version), (VALUE, first.version));
    assert_eq!((found.namespace, found.key.as_str()), (labels(NAME.0), NAME.1));
    assert_eq!(found.conversation_id, first.conversation_id);
    assert_eq!(found.created_at, found.updated_at);
    assert_eq!(found.expires_at, None);
    let second = put(&agent, NAME, "[]").await;
    assert!(second.version > first.version);
    let replaced = get(&agent, NAME).await.expect("a document");
    assert_eq!((replaced.value_json.as_str(), replaced.version), ("[]", second.version));
    assert_eq!(replaced.created_at, found.created_at);
    assert!(replaced.updated_at.map(|at| (at.seconds, at.nanos)) > found.updated_at.map(|at| (at.seconds, at.nanos)));
    // The rows give the same answer.
    agent.wait_for_rows(&second.conversation_id, second.version).await;
    assert_eq!(get(&agent, NAME).await, Some(replaced.clone()));
    let search = search_request(&agent, "memories", "", &[&second.position_token]);
    let searched = super::calls::try_search(&agent, search).await.unwrap();
    assert_eq!(searched.documents, [replaced]);
    assert!(!searched.has_more);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_and_owners_tell_documents_apart() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    for (name, user, content) in [
        (("a", "k"), None, "1"),
        (("a", "K"), None, "2"),
        (("a/b", "k"), None, "3"),
        (("a", "k"), Some("ann"), "4"),
        (("a", "k"), Some("bob"), "5"),
    ] {
        let request = wire::proto::document::v1::PutDocumentRequest {
            scope: Some(scope(&agent, user)),
            ..put_request(&agent, name, content)
        };
        try_put(&agent, request).await.expect("a recorded value");
    }
    for (name, user, expected) in [
        (("a", "k"), None, Some("1")),
        (("a", "K"), None, Some("2")),
        (("a/b", "k"), None, Some("3")),
        (("a", "k"), Some("ann"), Some("4")),
        (("a", "k"), Some("bob"), Some("5")),
        (("a", "K"), Some("ann"), None),
        (("b", "k"), None, None),
    ] {
        let found = try_get(&agent, scope(&agent, user), name).await.unwrap().map(|document| document.value_json);
        assert_eq!(found.as_deref(), expected, "{name:?} {user:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_documents_are_gone_and_can_be_put_again() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let missing = try_delete(&agent, NAME, None).await.unwrap();
    assert_eq!((missing.deleted, missing.version), (false, 0));
    let first = put(&agent, NAME, "1").await;
    let deleted = try_delete(&agent, NAME, None).await.unwrap();
    assert_eq!((deleted.deleted, deleted.version), (true, first.version + 1));
    assert_eq!(value(&agent, NAME).await, None);
    let search = || search_request(&agent, "", "", &[&deleted.position_token]);
    assert_eq!(keys(&agent, search()).await, Vec::<String>::new());
    let again = try_delete(&agent, NAME, None).await.unwrap();
    assert_eq!((again.deleted, again.version), (false, 0));
    let second = put(&agent, NAME, "2").await;
    let found = get(&agent, NAME).await.expect("a document");
    assert_eq!(found.value_json, "2");
    assert_eq!(found.created_at, found.updated_at);
    let (seen, next) = versions(&agent, scope(&agent, None), NAME, (0, 0)).await;
    let expected =
        [(second.version, "2".to_owned()), (deleted.version, String::new()), (first.version, "1".to_owned())];
    assert_eq!((seen.as_slice(), next), (expected.as_slice(), 0));
}

/// A document is a conversation of its owner that no listing of conversations contains.
#[tokio::test(flavor = "multi_thread")]
async fn listings_of_conversations_contain_no_documents() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let request = wire::proto::document::v1::PutDocumentRequest {
        scope: Some(scope(&agent, Some("ann"))),
        ..put_request(&agent, NAME, "1")
    };
    let of_ann = try_put(&agent, request).await.expect("a recorded value");
    let own = put(&agent, NAME, "1").await;
    for one in [&of_ann, &own] {
        agent.wait_for_rows(&one.conversation_id, one.version).await;
    }
    let owner = agent.conversation(&own.conversation_id).await.owner;
    let Some(OwnerKind::ChannelId(channel)) = owner.and_then(|owner| owner.kind) else {
        panic!("an agent's document belongs to a channel");
    };
    let owner = agent.conversation(&of_ann.conversation_id).await.owner;
    assert_eq!(owner, Some(tests::events::user_owner("ann")));
    for filter in [Filter::WholeAgent(WholeAgent {}), Filter::UserId("ann".to_owned()), Filter::ChannelId(channel)] {
        let request = agent.conversations_request(filter);
        let page = agent.try_conversations(request).await.expect("a page");
        assert_eq!(page.conversations, []);
    }
}
