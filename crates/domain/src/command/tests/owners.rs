//! Changes of the owner.

use super::*;
use crate::id::ChannelId;

fn session(id: &str) -> Owner {
    Owner::Session(SessionId::parse(id).unwrap())
}

fn to(id: &str, expected: Option<&str>) -> Action {
    Action::ChangeOwner { owner: session(id), expected: expected.map(session) }
}

/// The owner of the conversations of these tests is `s1`.
#[test]
fn owner_changes() {
    let archived = || vec![created(), Action::Archive];
    let moved = || vec![created(), to("s2", None)];
    check(vec![], to("s2", None), Err(Rejection::NotFound));
    check(vec![created()], to("s2", None), Ok(1));
    check(vec![created()], to("s2", Some("s1")), Ok(1));
    let mismatch = Err(Rejection::OwnerMismatch);
    check(vec![created()], to("s2", Some("s3")), mismatch.clone());
    check(vec![created()], to("s1", None), Ok(0));
    check(vec![created()], to("s1", Some("s3")), Ok(0));
    check(archived(), to("s2", None), Ok(1));
    check(moved(), to("s1", Some("s2")), Ok(1));
    check(moved(), to("s3", Some("s1")), mismatch);
    check(vec![created(), ERASE], to("s2", None), Err(Rejection::Erased));
}

#[test]
fn events_of_an_expected_owner() {
    let to = |owner: &str| append_to(Some(session(owner)), [said("a")]);
    let mismatch = || Err(Rejection::OwnerMismatch);
    check(vec![created()], to("s1"), Ok(1));
    check(vec![created()], to("s2"), mismatch());
    // Another owner does not learn the state of the conversation.
    check(vec![created(), Action::Archive], to("s2"), mismatch());
    check(vec![created(), ERASE], to("s1"), Err(Rejection::Erased));
    check(vec![], to("s1"), Err(Rejection::NotFound));
}

/// A conversation of a channel; `s1` owns the others.
fn of_channel() -> Action {
    create(|create| create.created.owner = channel())
}

fn channel() -> Owner {
    Owner::Channel(ChannelId::parse("0".repeat(64)).unwrap())
}

#[test]
fn channel_owners_are_fixed() {
    let fixed = || Err(Rejection::OwnerFixed);
    let mismatch = || Err(Rejection::OwnerMismatch);
    let from = |owner: Owner, expected: Option<Owner>| Action::ChangeOwner { owner, expected };
    check(vec![of_channel()], to("s2", None), fixed());
    check(vec![of_channel()], to("s2", Some("s1")), mismatch());
    check(vec![of_channel()], from(session("s2"), Some(channel())), fixed());
    check(vec![created()], from(channel(), None), fixed());
    check(vec![created()], from(channel(), Some(session("s1"))), fixed());
    check(vec![of_channel()], from(channel(), None), Ok(0));
}

#[test]
fn an_erasure_may_name_the_owner_that_it_expects() {
    let erase = |expected: &str| Action::Erase { expected: Some(session(expected)), forks: ForkRule::Refuse };
    let moved = || vec![created(), to("s2", None)];
    check(vec![], erase("s1"), Err(Rejection::NotFound));
    check(vec![created()], erase("s1"), Ok(1));
    check(moved(), erase("s2"), Ok(1));
    check(moved(), erase("s1"), Err(Rejection::OwnerMismatch));
    let erased = vec![created(), ERASE];
    check(erased, erase("s1"), Err(Rejection::Erased));
}

#[test]
fn the_head_names_the_new_owner_and_the_fact_both() {
    let before = head_after(vec![created()]);
    let decision = decide(before.as_ref(), &command(9, to("s2", None))).unwrap();
    let Decision::Commit(events) = decision else { panic!("nothing was decided") };
    let Fact::Lifecycle(Lifecycle::OwnerChanged(changed)) = &events[0].fact else { panic!("another fact") };
    assert_eq!((&changed.owner, &changed.previous), (&session("s2"), &session("s1")));
    let head = head_after(vec![created(), to("s2", None)]).unwrap();
    assert_eq!(head.owner, Some(session("s2")));
}
