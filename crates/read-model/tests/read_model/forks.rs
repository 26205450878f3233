//! Direct and indirect forks of a conversation.

use domain::{ChannelId, ConversationId, Fact, ForkPoint, Lifecycle, Owner, UserId, Version};
use read_model::{ForkRow, forks};

use crate::fixture::{Author, Projection, access};

fn id(id: &str) -> ConversationId {
    ConversationId::parse(id).unwrap()
}

fn author(id_of_fork: &str, parent: Option<&str>) -> Author {
    let mut author = Author::new(id_of_fork);
    author.created.forked_from = parent.map(|parent| ForkPoint {
        conversation: id(parent),
        version: Version(1),
        depth: 1,
    });
    author
}

async fn check(projection: &Projection, asked: (&str, &str, u32), expected: &[(&str, u32)]) {
    let (tenant, root, limit) = asked;
    let found = forks(&projection.model, &access(tenant), &id(root), limit).await;
    let found = found.unwrap();
    let found = found
        .iter()
        .map(|ForkRow { id, depth, .. }| (id.as_str(), *depth));
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
    let begun = authors.iter_mut().zip(1..);
    let begun = begun.map(|(author, sequence)| author.begin(sequence));
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
