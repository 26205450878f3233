//! Direct and indirect forks of a conversation, and the ancestors of a fork.

use domain::{ChannelId, ConversationId, EventKind, Fact, ForkPoint, Lifecycle, Owner, UserId, Version};
use read_model::queries::{InheritedQuery, lineage};
use read_model::{ForkRow, forks};

use crate::fixture::{Author, Projection, access, message};

fn id(id: &str) -> ConversationId {
    ConversationId::parse(id).unwrap()
}

fn author(id_of_fork: &str, parent: Option<&str>) -> Author {
    let mut author = Author::new(id_of_fork);
    author.created.forked_from =
        parent.map(|parent| ForkPoint { conversation: id(parent), version: Version(1), depth: 1 });
    author
}

async fn check(projection: &Projection, asked: (&str, &str, u32), expected: &[(&str, u32)]) {
    let (tenant, root, limit) = asked;
    let rows = forks(&projection.model, &access(tenant), &id(root), limit).await.unwrap();
    let found = rows.iter().map(|ForkRow { id, depth, .. }| (id.as_str(), *depth));
    assert_eq!(found.collect::<Vec<_>>(), expected, "{asked:?}");
}

#[tokio::test]
async fn forks_are_found_at_any_depth() {
    let mut projection = Projection::new().await;
    let ada = Owner::User(UserId::parse("ada").unwrap());
    let mut authors = [
        author("root", None),
        author("near", Some("root")),
        author("unrelated", None),
        author("far", Some("near")),
        author("also-near", Some("root")),
    ];
    let channel = Owner::Channel(ChannelId::parse("0".repeat(64)).unwrap());
    authors[3].created.owner = ada.clone();
    authors[4].created.owner = channel.clone();
    let begun = authors.iter_mut().zip(1..).map(|(author, sequence)| author.begin(sequence));
    projection.apply(begun.collect()).await;
    let all = [("also-near", 1), ("near", 1), ("far", 2)];
    check(&projection, ("acme", "root", 3), &all).await;
    check(&projection, ("acme", "root", u32::MAX), &all).await;
    check(&projection, ("acme", "root", 2), &all[..2]).await;
    check(&projection, ("acme", "near", 3), &[("far", 1)]).await;
    check(&projection, ("acme", "unrelated", 3), &[]).await;
    check(&projection, ("other", "root", 3), &[]).await;
    let found = forks(&projection.model, &access("acme"), &id("near"), 1).await;
    assert_eq!(found.unwrap()[0].owner, ada);
    let found = forks(&projection.model, &access("acme"), &id("root"), 3).await;
    assert_eq!(found.unwrap()[0].owner, channel);
    let erased = authors[1].commit(6, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]);
    projection.apply(vec![erased]).await;
    // The forks of an erased conversation are unreadable, so they are not listed.
    check(&projection, ("acme", "root", 3), &all[..1]).await;
    check(&projection, ("acme", "near", 3), &[("far", 1)]).await;
}

fn from(parent: &str, version: u64) -> ForkPoint {
    ForkPoint { conversation: id(parent), version: Version(version), depth: 1 }
}

/// Reads the lineage of a fork of `parent`, and checks its ancestors and the versions of the inherited events.
async fn check_lineage(
    projection: &Projection,
    query: InheritedQuery<'_>,
    (parent, version): (&str, u64),
    expected: (&[&str], &[u64]),
) {
    let point = from(parent, version);
    let found = lineage(&projection.model, &access("acme"), &point, query).await.unwrap();
    let ancestors: Vec<&str> = found.heads.iter().map(|(id, _)| id.as_str()).collect();
    let versions: Vec<u64> = found.events.iter().map(|row| row.version.0).collect();
    assert_eq!((&*ancestors, &*versions), expected, "{query:?}");
}

#[tokio::test]
async fn inherited_events_are_read_with_the_ancestors() {
    let mut projection = Projection::new().await;
    let mut root = author("root", None);
    let mut near = author("near", None);
    near.created.forked_from = Some(from("root", 2));
    // The versions 1, 2 and 3 of the root, and 3, 4 and 5 of its fork.
    let commits = vec![
        root.begin(1),
        root.commit(2, vec![message("2"), message("3")]),
        near.begin(3),
        near.commit(4, vec![message("4"), message("5")]),
    ];
    projection.apply(commits).await;
    let all = InheritedQuery { from: Version(1), to: Version(u64::MAX), kinds: &[], limit: 9, bytes_max: u64::MAX };
    let messages: &[EventKind] = &[EventKind::MessageAppended];
    let some = |kinds, limit| InheritedQuery { kinds, limit, ..all };
    let between = |from, to| {
        let (from, to) = (Version(from), Version(to));
        InheritedQuery { from, to, ..all }
    };
    let bytes_max = 1;
    let cases: [(InheritedQuery<'_>, &[u64]); 9] = [
        (all, &[4, 3, 2, 1]),
        (InheritedQuery::default(), &[]),
        (some(messages, 9), &[4, 2]),
        (between(2, 9), &[4, 3, 2]),
        (between(1, 2), &[2, 1]),
        (some(&[], 1), &[4]),
        (some(&[], 3), &[4, 3, 2]),
        // The nearer conversation has as many versions, so the root is not searched.
        (some(messages, 2), &[4]),
        (InheritedQuery { bytes_max, ..all }, &[4]),
    ];
    for (query, versions) in cases {
        check_lineage(&projection, query, ("near", 4), (&["near", "root"], versions)).await;
    }
    check_lineage(&projection, all, ("root", 3), (&["root"], &[3, 2, 1])).await;
    check_lineage(&projection, all, ("unknown", 3), (&[], &[])).await;
    let erased = near.commit(5, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]);
    projection.apply(vec![erased]).await;
    check_lineage(&projection, all, ("near", 4), (&["near"], &[])).await;
}
