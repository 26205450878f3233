//! Listings.

use domain::event::ConversationUpdated;
use domain::{Fact, Lifecycle, Owner, SessionId, UserId};
use uuid::Uuid;
use wire::proto::event::v1::ConversationStatus;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::list_conversations_request::Filter;

use crate::author::Author;
use crate::facts::user;
use crate::stack::{AGENT, FOREIGN_AGENT, FOREIGN_TENANT, OTHER_AGENT, Stack, TENANT, run, shared};

#[test]
fn conversations_by_session_newest_first() {
    run(async {
        let stack = shared().await;
        let session = Uuid::now_v7().to_string();
        let ids = conversations(stack, &session, (TENANT, AGENT), 5).await;
        let other_conversation = conversations(stack, &session, (TENANT, OTHER_AGENT), 1).await;
        conversations(stack, &session, (FOREIGN_TENANT, FOREIGN_AGENT), 1).await;
        let filter = Filter::SessionId(session);
        let mut newest_first = ids.clone();
        newest_first.reverse();
        for page_size in [1, 2, 5, 50] {
            let listed = list(stack, query(AGENT, filter.clone(), page_size)).await;
            assert_eq!(listed, newest_first, "pages of {page_size}");
        }
        assert_eq!(list(stack, query(OTHER_AGENT, filter, 50)).await, other_conversation);
        let tenant = Filter::WholeTenant(proto::WholeTenant {});
        let all = list(stack, query(AGENT, tenant, 200)).await;
        assert!(ids.iter().chain(&other_conversation).all(|id| all.contains(id)));
    });
}

#[test]
fn conversations_by_user_and_status() {
    run(async {
        let stack = shared().await;
        let id = Uuid::now_v7().to_string();
        let owner = Owner::User(UserId::parse(id.clone()).unwrap());
        let mut archived = Author::begin_with(stack, owner.clone(), (TENANT, AGENT)).await;
        archived.append(vec![Fact::Lifecycle(Lifecycle::ConversationArchived)]).await;
        archived.project_all().await;
        let mut active = Author::begin_with(stack, owner.clone(), (TENANT, AGENT)).await;
        active.append(vec![Fact::from(ConversationUpdated::default())]).await;
        active.project_all().await;
        let mut erased = Author::begin_with(stack, owner, (TENANT, AGENT)).await;
        erased.project_all().await;
        erased.erase().await;
        erased.project_all().await;
        let (archived, active) = (id_of(&archived), id_of(&active));
        let mut both = vec![archived.clone(), active.clone()];
        both.sort_by(|one, other| other.cmp(one));
        let cases = [
            (ConversationStatus::Unspecified, both),
            (ConversationStatus::Active, vec![active]),
            (ConversationStatus::Archived, vec![archived]),
            (ConversationStatus::Erased, vec![]),
        ];
        for (status, expected) in cases {
            let mut query = query(AGENT, Filter::UserId(id.clone()), 50);
            query.status = status.into();
            assert_eq!(list(stack, query).await, expected, "{status:?}");
        }
    });
}

/// Creates and projects conversations, each with a later event than the previous one. Returns their ids.
async fn conversations(stack: &Stack, session: &str, agent: (&str, &str), count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for messages in 0..count {
        let owner = Owner::Session(SessionId::parse(session).unwrap());
        let mut author = Author::begin_with(stack, owner, agent).await;
        for _ in 0..messages {
            author.append(vec![user("hello")]).await;
        }
        author.project_all().await;
        ids.push(id_of(&author));
    }
    ids
}

fn id_of(author: &Author<'_>) -> String {
    author.key.conversation.as_str().to_owned()
}

fn query(agent: &str, filter: Filter, page_size: u32) -> proto::ListConversationsRequest {
    proto::ListConversationsRequest {
        agent_id: agent.to_owned(),
        filter: Some(filter),
        page_size,
        ..proto::ListConversationsRequest::default()
    }
}

/// The ids of every page.
async fn list(stack: &Stack, mut query: proto::ListConversationsRequest) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let page = stack.client.list(query.clone()).await.unwrap();
        assert!(page.conversations.len() <= usize::try_from(query.page_size).unwrap());
        ids.extend(page.conversations.into_iter().map(|listed| listed.conversation_id));
        query.page_token = page.next_page_token;
        if query.page_token.is_empty() {
            return ids;
        }
    }
}
