//! Retention: the conversations that a rule expires, page by page.

use std::collections::{BTreeSet, HashSet};

use domain::{
    AgentId, ChannelId, ConversationId, Fact, ForkPoint, Lifecycle, Owner, SessionId, Timestamp, UserId, Version,
};
use read_model::{
    CONVERSATIONS_PER_READ_MAX, ExpiryRule, KEPT_PER_OWNER_MAX, OWNERS_PER_READ_MAX, SURPLUS_PER_OWNER_MAX,
    expired_conversations, parents_of_forks,
};
use sqlx::{Connection as _, PgConnection};

use crate::fixture::{Author, Projection, START, access, message};

const MICRO: i64 = 1_000;

fn agent() -> AgentId {
    AgentId::parse("support").unwrap()
}

fn session(n: u32) -> Owner {
    Owner::Session(SessionId::parse(format!("s{n:04}")).unwrap())
}

/// Conversations created one microsecond apart, in the order of the owners; the nth is `c<n>`.
async fn with_owners(owners: impl IntoIterator<Item = Owner>) -> (Projection, Vec<Author>) {
    let mut projection = Projection::new().await;
    let (mut items, mut authors) = (Vec::new(), Vec::new());
    for (n, owner) in (0_u32..).zip(owners) {
        let mut author = Author::new(&format!("c{n}"));
        author.created.owner = owner;
        let created = Fact::from(author.created.clone());
        let at = Timestamp(START.0 + i64::from(n) * MICRO);
        items.push(author.commit_at(u64::from(n) + 1_u64, at, vec![created]));
        authors.push(author);
    }
    projection.apply(items).await;
    (projection, authors)
}

fn n_th(n: u32) -> Timestamp {
    Timestamp(START.0 + i64::from(n) * MICRO)
}

/// The numbers of the conversations of all pages, and the size of each page.
async fn all(projection: &Projection, tenant: &str, rule: ExpiryRule) -> (Vec<u32>, Vec<usize>) {
    let (mut found, mut pages) = (Vec::new(), Vec::new());
    let mut next = Some(rule);
    while let Some(rule) = next {
        let page = expired_conversations(&projection.model, &access(tenant), &agent(), &rule).await.unwrap();
        pages.push(page.conversations.len());
        found.extend(page.conversations.iter().map(|found| {
            let number = &found.id.as_str()[1..];
            number.parse::<u32>().unwrap()
        }));
        next = page.next;
    }
    (found, pages)
}

#[tokio::test]
async fn parents_of_forks_are_found() {
    let mut projection = Projection::new().await;
    let ids = ["root", "fork", "unrelated"].map(|id| ConversationId::parse(id).unwrap());
    let [root, fork, unrelated] = &ids;
    let mut sequence = 0;
    let mut begin = |id: &ConversationId, parent: Option<&ConversationId>| {
        let mut author = Author::new(id.as_str());
        author.created.forked_from =
            parent.map(|parent| ForkPoint { conversation: parent.clone(), version: Version(1), depth: 1 });
        sequence += 1;
        let begun = author.begin(sequence);
        (author, begun)
    };
    let (_, first) = begin(root, None);
    let (mut author, second) = begin(fork, Some(root));
    let (_, third) = begin(unrelated, None);
    projection.apply(vec![first, second, third]).await;
    let check = async |projection: &Projection, tenant: &str, expected: &[&ConversationId]| {
        let asked: Vec<_> = ids.iter().collect();
        let found = parents_of_forks(&projection.model, &access(tenant), &asked).await;
        let expected: HashSet<_> = expected.iter().copied().cloned().collect();
        assert_eq!(found.unwrap(), expected);
    };
    check(&projection, "acme", &[root]).await;
    check(&projection, "other", &[]).await;
    projection.apply(vec![author.say(4, "more")]).await;
    check(&projection, "acme", &[root]).await;
    let erased = author.commit(5, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]);
    projection.apply(vec![erased]).await;
    check(&projection, "acme", &[]).await;
}

#[tokio::test]
async fn idle_conversations_are_found_oldest_first() {
    let (mut projection, mut authors) = with_owners((0..6).map(session)).await;
    for (n, author, fact) in [
        (1_u32, 1, Fact::Lifecycle(Lifecycle::ConversationArchived)),
        (2, 2, Fact::Lifecycle(Lifecycle::ConversationErased)),
    ] {
        let item = authors[author].commit_at(100 + u64::from(n), n_th(n), vec![fact]);
        projection.apply(vec![item]).await;
    }
    let check = async |since, expected: &[u32]| {
        let rule = ExpiryRule::Idle { since, after: None };
        assert_eq!(all(&projection, "acme", rule.clone()).await.0, expected);
        assert!(all(&projection, "other", rule).await.0.is_empty());
    };
    check(n_th(0), &[]).await;
    check(n_th(1), &[0]).await;
    check(n_th(5), &[0, 1, 3, 4]).await;
    check(Timestamp(i64::MAX), &[0, 1, 3, 4, 5]).await;
}

#[tokio::test]
async fn empty_conversations_of_sessions_are_found_by_their_record() {
    let user = Owner::User(UserId::parse("ada").unwrap());
    let (mut projection, mut authors) = with_owners([session(0), user, session(2), session(3)]).await;
    let said = authors[3].commit_at(200, n_th(3), vec![message("more")]);
    projection.apply(vec![said]).await;
    let check = async |since, expected: &[u32]| {
        let rule = ExpiryRule::Empty { since, after: None };
        assert_eq!(all(&projection, "acme", rule.clone()).await.0, expected);
        assert!(all(&projection, "other", rule).await.0.is_empty());
    };
    check(n_th(0), &[]).await;
    check(n_th(1), &[0]).await;
    check(n_th(2), &[0]).await;
    check(Timestamp(i64::MAX), &[0, 2]).await;
}

#[tokio::test]
async fn long_conversations_are_found_newest_first() {
    // The nth conversation has n messages.
    let (mut projection, mut authors) = with_owners((0..5).map(session)).await;
    let mut sequence = 100;
    for (n, author) in authors.iter_mut().enumerate() {
        for _ in 0..n {
            sequence += 1;
            projection.apply(vec![author.say(sequence, "more")]).await;
        }
    }
    let archived = authors[3].commit(200, vec![Fact::Lifecycle(Lifecycle::ConversationArchived)]);
    projection.apply(vec![archived]).await;
    let check = async |messages_max, expected: &[u32]| {
        let rule = ExpiryRule::Long { messages_max, after: None };
        assert_eq!(all(&projection, "acme", rule.clone()).await.0, expected);
        assert!(all(&projection, "other", rule).await.0.is_empty());
    };
    check(0, &[4, 2, 1]).await;
    check(1, &[4, 2]).await;
    check(3, &[4]).await;
    check(4, &[]).await;
}

#[tokio::test]
async fn pages_of_long_conversations_are_bounded_and_complete() {
    let most = CONVERSATIONS_PER_READ_MAX;
    let (mut projection, mut authors) = with_owners((0..=most).map(session)).await;
    // Its time does not change, so it is scanned last.
    let said = authors[0].commit_at(u64::from(most) + 9, n_th(0), vec![message("more")]);
    projection.apply(vec![said]).await;
    let rule = ExpiryRule::Long { messages_max: 0, after: None };
    let (found, pages) = all(&projection, "acme", rule).await;
    assert_eq!((found, pages), (vec![0], vec![0, 1, 0]));
}

#[tokio::test]
async fn pages_of_idle_conversations_are_bounded_and_complete() {
    let most = CONVERSATIONS_PER_READ_MAX;
    let (projection, _) = with_owners((0..=most).map(session)).await;
    let rule = ExpiryRule::Idle { since: Timestamp(i64::MAX), after: None };
    let (found, pages) = all(&projection, "acme", rule).await;
    assert_eq!(found, (0..=most).collect::<Vec<_>>());
    assert_eq!(pages, [usize::try_from(most).unwrap(), 1, 0]);
}

#[tokio::test]
async fn each_owner_keeps_the_newest() {
    let user = |n| Owner::User(UserId::parse(format!("s{n:04}")).unwrap());
    let channel = |n| Owner::Channel(ChannelId::parse(format!("{n:064}")).unwrap());
    // Session 0 has 0, 2, 4, 6; session 1 has 1, 3; user 0 has 5, 7; channel 0 has 8, 10; channel 1 has 9.
    let owners = [0, 1, 0, 1, 0].map(session).into_iter().chain([user(0), session(0), user(0)]).chain([
        channel(0),
        channel(1),
        channel(0),
    ]);
    let (mut projection, mut authors) = with_owners(owners).await;
    let archived = authors[4].commit_at(100, n_th(4), vec![Fact::Lifecycle(Lifecycle::ConversationArchived)]);
    projection.apply(vec![archived]).await;
    let sessions = async |keep, expected: &[u32]| {
        let rule = ExpiryRule::PerSession { keep, after: None };
        assert_eq!(all(&projection, "acme", rule.clone()).await.0, expected, "{keep}");
        assert!(all(&projection, "other", rule).await.0.is_empty());
    };
    sessions(0, &[0, 2, 4, 6, 1, 3]).await;
    sessions(1, &[0, 2, 4, 1]).await;
    sessions(2, &[0, 2]).await;
    sessions(4, &[]).await;
    sessions(u32::MAX, &[]).await;
    let rule = ExpiryRule::PerUser { keep: 1, after: None };
    assert_eq!(all(&projection, "acme", rule).await.0, [5]);
    let channels = |keep| ExpiryRule::PerChannel { keep, after: None };
    assert_eq!(all(&projection, "acme", channels(0)).await.0, [8, 10, 9]);
    assert_eq!(all(&projection, "acme", channels(1)).await.0, [8]);
    assert_eq!(all(&projection, "other", channels(0)).await.0, [0; 0]);
}

#[tokio::test]
async fn a_page_of_owners_is_bounded() {
    let (owners, surplus) = (OWNERS_PER_READ_MAX + 1, SURPLUS_PER_OWNER_MAX + 1);
    let each = (0..owners).flat_map(|owner| (0..surplus).map(move |_| session(owner)));
    let (projection, _) = with_owners(each).await;
    let rule = |keep| ExpiryRule::PerSession { keep, after: None };
    let (found, pages) = all(&projection, "acme", rule(0)).await;
    let most = usize::try_from(SURPLUS_PER_OWNER_MAX).unwrap();
    assert_eq!(pages, [usize::try_from(OWNERS_PER_READ_MAX).unwrap() * most, most, 0]);
    assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len());
    let (found, _) = all(&projection, "acme", rule(1)).await;
    let newest = |n: &u32| (n + 1).is_multiple_of(surplus);
    assert_eq!(found, (0..owners * surplus).filter(|n| !newest(n)).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_number_of_kept_conversations_is_capped() {
    let url = devstack::test::database().await.url;
    let mut projection = Projection::at(&url).await;
    // The inserted rows copy this head.
    projection.apply(vec![Author::new("c0").begin(1)]).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    for (first, last, expected) in [(1, KEPT_PER_OWNER_MAX, 0), (KEPT_PER_OWNER_MAX + 1, KEPT_PER_OWNER_MAX + 1, 1)] {
        let insert = "INSERT INTO conversations_v1.conversation (
                version, sequence, created_at, last_event_at, partition, created_nanos, status,
                tenant_id, conversation_id, agent_id, session_id, head
            )
            SELECT 1, n, now(), now() + n * interval '1 second', 0, 0, 1, 'acme', 'c' || n, 'support', 's', any_one.head
            FROM generate_series($1::bigint, $2::bigint) AS n
            CROSS JOIN (SELECT head FROM conversations_v1.conversation WHERE conversation_id = 'c0') AS any_one";
        let insert = sqlx::query(insert).bind(i64::from(first)).bind(i64::from(last));
        insert.execute(&mut connection).await.unwrap();
        let rule = ExpiryRule::PerSession { keep: u32::MAX, after: None };
        let (found, _) = all(&projection, "acme", rule).await;
        assert_eq!(found.len(), expected, "{last}");
    }
}
