//! Answers that differ from the record, and orders that callers would notice.

use std::time::Duration;

use domain::Version;
use domain::event::Role;

use super::super::{FreshRead, Kind, Outcome, Refusal, StreamPlace, check_fresh_reads};
use super::check;
use super::history::{TestHistory, key, message};

#[test]
fn wrong_orders() {
    check(
        "two commits changed places in the stream",
        |made| made.commits().swap(1, 4),
        &[Kind::Gap, Kind::Fork, Kind::OutOfOrder, Kind::TimeWentBack, Kind::BrokenChain, Kind::WrongHead],
    );
    check(
        "two sequences changed places",
        |made| {
            let earlier = made.commits()[3].position;
            made.commits()[3].position = made.commits()[4].position;
            made.commits()[4].position = earlier;
        },
        &[Kind::OutOfOrder, Kind::WrongHead, Kind::WrongAnswer],
    );
    check(
        "an earlier call got the later version",
        |made| {
            let (first, later) = (made.calls[1].invoked, made.calls[3].invoked);
            (made.calls[1].invoked, made.calls[1].settled) = (later, later);
            (made.calls[3].invoked, made.calls[3].settled) = (first, first);
        },
        &[Kind::OutOfOrder],
    );
    check(
        "a stream's commands changed places",
        |made| {
            for (index, place) in [(1, 8), (3, 7)] {
                made.calls[index].stream_place = Some(StreamPlace { stream: 1, place });
                made.calls[index].invoked = Duration::ZERO;
            }
        },
        &[Kind::OutOfOrder],
    );
}

#[test]
fn wrong_answers() {
    check(
        "a commit that was refused",
        |made| {
            made.calls[5].outcome = Outcome::Refused(Refusal { reason: "CONTENTION".to_owned(), current: None });
        },
        &[Kind::Unasked],
    );
    check("a commit that nobody asked for", |made| drop(made.calls.pop()), &[Kind::Unasked]);
    check(
        "other events than were asked for",
        |made| made.calls[1].asked.events[0].fact = message(Role::User, "good bye"),
        &[Kind::Unasked],
    );
    check("another time than was asked for", |made| made.calls[1].asked.events[0].occurred_at = None, &[Kind::Unasked]);
    check(
        "another id than was asked for",
        |made| made.calls[1].asked.events[0].id = Some(domain::EventId(uuid::Uuid::nil())),
        &[Kind::Unasked],
    );
    check(
        "an exact version that was not kept",
        |made| made.calls[3].asked.expected = Some(Version(2)),
        &[Kind::WrongAnswer],
    );
}

#[test]
fn conflicts() {
    for (name, current, expected) in [
        ("a valid conflict", Some(Version(9)), &[][..]),
        ("a conflict without a version", None, &[Kind::WrongAnswer]),
        ("a conflict at the expected version", Some(Version(1)), &[Kind::WrongAnswer]),
        ("a conflict at a version long past", Some(Version(2)), &[Kind::WrongAnswer]),
        ("a conflict at a version that never was", Some(Version(11)), &[Kind::WrongAnswer]),
    ] {
        let conflict = |made: &mut TestHistory| {
            let mut call = made.calls[5].clone();
            call.key = domain::CommitId(uuid::Uuid::from_u128(88));
            call.asked.expected = Some(Version(1));
            call.invoked = Duration::from_mins(1);
            call.outcome = Outcome::Refused(Refusal { reason: "VERSION_CONFLICT".to_owned(), current });
            made.calls.push(call);
        };
        check(name, conflict, expected);
    }
}

#[test]
fn fresh_reads() {
    let made = TestHistory::valid();
    for (at_s, version, expected) in [(3, 1, true), (3, 2, false), (2, 1, false), (90, 8, true), (90, 9, false)] {
        let seen = FreshRead {
            conversation: key(),
            invoked: Duration::from_millis(at_s * 1_000 + 1),
            version: Version(version),
        };
        let findings = check_fresh_reads(&made.calls, &[seen]);
        let is_stale = findings.iter().any(|finding| finding.kind == Kind::StaleRead);
        assert_eq!(is_stale, expected, "{version} after {at_s} s: {findings:?}");
    }
}
