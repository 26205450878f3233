//! Mutable columns of conversations: owner and active run; and forks, whose first version is not 1.

use domain::event::{OwnerChanged, RunFinished, RunStarted};
use domain::{
    ConversationId, ConversationKey, Fact, ForkPoint, Lifecycle, Owner, RunId, RunOutcome, RunPhase, SessionId,
    SweepAccess, TenantId, UserId, Version,
};
use read_model::projections::conversations::Item;
use read_model::{ACTIVE_RUNS_PER_READ_MAX, Direction, ListFilter, active_runs, head_and_events, list_conversations};
use uuid::Uuid;

use crate::fixture::{Author, Projection, access, list_query, message};
use crate::rows::{all, event_rows, folded};

fn run(number: u128) -> RunId {
    RunId(Uuid::from_u128(number))
}

fn started(number: u128) -> Fact {
    Fact::from(RunStarted { run: run(number), model: None, provider: None })
}

fn finished(number: u128) -> Fact {
    Fact::from(RunFinished { run: run(number), outcome: RunOutcome::Abandoned })
}

/// The conversations with an active run and its phase, in pages of `limit`.
async fn active(projection: &Projection, limit: u32) -> Vec<(String, RunId, RunPhase)> {
    let (mut found, mut after) = (Vec::new(), None);
    let access = SweepAccess::grant();
    loop {
        let model = &projection.model;
        let page = active_runs(model, &access, after.as_ref(), limit).await.unwrap();
        assert!(page.len() <= usize::try_from(limit).unwrap());
        let Some(last) = page.last() else {
            return found;
        };
        after = Some(last.key.clone());
        found.extend(page.into_iter().map(|row| {
            assert_eq!(row.agent.as_str(), "support");
            let name = format!("{}/{}", row.key.tenant, row.key.conversation);
            (name, row.run.id, row.run.phase)
        }));
    }
}

#[tokio::test]
async fn active_runs_are_found_across_tenants() {
    let mut projection = Projection::new().await;
    let author = |tenant: &str, id: &str| {
        let mut author = Author::new(id);
        author.key = ConversationKey {
            tenant: TenantId::parse(tenant).unwrap(),
            conversation: ConversationId::parse(id).unwrap(),
        };
        author
    };
    let (mut first, mut idle) = (author("acme", "a"), author("acme", "b"));
    let (mut foreign, mut stopped) = (author("globex", "a"), author("globex", "d"));
    let mut created = vec![first.begin(1), idle.begin(2)];
    created.extend([foreign.begin(3), stopped.begin(4)]);
    projection.apply(created).await;
    assert_eq!(active(&projection, 10).await, []);
    let created = Fact::from(Author::new("e").created);
    let mut last = author("zeta", "e");
    let items = vec![
        first.commit(5, vec![message("hi"), started(1)]),
        foreign.commit(6, vec![started(2)]),
        stopped.commit(7, vec![started(3)]),
        // Created with a run, in one batch and in one commit.
        last.commit(8, vec![created, started(4)]),
        stopped.commit(9, vec![Fact::Lifecycle(Lifecycle::RunStopRequested(run(3)))]),
    ];
    projection.apply(items).await;
    let expected = [
        ("acme/a", 1, RunPhase::Running),
        ("globex/a", 2, RunPhase::Running),
        ("globex/d", 3, RunPhase::Stopping),
        ("zeta/e", 4, RunPhase::Running),
    ]
    .map(|(name, number, phase)| (name.to_owned(), run(number), phase));
    for limit in [1, 3, 4, 5, ACTIVE_RUNS_PER_READ_MAX] {
        assert_eq!(active(&projection, limit).await, expected, "{limit}");
    }
    let items = vec![
        first.commit(10, vec![finished(1), message("done")]),
        foreign.commit(11, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]),
        stopped.commit(12, vec![finished(3), started(5)]),
        last.commit(13, vec![finished(4)]),
        idle.say(14, "no run"),
    ];
    projection.apply(items).await;
    let left = ("globex/d".to_owned(), run(5), RunPhase::Running);
    assert_eq!(active(&projection, 10).await, [left]);
}

#[tokio::test]
async fn a_new_owner_changes_the_listings() {
    let mut projection = Projection::new().await;
    let mut author = Author::new("c");
    let agent = author.created.agent.clone();
    let session = SessionId::parse("session-1").unwrap();
    let user = UserId::parse("jo").unwrap();
    let owners = [Owner::Session(session.clone()), Owner::User(user.clone()), Owner::Session(session.clone())];
    let mut items = vec![author.begin(1)];
    projection.apply(items.clone()).await;
    for (sequence, pair) in (2..).zip(owners.windows(2)) {
        let (previous, owner) = (pair[0].clone(), pair[1].clone());
        let changed = Fact::Lifecycle(Lifecycle::OwnerChanged(OwnerChanged { owner, previous }));
        items.push(author.commit(sequence, vec![changed]));
        projection.apply(items[items.len() - 1..].to_vec()).await;
        let listed = async |filter: ListFilter| {
            let query = list_query(filter);
            let page = list_conversations(&projection.model, &access("acme"), &query).await;
            page.unwrap().len()
        };
        let of_session = ListFilter::Session { agent: agent.clone(), session: session.clone() };
        let of_user = ListFilter::User { agent: agent.clone(), user: user.clone() };
        let is_users = matches!(pair[1], Owner::User(_));
        assert_eq!(listed(of_user).await, usize::from(is_users));
        assert_eq!(listed(of_session).await, usize::from(!is_users));
        check_row(&projection, &author, &items).await;
    }
}

#[tokio::test]
async fn a_fork_starts_after_the_inherited_versions() {
    let fork = || {
        let mut author = Author::new("fork");
        author.created.forked_from =
            Some(ForkPoint { conversation: ConversationId::parse("parent").unwrap(), version: Version(7), depth: 1 });
        author
    };
    // Commit by commit, and in one batch.
    for step in [1, 3] {
        let (mut projection, mut author) = (Projection::new().await, fork());
        let items = vec![author.begin(1), author.say(2, "x"), author.say(3, "y")];
        for batch in items.chunks(step) {
            assert_eq!(projection.apply(batch.to_vec()).await.parked, []);
        }
        assert_eq!(author.head().version, Version(10));
        check_row(&projection, &author, &items).await;
    }
    let (mut projection, mut author) = (Projection::new().await, fork());
    let (begin, _lost, late) = (author.begin(1), author.say(2, "x"), author.say(3, "y"));
    projection.apply(vec![begin]).await;
    let parked = projection.apply(vec![late]).await.parked;
    assert_eq!(parked.len(), 1, "gaps of forks are detected");
}

async fn check_row(projection: &Projection, author: &Author, items: &[Item]) {
    let (model, id) = (&projection.model, &author.key.conversation);
    assert_eq!(projection.row(author).await, Some(folded(items)));
    let read = head_and_events(model, &access("acme"), id, &all(Direction::Forward)).await;
    let (head_row, events) = read.unwrap().unwrap();
    assert_eq!(head_row.head, *author.head());
    assert_eq!(events, event_rows(items));
}
