//! Listings: filters, order, and complete pages.

use domain::{AgentId, ChannelId, Fact, Lifecycle, Owner, SessionId, Status, Timestamp, UserId};
use read_model::projections::conversations::Item;
use read_model::{CONVERSATIONS_PER_READ_MAX, ListCursor, ListFilter, ListQuery, list_conversations};

use crate::fixture::{Author, Projection, START, access, list_query as query};

const MICRO: i64 = 1_000;

fn agent(id: &str) -> AgentId {
    AgentId::parse(id).unwrap()
}

fn session(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

fn user(id: &str) -> UserId {
    UserId::parse(id).unwrap()
}

/// A conversation that was created `nanos` after [`START`].
fn begun(id: &str, agent_id: &str, owner: Owner, sequence: u64, nanos: i64) -> (Author, Item) {
    let mut author = Author::new(id);
    author.created.agent = agent(agent_id);
    author.created.owner = owner;
    let created = Fact::from(author.created.clone());
    let item = author.commit_at(sequence, Timestamp(START.0 + nanos), vec![created]);
    (author, item)
}

async fn listed(projection: &Projection, tenant: &str, query: &ListQuery) -> Vec<String> {
    let page = list_conversations(&projection.model, &access(tenant), query).await.unwrap();
    page.iter().map(|row| row.id.as_str().to_owned()).collect()
}

/// All pages, by following the cursors.
async fn paged(projection: &Projection, mut query: ListQuery) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let page = list_conversations(&projection.model, &access("acme"), &query).await.unwrap();
        ids.extend(page.iter().map(|row| row.id.as_str().to_owned()));
        let Some(last) = page.last() else {
            return ids;
        };
        query.after = Some(ListCursor::after(last));
    }
}

/// Six conversations with last events in alphabetical order; `e` is archived, `f` is erased.
async fn six() -> Projection {
    let mut projection = Projection::new().await;
    let conversations = [
        ("a", "support", Owner::Session(session("s1"))),
        ("b", "support", Owner::Session(session("s2"))),
        ("c", "support", Owner::User(user("s1"))),
        ("d", "sales", Owner::Session(session("s1"))),
        ("e", "support", Owner::Session(session("s1"))),
        ("f", "support", Owner::User(user("s1"))),
    ];
    let mut sequence = 0;
    let mut authors = Vec::new();
    for (id, agent, owner) in conversations {
        sequence += 1;
        let nanos = i64::try_from(sequence).unwrap() * MICRO;
        let (author, item) = begun(id, agent, owner, sequence, nanos);
        projection.apply(vec![item]).await;
        authors.push(author);
    }
    for (index, fact) in
        [(4, Fact::Lifecycle(Lifecycle::ConversationArchived)), (5, Fact::Lifecycle(Lifecycle::ConversationErased))]
    {
        sequence += 1;
        let item = authors[index].commit(sequence, vec![fact]);
        projection.apply(vec![item]).await;
    }
    projection
}

/// The conversations of a channel are listed only by channel, even if a session or a user has the same name.
#[tokio::test]
async fn channels_are_apart_from_sessions_and_users() {
    let mut projection = Projection::new().await;
    let name = "0123456789abcdef".repeat(4);
    let channel = ChannelId::parse(name.as_str()).unwrap();
    let owners = [
        ("h1", "support", Owner::Channel(channel.clone())),
        ("s1", "support", Owner::Session(session(&name))),
        ("u1", "support", Owner::User(user(&name))),
        ("h2", "sales", Owner::Channel(channel.clone())),
        ("h3", "support", Owner::Channel(channel.clone())),
        ("h4", "support", Owner::Channel(channel.clone())),
    ];
    let mut authors = Vec::new();
    for ((id, agent, owner), sequence) in owners.into_iter().zip(1_u64..) {
        let nanos = i64::try_from(sequence).unwrap() * MICRO;
        let (author, item) = begun(id, agent, owner, sequence, nanos);
        projection.apply(vec![item]).await;
        authors.push(author);
    }
    let erased = authors[5].commit(7, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]);
    projection.apply(vec![erased]).await;
    let check = async |owner: Owner, expected: &[&str]| {
        let query = query(ListFilter::of(agent("support"), owner));
        assert_eq!(listed(&projection, "acme", &query).await, expected);
        assert!(listed(&projection, "other", &query).await.is_empty());
    };
    check(Owner::Channel(channel), &["h3", "h1"]).await;
    check(Owner::Session(session(&name)), &["s1"]).await;
    check(Owner::User(user(&name)), &["u1"]).await;
    let other = ChannelId::parse("0".repeat(64)).unwrap();
    check(Owner::Channel(other), &[]).await;
}

#[tokio::test]
async fn filters_and_statuses() {
    let projection = six().await;
    let by_session = |agent_id| ListFilter::Session { agent: agent(agent_id), session: session("s1") };
    let by_user = ListFilter::User { agent: agent("support"), user: user("s1") };
    let check = async |filter: ListFilter, status, expected: &[&str]| {
        let query = ListQuery { status, ..query(filter) };
        assert_eq!(listed(&projection, "acme", &query).await, expected, "{query:?}");
        assert!(listed(&projection, "other", &query).await.is_empty());
    };
    check(by_session("support"), None, &["e", "a"]).await;
    check(by_session("support"), Some(Status::Active), &["a"]).await;
    check(by_session("support"), Some(Status::Archived), &["e"]).await;
    check(by_session("sales"), None, &["d"]).await;
    check(by_session("unknown"), None, &[]).await;
    check(by_user.clone(), None, &["c"]).await;
    check(by_user, Some(Status::Erased), &[]).await;
    check(ListFilter::Agent(agent("support")), None, &["e", "c", "b", "a"]).await;
    check(ListFilter::Agent(agent("sales")), None, &["d"]).await;
    check(ListFilter::Tenant, None, &["e", "d", "c", "b", "a"]).await;
    check(ListFilter::Tenant, Some(Status::Active), &["d", "c", "b", "a"]).await;
    check(ListFilter::Tenant, Some(Status::Erased), &[]).await;
}

#[tokio::test]
async fn an_event_moves_its_conversation_to_the_front() {
    let mut projection = Projection::new().await;
    let owner = Owner::Session(session("s1"));
    let (mut first, item) = begun("a", "support", owner.clone(), 1, 0);
    let (_, other) = begun("b", "support", owner, 2, 1);
    projection.apply(vec![item, other]).await;
    // Both are in one microsecond, so the id decides.
    assert_eq!(listed(&projection, "acme", &query(ListFilter::Tenant)).await, ["b", "a"]);
    projection.apply(vec![first.say(3, "x")]).await;
    assert_eq!(listed(&projection, "acme", &query(ListFilter::Tenant)).await, ["a", "b"]);
}

#[tokio::test]
async fn a_list_is_bounded_by_times() {
    let projection = six().await;
    // `e` and `f` were archived and erased seconds later.
    let at = |micros: i64| Some(Timestamp(START.0 + micros * MICRO));
    let check = async |active_after, active_before, expected: &[&str]| {
        for filter in [
            ListFilter::Tenant,
            ListFilter::Agent(agent("support")),
            ListFilter::Session { agent: agent("support"), session: session("s1") },
            ListFilter::User { agent: agent("support"), user: user("s1") },
        ] {
            let query = ListQuery { limit: 1, ..query(filter) };
            let all = paged(&projection, query.clone()).await;
            let query = ListQuery { active_after, active_before, ..query };
            let wanted = |id: &String| expected.contains(&id.as_str());
            let expected: Vec<String> = all.into_iter().filter(wanted).collect();
            assert_eq!(paged(&projection, query.clone()).await, expected, "{query:?}");
        }
    };
    check(None, None, &["a", "b", "c", "d", "e"]).await;
    check(at(2), None, &["b", "c", "d", "e"]).await;
    check(at(2), at(4), &["b", "c"]).await;
    check(None, at(4), &["a", "b", "c"]).await;
    check(at(5), None, &["e"]).await;
    check(at(5), at(1_000), &[]).await;
    check(at(4), at(2), &[]).await;
    check(Some(Timestamp(i64::MIN)), Some(Timestamp(i64::MAX)), &["a", "b", "c", "d", "e"]).await;
}

#[tokio::test]
async fn pages_are_complete_under_equal_times() {
    let mut projection = Projection::new().await;
    // Thirty conversations in ten microseconds, at their bounds, also before 1970 and 2000.
    let mut items = Vec::new();
    let mut expected = Vec::new();
    for n in 0..30_i64 {
        let id = format!("c{:02}", (n * 7) % 30);
        let base = [0, -START.0, -START.0 - 5 * MICRO][usize::try_from(n % 3).unwrap()];
        let nanos =
            base - START.0.rem_euclid(MICRO) + (n / 3) * MICRO / 3 + [0, 1, 999][usize::try_from(n % 3).unwrap()];
        let owner = Owner::Session(session("s1"));
        items.push(begun(&id, "support", owner, u64::try_from(n + 1).unwrap(), nanos).1);
        expected.push(((START.0 + nanos).div_euclid(MICRO), id));
    }
    projection.apply(items).await;
    expected.sort();
    let expected: Vec<String> = expected.into_iter().rev().map(|(_, id)| id).collect();
    let filters = [
        ListFilter::Tenant,
        ListFilter::Agent(agent("support")),
        ListFilter::Session { agent: agent("support"), session: session("s1") },
    ];
    for filter in filters {
        for limit in [1, 2, 7, 29, 30, 31] {
            let query = ListQuery { limit, ..query(filter.clone()) };
            assert_eq!(paged(&projection, query.clone()).await, expected, "{query:?}");
        }
    }
}

#[tokio::test]
async fn the_size_of_a_page_is_bounded() {
    let mut projection = Projection::new().await;
    let mut items = Vec::new();
    for n in 1..=CONVERSATIONS_PER_READ_MAX + 1 {
        items.push(Author::new(&format!("c{n:05}")).begin(u64::from(n)));
    }
    projection.apply(items).await;
    for (limit, expected) in [(0, 0), (1, 1), (1_000, 1_000), (1_001, 1_000), (u32::MAX, 1_000)] {
        let query = ListQuery { limit, ..query(ListFilter::Tenant) };
        assert_eq!(listed(&projection, "acme", &query).await.len(), expected, "{limit}");
    }
}
