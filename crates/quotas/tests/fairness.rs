//! Fairness between parties, and counts of runs, with random histories.

use std::collections::{HashMap, VecDeque};

use proptest::prelude::*;
use quotas::{ActiveRuns, Consumer, Entered, Exceeded, FairQueue, QuotaSet, Scope, Subject};

#[test]
fn bounds_are_these_numbers() {
    assert_eq!(quotas::LIMIT_MAX, 9_223_372_036_854_775_807);
    assert_eq!(quotas::bucket::RETRY_AFTER_MAX.as_secs(), 600);
    assert_eq!(quotas::active::RETRY_AFTER.as_secs(), 1);
}

fn consumer(tenant: &str, owner: &str, address: &str) -> Consumer {
    Consumer {
        tenant: tenant.to_owned(),
        agent: "a".to_owned(),
        key: Some(format!("k-{tenant}")),
        owner: Some(owner.to_owned()),
        address: Some(address.to_owned()),
    }
}

fn bounds(tenant: u64, owner: u64, address: u64) -> QuotaSet {
    let mut set = QuotaSet::default();
    set.tenant.runs = Some(tenant);
    set.owner.runs = Some(owner);
    set.address.runs = Some(address);
    set
}

#[test]
fn each_scope_has_its_own_bound() {
    let mut runs = ActiveRuns::default();
    let quotas = bounds(3, 2, 3);
    let mut check = |tenant, owner, address, expected: Option<Scope>| {
        let entered = runs.enter(&consumer(tenant, owner, address), &quotas);
        let refused = entered.err().map(|Exceeded { scope, .. }| scope);
        assert_eq!(refused, expected, "{tenant} {owner} {address}");
    };
    check("t", "one", "1.1.1.1", None);
    check("t", "one", "1.1.1.1", None);
    check("t", "one", "2.2.2.2", Some(Scope::Owner));
    check("t", "two", "1.1.1.1", None);
    check("t", "two", "2.2.2.2", Some(Scope::Tenant));
    // The address counts across tenants, the owner within one.
    check("u", "one", "1.1.1.1", Some(Scope::Address));
    check("u", "one", "2.2.2.2", None);
}

#[test]
fn a_rejected_run_is_not_counted() {
    let mut runs = ActiveRuns::default();
    let mine = consumer("t", "one", "1.1.1.1");
    assert!(runs.enter(&mine, &bounds(9, 9, 0)).is_err());
    assert!(runs.is_empty());
    assert!(runs.enter(&mine, &bounds(9, 9, 1)).is_ok());
    let tenant = Subject { scope: Scope::Tenant, tenant: "t".to_owned(), name: String::new() };
    assert_eq!(runs.used(&tenant), 1);
    assert!(!runs.is_empty());
    runs.leave(&mine);
    assert!(runs.is_empty());
}

#[test]
fn a_free_permit_goes_to_the_party_with_the_fewest() {
    let mut queue = FairQueue::new(2, 3);
    let mut enter = |party, ticket| queue.enter(party, ticket);
    assert_eq!(enter("greedy", 0), Entered::Now);
    assert_eq!(enter("greedy", 1), Entered::Now);
    for ticket in 2..5 {
        assert!(matches!(enter("greedy", ticket), Entered::Waiting(_)));
    }
    assert_eq!(enter("greedy", 5), Entered::Full);
    assert!(matches!(enter("other", 6), Entered::Waiting(_)));
    assert_eq!(queue.leave("greedy"), Some(("other".to_owned(), 6)));
    assert_eq!(queue.leave("greedy"), Some(("greedy".to_owned(), 2)));
}

#[test]
fn a_party_holds_at_most_its_share() {
    let mut queue = FairQueue::new(3, 3).with_held_max(2);
    assert_eq!(queue.enter("greedy", 0), Entered::Now);
    assert_eq!(queue.enter("greedy", 1), Entered::Now);
    assert!(matches!(queue.enter("greedy", 2), Entered::Waiting(_)));
    assert_eq!(queue.enter("other", 3), Entered::Now);
    assert_eq!(queue.leave("other"), None);
    assert_eq!(queue.enter("other", 4), Entered::Now);
    assert_eq!(queue.leave("greedy"), Some(("greedy".to_owned(), 2)));
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Enter(usize),
    Leave(usize),
    Abandon(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0_usize..3, 0_usize..5).prop_map(|(kind, party)| match kind {
        0 => Step::Enter(party),
        1 => Step::Leave(party),
        _ => Step::Abandon(party),
    });
    prop::collection::vec(step, 0..200)
}

proptest! {
    /// The number of permits is constant, and so is a party's share; no party with fewer permits than its share waits while one is free;
    /// the party with the fewest permits is next.
    #[test]
    fn permits_are_shared_fairly(permits in 1_usize..6, held_max in 1_usize..6, waiting_max in 1_usize..4, steps in steps()) {
        let mut queue = FairQueue::new(permits, waiting_max).with_held_max(held_max);
        let mut held: HashMap<String, usize> = HashMap::new();
        let mut waiting: HashMap<String, VecDeque<u64>> = HashMap::new();
        let mut ticket = 0_u64;
        for step in steps {
            match step {
                Step::Enter(party) => {
                    let party = party.to_string();
                    let mine = waiting.entry(party.clone()).or_default();
                    match queue.enter(&party, ticket) {
                        Entered::Now => {
                            let mine = held.entry(party).or_default();
                            *mine += 1;
                            prop_assert!(*mine <= held_max);
                        }
                        Entered::Waiting(id) => {
                            let is_full = held.values().sum::<usize>() == permits;
                            prop_assert!(is_full || held.get(&party) == Some(&held_max));
                            mine.push_back(id);
                        }
                        Entered::Full => prop_assert_eq!(mine.len(), waiting_max),
                    }
                    ticket += 1;
                }
                Step::Leave(party) => {
                    let party = party.to_string();
                    let Some(mine) = held.get_mut(&party).filter(|held| **held > 0) else { continue };
                    *mine -= 1;
                    let fewest = waiting.iter().filter(|(_, ids)| !ids.is_empty());
                    let fewest = fewest.map(|(party, _)| held.get(party).copied().unwrap_or(0)).filter(|held| *held < held_max).min();
                    if let Some((next, _)) = queue.leave(&party) {
                        let before = held.entry(next.clone()).or_default();
                        prop_assert_eq!(Some(*before), fewest);
                        *before += 1;
                        waiting.entry(next).or_default().pop_front();
                    } else {
                        prop_assert_eq!(fewest, None);
                    }
                }
                Step::Abandon(party) => {
                    let party = party.to_string();
                    if let Some(id) = waiting.entry(party.clone()).or_default().pop_back() {
                        prop_assert!(queue.abandon(&party, id));
                        prop_assert!(!queue.abandon(&party, id));
                    }
                }
            }
            prop_assert!(held.values().sum::<usize>() <= permits);
            prop_assert_eq!(queue.waiting(), waiting.values().map(VecDeque::len).sum::<usize>());
        }
    }
}
