//! Tests of the checker: a valid history has no findings, and each kind of damage has its own finding.

mod answers;
mod history;
mod rows;

use std::time::Duration;

use domain::event::Role;
use domain::{ChainHash, Fact, Lifecycle, Partition, Sequence, Status, Timestamp, Version};
use history::{TestHistory, call, incremented, message, summary, tool_result};

use super::{Kind, Outcome, Place, check_calls};

/// Damages a valid history, and compares the kinds of the findings without duplicates.
#[track_caller]
fn check(name: &str, damage: impl FnOnce(&mut TestHistory), expected: &[Kind]) {
    check_from(name, TestHistory::valid(), damage, expected);
}

#[track_caller]
fn check_from(name: &str, mut made: TestHistory, damage: impl FnOnce(&mut TestHistory), expected: &[Kind]) {
    damage(&mut made);
    let findings = check_calls(&made.calls, &made.recorded);
    let mut kinds: Vec<Kind> = findings.iter().map(|finding| finding.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(kinds, expected, "{name}: {findings:#?}");
}

#[test]
fn valid_histories_have_no_findings() {
    check("valid", |_| (), &[]);
    check_from("erased", TestHistory::erased(), |_| (), &[]);
    check("a commit without an answer", |made| made.calls[2].outcome = Outcome::Unknown, &[]);
    check(
        "a missing commit without an answer",
        |made| {
            made.commits().pop();
            made.calls[5].outcome = Outcome::Unknown;
        },
        &[],
    );
}

#[test]
fn lost_commits() {
    check("the last", |made| drop(made.commits().pop()), &[Kind::Lost(Place::Last)]);
    check(
        "the first",
        |made| drop(made.commits().remove(0)),
        &[Kind::Lost(Place::First), Kind::Gap, Kind::BrokenChain, Kind::WrongHead, Kind::RuleBroken],
    );
    check(
        "one between",
        |made| drop(made.commits().remove(1)),
        &[Kind::Lost(Place::Middle), Kind::Gap, Kind::BrokenChain, Kind::WrongHead],
    );
    check(
        "the only ones, of a conversation that is gone",
        |made| made.recorded.conversations.clear(),
        &[Kind::Lost(Place::First), Kind::Lost(Place::Middle), Kind::Lost(Place::Last)],
    );
    check_from(
        "one that was acknowledged after the erasure",
        TestHistory::erased(),
        |made| {
            let mut late = made.calls[5].clone();
            late.key = domain::CommitId(uuid::Uuid::from_u128(99));
            let Outcome::Committed(answer) = &mut late.outcome else { panic!("a commit") };
            (answer.first_version, answer.version) = (Version(11), Version(11));
            (late.invoked, late.settled) = (Duration::from_secs(90), Duration::from_secs(91));
            made.calls.push(late);
        },
        &[Kind::Lost(Place::Last)],
    );
}

#[test]
fn doubled_commits() {
    let again = |made: &mut TestHistory| {
        let mut again = made.next_commit(&[message(Role::User, "hello")]);
        again.opened.commit.id = made.commits()[1].opened.commit.id;
        again.opened.commit.head.recent.last_mut().unwrap().id = again.opened.commit.id;
        made.commits().push(again);
    };
    check("under later versions", again, &[Kind::Doubled, Kind::WrongAnswer, Kind::Unasked]);
    check(
        "the same message once more",
        |made| {
            let mut again = made.commits()[5].clone();
            again.position.sequence.0 += 1;
            made.commits().push(again);
        },
        &[Kind::Doubled, Kind::WrongAnswer, Kind::Fork, Kind::BrokenChain, Kind::WrongHead, Kind::RuleBroken],
    );
}

#[test]
fn versions_forks_and_time() {
    check(
        "a gap in the versions",
        |made| {
            let last = &mut made.commits()[5].opened.commit;
            last.first_version = incremented(last.first_version);
        },
        &[Kind::Gap, Kind::WrongHead, Kind::WrongAnswer],
    );
    check(
        "a fork: two commits after the same one",
        |made| {
            let last = made.commits().pop().unwrap();
            let mut other = made.next_commit(&[message(Role::User, "no, me")]);
            other.position.sequence = Sequence(last.position.sequence.0 + 1);
            other.opened.commit.id = domain::CommitId(uuid::Uuid::from_u128(77));
            other.opened.commit.head.recent.last_mut().unwrap().id = other.opened.commit.id;
            made.commits().push(last);
            made.commits().push(other);
        },
        &[Kind::Fork, Kind::BrokenChain, Kind::WrongHead, Kind::Unasked],
    );
    check(
        "two acknowledgements of one version",
        |made| {
            made.calls[2].asked.expected = None;
            let answer = made.calls[1].outcome.clone();
            made.calls[2].outcome = answer;
            made.calls[2].invoked = Duration::ZERO;
        },
        &[Kind::Fork, Kind::Gap, Kind::WrongAnswer],
    );
    check(
        "time went back",
        |made| made.commits()[4].opened.commit.recorded_at = Timestamp(1),
        &[Kind::TimeWentBack, Kind::WrongHead, Kind::WrongAnswer],
    );
}

#[test]
fn chains_heads_and_places() {
    check(
        "a body was changed",
        |made| {
            let mut body = made.commits()[3].opened.body.to_vec();
            body[9] ^= 1;
            made.commits()[3].opened.body = body.into();
        },
        &[Kind::BrokenChain, Kind::WrongHead],
    );
    check(
        "a chain was changed",
        |made| made.commits()[5].opened.commit.head.chain = ChainHash([9; 32]),
        &[Kind::BrokenChain, Kind::WrongHead],
    );
    check("a head forgot a call", |made| made.commits()[5].opened.commit.head.open_calls.clear(), &[Kind::WrongHead]);
    check(
        "a head counted a message twice",
        |made| made.commits()[5].opened.commit.head.totals.messages += 1,
        &[Kind::WrongHead],
    );
    check(
        "a commit in another partition",
        |made| {
            let position = &mut made.commits()[5].position;
            position.partition = Partition((position.partition.0 + 1) % 8);
        },
        &[Kind::Misplaced, Kind::WrongAnswer],
    );
    check(
        "a commit under another subject",
        |made| {
            made.commits()[5].opened.commit.conversation = domain::ConversationId::parse("c2").unwrap();
        },
        &[Kind::Misplaced],
    );
}

#[test]
fn rules_of_a_conversation() {
    check("a result without a call", |made| made.append(vec![tool_result("call-9")]), &[Kind::RuleBroken]);
    check("a second result", |made| made.append(vec![tool_result("call-1")]), &[Kind::RuleBroken]);
    check(
        "an append in the archive",
        |made| {
            made.append(vec![Fact::Lifecycle(Lifecycle::ConversationArchived)]);
            made.append(vec![message(Role::User, "anyone?")]);
        },
        &[Kind::RuleBroken],
    );
    // A head keeps the first of two equal calls, the simple fold keeps both: such a head must not exist.
    check("a call twice", |made| made.append(vec![call("call-2")]), &[Kind::RuleBroken]);
    let broken = |name, facts: &[Fact]| {
        check(name, |made| made.append(facts.to_vec()), &[Kind::RuleBroken]);
    };
    broken("a summary of what comes", &[summary(10, None)]);
    broken("a summary of no more", &[summary(3, None), summary(3, Some(10))]);
    broken("a summary after none", &[summary(3, Some(2))]);
    check_from(
        "an erased one that was not purged",
        TestHistory::valid(),
        |made| made.append(vec![Fact::Lifecycle(Lifecycle::ConversationErased)]),
        &[Kind::NotErased],
    );
    check_from(
        "a tombstone with the status active",
        TestHistory::erased(),
        |made| made.commits()[0].opened.commit.head.status = Status::Active,
        &[Kind::WrongHead],
    );
}
