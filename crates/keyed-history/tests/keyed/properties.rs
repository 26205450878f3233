//! Properties of all histories and callers.

use domain::event::MessageAppended;
use keyed_history::{HistoryKey, KeyRules, MergedHistory, MessagesMax, StoredHistory, Variables, merge, resolve};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::notation::messages;

/// Few texts, so that messages repeat. Some have response ids, each at most once in a list, so that a response has one pair.
fn list() -> impl Strategy<Value = Vec<MessageAppended>> {
    let said = prop_oneof![
        6 => prop_oneof![Just("u hi"), Just("u yes"), Just("u@jo yes"), Just("a ok"), Just("a yes")],
        4 => prop_oneof![Just("a#r1 ok"), Just("a#r2 ok"), Just("a#r3 yes"), Just("a#r4 yes"), Just("a#r1 other")],
        1 => prop_oneof![Just("s be kind"), Just("d be brief")],
    ];
    vec(said, 0..9).prop_map(|said| {
        let mut list: Vec<MessageAppended> = Vec::new();
        for message in messages(&said) {
            let id = &message.provider_response_id;
            let is_there = list.iter().any(|other| other.provider_response_id == *id);
            if id.is_none() || !is_there {
                list.push(message);
            }
        }
        list
    })
}

fn turns(list: &[MessageAppended]) -> Vec<MessageAppended> {
    let turns = list.iter().filter(|message| ["user", "assistant"].contains(&message.role.as_str()));
    turns.cloned().collect()
}

fn added(merged: &MergedHistory, current: &[MessageAppended]) -> Vec<MessageAppended> {
    merged.new.iter().map(|place| current[*place].clone()).collect()
}

/// Whether two messages can be a pair.
fn is_same(one: &MessageAppended, other: &MessageAppended) -> bool {
    let responses = (&one.provider_response_id, &other.provider_response_id);
    match responses {
        (Some(one), Some(other)) => one == other,
        _ => (one.role, &one.author, &one.parts) == (other.role, &other.author, &other.parts),
    }
}

/// The most messages of one list that have a pair of their own in another.
fn partners(one: &[MessageAppended], other: &[MessageAppended]) -> usize {
    fn find(place: usize, reach: &[Vec<usize>], seen: &mut Vec<bool>, taken: &mut Vec<Option<usize>>) -> bool {
        for target in &reach[place] {
            if std::mem::replace(&mut seen[*target], true) {
                continue;
            }
            let holder = taken[*target];
            if holder.is_none_or(|holder| find(holder, reach, seen, taken)) {
                taken[*target] = Some(place);
                return true;
            }
        }
        false
    }
    let reach: Vec<Vec<usize>> = one
        .iter()
        .map(|one| {
            let same = other.iter().enumerate().filter(|(_, other)| is_same(one, other));
            same.map(|(place, _)| place).collect()
        })
        .collect();
    let mut taken = vec![None; other.len()];
    let found = (0..one.len()).filter(|place| find(*place, &reach, &mut vec![false; other.len()], &mut taken));
    found.count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn nothing_is_lost_and_order_is_kept(seen in list(), since in list(), current in list()) {
        let stored = StoredHistory { seen: &seen, since: &since };
        let merged = merge(stored, &current, MessagesMax::clamped(1_000));
        let (new, known) = (added(&merged, &current), [turns(&seen), turns(&since)].concat());
        prop_assert!(merged.new.is_sorted_by(|one, other| one < other));
        let instructions = current.iter().filter(|message| !turns(std::slice::from_ref(message)).contains(message));
        let whole = [instructions.cloned().collect(), known.clone(), new.clone()].concat();
        prop_assert_eq!(&merged.messages, &whole);
        let all = [known, new].concat();
        let current = turns(&current);
        prop_assert_eq!(partners(&current, &all), current.len());
    }

    #[test]
    fn what_is_recorded_is_not_new_again(seen in list(), since in list(), current in list()) {
        let stored = StoredHistory { seen: &seen, since: &since };
        let new = added(&merge(stored, &current, MessagesMax::clamped(50)), &current);
        // By a caller that sends its last read version, and by one that does not.
        let since_then = [since.clone(), new].concat();
        let again = merge(StoredHistory { seen: &seen, since: &since_then }, &current, MessagesMax::clamped(50));
        prop_assert_eq!(again.new, Vec::<usize>::new());
        let first = merge(StoredHistory { seen: &seen, since: &[] }, &current, MessagesMax::clamped(50));
        let all = [seen, added(&first, &current)].concat();
        let again = merge(StoredHistory { seen: &all, since: &[] }, &current, MessagesMax::clamped(50));
        prop_assert_eq!(again.new, Vec::<usize>::new());
    }

    /// The end of a history is enough if it is as long as the caller's list.
    #[test]
    fn the_end_of_the_history_is_enough(stored in list(), before in list(), current in list()) {
        // A response at the start of the end would have its question before it.
        let mut seen = [messages(&["u first"]), turns(&stored)].concat();
        let current = turns(&current);
        while seen.len() < current.len() {
            seen.push(messages(&["u more"]).remove(0));
        }
        let ids: Vec<_> = current.iter().chain(&seen).filter_map(|message| message.provider_response_id.clone()).collect();
        let before = before.into_iter().filter(|message| message.provider_response_id.as_ref().is_none_or(|id| !ids.contains(id)));
        let whole = [before.collect(), seen.clone()].concat();
        let of_the_end = merge(StoredHistory { seen: &seen, since: &[] }, &current, MessagesMax::clamped(1));
        let of_all = merge(StoredHistory { seen: &whole, since: &[] }, &current, MessagesMax::clamped(1));
        prop_assert_eq!(of_the_end.new, of_all.new);
    }

    #[test]
    fn the_bound_is_kept_and_the_last_ones_too(seen in list(), current in list(), max in 1_usize..12) {
        let stored = StoredHistory { seen: &seen, since: &[] };
        let all = merge(stored, &current, MessagesMax::clamped(1_000));
        let merged = merge(stored, &current, MessagesMax::clamped(max));
        prop_assert!(merged.messages.len() <= max);
        prop_assert_eq!(merged.messages.len() + merged.trimmed, all.messages.len());
        prop_assert_eq!(&merged.new, &all.new);
        prop_assert!(merged.messages.len() == max || merged.trimmed == 0);
        prop_assert!(merged.messages.last().is_none() || turns(&all.messages).is_empty()
            || merged.messages.last() == all.messages.last() || turns(&merged.messages).is_empty());
    }

    /// Two callers read the same record, one after the other: the messages of each are recorded once.
    #[test]
    fn two_callers_lose_and_double_nothing(seen in list(), one in "[a-m]{1,3}", other in "[n-z]{1,3}") {
        let thread = |said: &str| [turns(&seen), messages(&[&format!("u {said}")])].concat();
        let (first, second) = (thread(&one), thread(&other));
        let new_first = added(&merge(StoredHistory { seen: &seen, since: &[] }, &first, MessagesMax::clamped(50)), &first);
        let merged = merge(StoredHistory { seen: &seen, since: &new_first }, &second, MessagesMax::clamped(1_000));
        let own = messages(&[&format!("u {one}"), &format!("u {other}")]);
        prop_assert_eq!(merged.messages, [turns(&seen), own].concat());
    }

    #[test]
    fn any_rules_and_variables_resolve(template in ".{0,80}", candidates in vec("[{} a-z.]{0,40}", 0..5), value in ".{0,20}") {
        let json = format!("{{\"a\":{}}}", serde_json::Value::from(value));
        let variables = Variables::parse(&json).expect("an object");
        let candidates: Vec<&str> = candidates.iter().map(String::as_str).collect();
        let rules = KeyRules { template: Some(&template), candidates: &candidates };
        let resolution = resolve(&rules, &variables);
        if let Some(key) = &resolution.key {
            prop_assert_eq!(HistoryKey::parse(key.as_str()), Ok(key.clone()));
            prop_assert!(!key.as_str().contains("{{"));
        } else {
            prop_assert_eq!(resolution.refused.len(), 1 + candidates.len());
        }
    }
}
