//! Fork points.

use super::*;
use crate::bounds::FORK_DEPTH_MAX;
use crate::event::ForkPoint;
use crate::id::ConversationId;

fn conversation(id: &str) -> ConversationId {
    ConversationId::parse(id).unwrap()
}

fn point(id: &str, version: u64, depth: u32) -> ForkPoint {
    ForkPoint { conversation: conversation(id), version: Version(version), depth }
}

/// A conversation of three events, which continues another one at `behind`.
fn parent(behind: Option<ForkPoint>) -> Option<Head> {
    let create = create(|create| create.created.forked_from = behind);
    head_after(vec![create, append([said("a"), said("b")])])
}

#[test]
fn fork_sources() {
    let missing = || Err(Rejection::ForkPointMissing);
    let at = |version, depth| Ok(ForkSource::At(point("p", version, depth)));
    let further = || Ok(ForkSource::Ancestor(conversation("g")));
    let fork = || parent(Some(point("g", 10, 1)));
    let deep = |depth| parent(Some(point("g", 10, depth)));
    let too_deep = Err(Rejection::ForkTooDeep { depth_max: FORK_DEPTH_MAX });
    for (case, head, version, expected) in [
        ("nothing there", None, 1, missing()),
        ("before the first", parent(None), 0, missing()),
        ("the first", parent(None), 1, at(1, 1)),
        ("the last", parent(None), 3, at(3, 1)),
        ("past the last", parent(None), 4, missing()),
        ("a fork's first", fork(), 11, at(11, 2)),
        ("a fork's last", fork(), 13, at(13, 2)),
        ("past a fork's last", fork(), 14, missing()),
        ("where a fork leaves", fork(), 10, further()),
        ("long before", fork(), 1, further()),
        ("the deepest", deep(FORK_DEPTH_MAX - 1), 11, at(11, FORK_DEPTH_MAX)),
        ("one too deep", deep(FORK_DEPTH_MAX), 11, too_deep),
        ("before the deepest", deep(FORK_DEPTH_MAX), 10, further()),
    ] {
        let source = fork_source(head.as_ref(), &agent("helper"), &conversation("p"), Version(version));
        assert_eq!(source, expected, "{case}");
    }
}

#[test]
fn foreign_and_erased_conversations_cannot_be_forked() {
    let erased = head_after(vec![created(), append([said("a")]), ERASE]);
    let archived = head_after(vec![created(), Action::Archive]);
    for (head, asking, is_found) in
        [(&erased, "helper", false), (&archived, "other", false), (&archived, "helper", true)]
    {
        let source = fork_source(head.as_ref(), &agent(asking), &conversation("p"), Version(1));
        assert_eq!(source.is_ok(), is_found, "{asking}");
    }
}

#[test]
fn the_versions_of_a_fork_continue() {
    let head = parent(Some(point("g", 10, 1))).unwrap();
    assert_eq!((head.version, head.totals.commits), (Version(13), 2));
    assert_eq!(head.forked_from, Some(point("g", 10, 1)));
    assert_eq!(head.recent[0].first_version, Version(11));
}
