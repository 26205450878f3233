//! Fair order of waiting requests: the party that holds the fewest permits is next, and equal parties alternate.

use std::collections::{HashMap, VecDeque};

/// Permits that several parties share, and a queue per party.
///
/// A free permit goes to the waiting party with the fewest permits. So the load of one party delays another by at most the
/// time of one permit.
#[derive(Debug)]
pub struct FairQueue<T> {
    free: usize,
    held_max: usize,
    waiting_max: usize,
    parties: HashMap<String, Party<T>>,
    /// Waiting parties, in turn.
    turns: VecDeque<String>,
    next_id: u64,
}

#[derive(Debug)]
struct Party<T> {
    held: usize,
    waiting: VecDeque<(u64, T)>,
}

/// The result of a request for a permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    /// The party has the permit.
    Now,
    /// It waits with this id.
    Waiting(u64),
    /// Too many requests of this party wait.
    Full,
}

impl<T> FairQueue<T> {
    /// A queue with free permits. `waiting_max` is the maximum number of waiting requests per party.
    #[must_use]
    pub fn new(permits: usize, waiting_max: usize) -> Self {
        Self {
            free: permits,
            held_max: permits,
            waiting_max,
            parties: HashMap::new(),
            turns: VecDeque::new(),
            next_id: 0,
        }
    }

    /// The queue with a maximum number of permits that one party holds. The others stay free for other parties.
    #[must_use]
    pub fn with_held_max(self, held_max: usize) -> Self {
        Self { held_max, ..self }
    }

    /// Takes a permit or waits for one. [`FairQueue::leave`] returns `ticket` when it gets the permit.
    pub fn enter(&mut self, party: &str, ticket: T) -> Entered {
        let entry = self.parties.entry(party.to_owned());
        let mine = entry.or_insert_with(|| Party { held: 0, waiting: VecDeque::new() });
        if self.free > 0 && mine.held < self.held_max {
            self.free -= 1;
            mine.held += 1;
            return Entered::Now;
        }
        let entered = if mine.waiting.len() < self.waiting_max {
            let id = self.next_id;
            self.next_id += 1;
            mine.waiting.push_back((id, ticket));
            if mine.waiting.len() == 1 {
                self.turns.push_back(party.to_owned());
            }
            Entered::Waiting(id)
        } else {
            Entered::Full
        };
        self.remove_idle(party);
        entered
    }

    /// Releases a permit of a party. Returns the name and the ticket of the next party, which has the permit then.
    pub fn leave(&mut self, party: &str) -> Option<(String, T)> {
        if let Some(mine) = self.parties.get_mut(party) {
            mine.held = mine.held.saturating_sub(1);
        }
        self.free += 1;
        let next = self.next();
        self.remove_idle(party);
        next
    }

    /// Removes a waiting request. `false`: it got its permit already, which the caller must release.
    pub fn abandon(&mut self, party: &str, id: u64) -> bool {
        let Some(mine) = self.parties.get_mut(party) else {
            return false;
        };
        let Some(index) = mine.waiting.iter().position(|(waiting, _)| *waiting == id) else {
            return false;
        };
        mine.waiting.remove(index);
        if mine.waiting.is_empty() {
            self.turns.retain(|turn| turn != party);
        }
        self.remove_idle(party);
        true
    }

    /// The number of waiting requests.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let parties = self.turns.iter();
        let waiting = parties.filter_map(|party| self.parties.get(party));
        waiting.map(|party| party.waiting.len()).sum()
    }

    fn next(&mut self) -> Option<(String, T)> {
        let held = |party: &String| self.parties.get(party).map_or(0, |party| party.held);
        let turns = self.turns.iter().enumerate();
        let eligible = turns.filter(|(_, party)| held(party) < self.held_max);
        let (index, _) = eligible.min_by_key(|(index, party)| (held(party), *index))?;
        let party = self.turns.remove(index)?;
        let mine = self.parties.get_mut(&party)?;
        let (_, ticket) = mine.waiting.pop_front()?;
        mine.held += 1;
        self.free -= 1;
        if !mine.waiting.is_empty() {
            self.turns.push_back(party.clone());
        }
        Some((party, ticket))
    }

    fn remove_idle(&mut self, party: &str) {
        let is_idle = |mine: &Party<T>| mine.held == 0 && mine.waiting.is_empty();
        if self.parties.get(party).is_some_and(is_idle) {
            self.parties.remove(party);
        }
    }
}
