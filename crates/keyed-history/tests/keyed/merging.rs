//! Merges of stored and current messages, by the habits of callers.

use keyed_history::{MessagesMax, StoredHistory, merge};

use crate::notation::messages;

/// The new messages of `current`, by text, and the merged history.
#[track_caller]
fn check(stored: &[&str], current: &[&str], new: &[&str]) {
    check_since((stored, &[]), current, new);
}

/// The same after others recorded messages that the caller did not read.
#[track_caller]
fn check_since((seen, since): (&[&str], &[&str]), current: &[&str], new: &[&str]) {
    let (seen_messages, since_messages) = (messages(seen), messages(since));
    let stored = StoredHistory { seen: &seen_messages, since: &since_messages };
    let merged = merge(stored, &messages(current), MessagesMax::clamped(1_000));
    let places = merged.new.iter();
    let found: Vec<_> = places.map(|place| current[*place]).collect();
    assert_eq!(found, new, "new of {current:?} to {seen:?} and {since:?}");
    let whole: Vec<_> = [seen, since, new].concat();
    assert_eq!(merged.messages, messages(&whole));
    assert_eq!(merged.trimmed, 0);
}

#[test]
fn callers_that_send_nothing() {
    check(&[], &[], &[]);
    check(&["u 1", "a 2"], &[], &[]);
}

#[test]
fn callers_that_send_the_newest_message() {
    check(&[], &["u 1"], &["u 1"]);
    check(&["u 1", "a 2"], &["u 3"], &["u 3"]);
    // A repeated text is another message, unless it directly follows: then it was delivered twice.
    check(&["u 1", "a 2"], &["u 1"], &["u 1"]);
    check(&["u 1"], &["u 1"], &[]);
    check(&["u 1", "a 2", "u 3"], &["u 3"], &[]);
}

#[test]
fn callers_that_send_the_newest_turn() {
    check(&["u 1", "a 2"], &["u 3", "a 4"], &["u 3", "a 4"]);
    check(&["u 1", "a 2"], &["u 1", "a 2"], &[]);
    check(&["u 1", "a 2", "u 3"], &["u 3", "a 4"], &["a 4"]);
    check(&["u hi", "a#r1 hello"], &["u hi", "a#r2 hello"], &["u hi", "a#r2 hello"]);
}

#[test]
fn callers_that_send_their_whole_thread() {
    check(&["u 1", "a 2"], &["u 1", "a 2", "u 3"], &["u 3"]);
    check(&["u 1", "a 2", "u 3"], &["u 1", "a 2", "u 3"], &[]);
    check(&["u 1", "a 2", "u 1", "a 2"], &["u 1", "a 2", "u 1", "a 2", "u 1"], &["u 1"]);
    check(&["u x", "u 1", "a 2"], &["u 1", "a 2", "u 3"], &["u 3"]);
}

#[test]
fn the_longest_overlap_counts() {
    check(&["u a", "u a", "u a"], &["u a", "u a", "u b"], &["u b"]);
    check(&["u a", "u b", "u a"], &["u a", "u b", "u a"], &[]);
    check(&["u b", "u a", "u b", "u a"], &["u a", "u b", "u a", "u c"], &["u c"]);
}

#[test]
fn messages_of_one_response_are_one() {
    check(&["u 1", "a#r1 2"], &["u 1", "a#r1 two", "u 3"], &["u 3"]);
    check(&["u 1", "a#r1 2", "u x", "a#rx y"], &["u 1", "a#r1 2", "u 3", "a#r4 4"], &["u 3", "a#r4 4"]);
    check(&["a#r1 2"], &["u 1", "a#r1 2"], &["u 1"]);
    check(&["a#r1 2", "u 1"], &["u 1", "a#r1 2"], &[]);
    // A caller whose framework loses the ids sends the same messages without them.
    check(&["u 1", "a#r1 2"], &["u 1", "a 2", "u 3"], &["u 3"]);
    // A response of several messages.
    check(&["u 1", "a#r1 2"], &["u 1", "a#r1 2", "a#r1 3"], &["a#r1 3"]);
    check(&["u#r1 1"], &["a#r1 1"], &["a#r1 1"]);
}

#[test]
fn authors_tell_people_of_a_group_apart() {
    check(&["u@jo +1"], &["u@al +1"], &["u@al +1"]);
    check(&["u@jo +1"], &["u@jo +1", "u@al +1"], &["u@al +1"]);
}

#[test]
fn what_others_recorded_since_does_not_hide_what_the_caller_has_seen() {
    let seen = ["u 1", "a 2"];
    check_since((&seen, &["u x", "a y"]), &["u 1", "a 2", "u 3"], &["u 3"]);
    check_since((&seen, &["u x", "a y"]), &["u 3", "a 4"], &["u 3", "a 4"]);
    check_since((&seen, &["u 3"]), &["u 1", "a 2", "u 3"], &[]);
    check_since((&seen, &["u 3"]), &["u 3", "a 4"], &["a 4"]);
    check_since((&[], &["u 1", "a 2"]), &["u 1", "a 2"], &[]);
}

#[test]
fn instructions_lead_and_are_not_history() {
    let stored = messages(&["u 1", "s old", "a 2"]);
    let current = messages(&["s today", "u 1", "a 2", "d brief", "u 3"]);
    let stored = StoredHistory { seen: &stored, since: &[] };
    let merged = merge(stored, &current, MessagesMax::clamped(10));
    assert_eq!(merged.messages, messages(&["s today", "d brief", "u 1", "a 2", "u 3"]));
    assert_eq!((merged.new, merged.trimmed), (vec![4], 0));
}

#[test]
fn the_last_ones_are_kept() {
    let check = |max: usize, current: &[&str], expected: &[&str], trimmed: usize| {
        let stored = StoredHistory { seen: &messages(&["u 1", "a 2"]), since: &[] };
        let merged = merge(stored, &messages(current), MessagesMax::clamped(max));
        assert_eq!(merged.messages, messages(expected), "{max} of {current:?}");
        assert_eq!(merged.trimmed, trimmed, "{max} of {current:?}");
    };
    check(3, &["u 3"], &["u 1", "a 2", "u 3"], 0);
    check(2, &["u 3"], &["a 2", "u 3"], 1);
    check(1, &["u 3", "a 4"], &["a 4"], 3);
    check(0, &["u 3"], &["u 3"], 2);
    check(2, &["s i", "u 3"], &["s i", "u 3"], 2);
    check(1, &["s i", "s j", "u 3"], &["s j"], 4);
}

#[test]
fn at_most_a_thousand_messages() {
    let stored = StoredHistory { seen: &messages(&vec!["u x"; 1_500]), since: &[] };
    let merged = merge(stored, &[], MessagesMax::clamped(usize::MAX));
    assert_eq!((merged.messages.len(), merged.trimmed), (1_000, 500));
}
