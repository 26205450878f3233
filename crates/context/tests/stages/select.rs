//! Selection, as a table in a small notation.

use std::collections::BTreeSet;

use crate::notation::{after_summary, history, reaching, whole, window, written};
use context::{MessageCount, Reach, Selection, Unit};
use domain::{CallId, Version};

#[test]
fn the_last_messages_within_the_count() {
    check("", 3, "");
    check("k", 3, "");
    check("k u a", 2, "u2 a3");
    check("k u a", 1, ".. a3");
    check("k s u a", 9, "s2 u3 a4");
    check("u n a n", 2, "u1 a3");
    check("a a a", 2, ".. a2 a3");
}

#[test]
fn a_turn_and_its_results_come_whole_or_not_at_all() {
    check("u a c1 r1 a", 4, "u1 a2[3>4] a5");
    check("u a c1 r1 a", 3, ".. a2[3>4] a5");
    check("u a c1 r1 a", 2, ".. a5");
    check("u a c1 c2 r2 r1", 4, "u1 a2[3>6 4>5]");
    check("u a c1 c2 r2 r1", 3, ".. a2[3>6 4>5]");
    check("u a c1 c2 r2 r1", 2, "..");
    check("u a n c1 r1", 3, "u1 a2[4>5]");
}

#[test]
fn calls_without_a_message_are_a_turn() {
    check("u c1 r1", 3, "u1 -2[2>3]");
    check("u c1 r1 c2 r2", 4, ".. -2[2>3] -4[4>5]");
    check("c1 r1 c2 r2", 4, "-1[1>2] -3[3>4]");
    check("c1 c2 r1 r2", 3, "-1[1>3 2>4]");
    check("c1 c2 r1 r2", 2, "..");
    check("u c1", 2, "u1 -2[2>?]");
}

#[test]
fn a_result_belongs_to_its_calls_unit_wherever_it_came() {
    check("u a c1 u a r1 a", 6, "u1 a2[3>6] u4 a5 a7");
    check("u a c1 u a r1 a", 4, ".. u4 a5 a7");
    check("u a c1 u a r1 a", 3, ".. u4 a5 a7");
    check("u a c1 u a r1 a", 5, ".. a2[3>6] u4 a5 a7");
}

#[test]
fn a_call_that_waits_keeps_its_turn() {
    check("u a c1 c2 r1 u", 4, "u1 a2[3>5 4>?] u6");
    check("u a c1 c2 r1 u", 3, ".. a2[3>5 4>?] u6");
    check("u a c1 c2 r1 u", 2, ".. u6");
}

#[test]
fn an_id_used_again_is_another_call() {
    check("u a c1 r1 a c1 r1", 5, "u1 a2[3>4] a5[6>7]");
    check("u a c1 r1 a c1", 4, "u1 a2[3>4] a5[6>?]");
}

#[test]
fn nothing_goes_in_when_the_newest_unit_is_too_large() {
    check("u a c1 c2 r1 r2", 1, "..");
    check("c1 r1", 1, "..");
}

#[test]
fn a_window_that_ends_too_early_asks_for_more() {
    let needs_older = |words: &str, messages_max: usize, newest: usize| {
        let events = history(words);
        window(&events, messages_max, newest) == Selection::NeedsOlder
    };
    assert!(needs_older("u a", 2, 1), "one message short");
    assert!(needs_older("u a", 1, 1), "whether anything older is there");
    assert!(!needs_older("u a u", 1, 2), "one message past the count");
    assert!(needs_older("u a c1 c2", 2, 2), "the turn's message is before");
    assert!(needs_older("u a c1 r1", 2, 1), "the result's call is before");
    assert!(!needs_older("a c1 c2 r1 r2", 2, 4), "too large already");
    assert!(!needs_older("a c1 u r1 u", 2, 3), "a result proves that older ones are left out");
}

#[test]
fn a_window_at_its_limit_leaves_out_what_is_not_whole() {
    check_limit("u a c1 c2", 9, 2, "..");
    check_limit("u a c1 r1 u", 9, 2, ".. u5");
    check_limit("u a c1 r1 u", 9, 4, ".. a2[3>4] u5");
}

#[test]
fn a_unit_that_reaches_past_a_summary_comes_whole() {
    check_after("u u a c1 r1 a", 2, "a3[4>5] a6");
    check_after("u u a c1 r1 a", 3, "a3[4>5] a6");
    check_after("u u a c1 r1 a", 4, "a3[4>5] a6");
    check_after("u u a c1 r1 a", 5, "a6");
    check_after("u u a c1 r1 a", 6, "");
    // What stands between is the summary's; results on both sides of its end belong to the turn.
    check_after("u a c1 c2 r1 u a r2 u", 7, "a2[3>5 4>8] u9");
    check_after("u c1 c2 u c3 r3 a r1 u", 7, "-2[2>8 3>?] u9");
    // A call that waits, wholly before the end, is the summary's.
    check_after("u a c1 u a", 3, "u4 a5");
    check_after("u c1 r1 a c1 u r1", 6, "a4[5>7]");
}

#[test]
fn a_call_further_back_than_events_are_looked_at_is_not_found() {
    let between = MessageCount(2).events_max() - 2;
    let words = |between: usize| format!("u a c1 {}r1", "u ".repeat(between));
    // The result, what is between, the call and its message.
    let (found, lost) = (words(between - 1), words(between));
    let shown = |words: &str| {
        let events = history(words);
        let after = Version::ZERO.plus(events.len() - 1);
        let selected = after_summary(&events, (2, after), Reach::Beginning);
        (written(&selected), selected.orphans.len())
    };
    let result = history(&found).len();
    assert_eq!(shown(&found), (format!("a2[3>{result}]"), 0));
    assert_eq!(shown(&lost), (String::new(), 1));
}

#[test]
fn a_window_past_a_summary_ends_with_what_is_whole() {
    let events = history("u a c1 u r1 u");
    let selected = after_summary(&events[2..], (9, Version(4)), Reach::Limit);
    assert_eq!(written(&selected), "u6");
    assert_eq!(selected.orphans, [Version(5)]);
    assert!(!selected.truncated);
}

#[test]
fn the_versions_of_a_unit_are_those_of_its_events() {
    let Selection::Selected(selected) = whole(&history("u a c1 c2 u r2"), 9) else {
        panic!("the whole history is enough");
    };
    let versions: BTreeSet<u64> = selected.units.iter().flat_map(Unit::versions).map(|v| v.0).collect();
    assert_eq!(versions, BTreeSet::from([1, 2, 3, 4, 5, 6]));
    let pending: Vec<&str> = selected.units[1].pending().map(CallId::as_str).collect();
    assert_eq!(pending, ["1"]);
}

#[track_caller]
fn check_after(words: &str, after: u64, expected: &str) {
    let selected = after_summary(&history(words), (99, Version(after)), Reach::Beginning);
    assert_eq!(written(&selected), expected, "after {after}: {words}");
    assert_eq!(selected.orphans, [], "after {after}: {words}");
}

#[track_caller]
fn check_limit(words: &str, messages_max: usize, newest: usize, expected: &str) {
    let events = history(words);
    let Selection::Selected(selected) = reaching(Reach::Limit, &events, messages_max, newest) else {
        panic!("a limit ends the selection");
    };
    assert_eq!(written(&selected), expected, "{newest} of {words}");
}

#[track_caller]
fn check(words: &str, messages_max: usize, expected: &str) {
    let Selection::Selected(selected) = whole(&history(words), messages_max) else {
        panic!("the whole history is enough");
    };
    assert_eq!(written(&selected), expected, "{messages_max} of {words}");
}
