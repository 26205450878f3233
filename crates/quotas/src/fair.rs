//! Who is next where all places are taken: of those who wait, the one that holds the fewest; of equals, in turn.

use std::collections::{HashMap, VecDeque};

/// Places that several parties share, and a queue for each party.
///
/// A party's load can delay another party by at most one place's time: a place that becomes free goes to the waiting party
/// with the fewest places.
#[derive(Debug)]
pub struct FairQueue<T> {
    free: usize,
    waiting_max: usize,
    parties: HashMap<String, Party<T>>,
    /// Parties that wait, in turn.
    turns: VecDeque<String>,
    next_id: u64,
}

#[derive(Debug)]
struct Party<T> {
    held: usize,
    waiting: VecDeque<(u64, T)>,
}

/// What became of a request for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    /// The place is taken.
    Now,
    /// It waits, under this id.
    Waiting(u64),
    /// Too many of this party wait.
    Full,
}

impl<T> FairQueue<T> {
    /// Free places, and how many of one party may wait.
    #[must_use]
    pub fn new(places: usize, waiting_max: usize) -> Self {
        Self {
            free: places,
            waiting_max,
            parties: HashMap::new(),
            turns: VecDeque::new(),
            next_id: 0,
        }
    }

    /// Takes a place or waits for one; `ticket` is given back when the place is there.
    pub fn enter(&mut self, party: &str, ticket: T) -> Entered {
        let entry = self.parties.entry(party.to_owned());
        let mine = entry.or_insert_with(|| Party {
            held: 0,
            waiting: VecDeque::new(),
        });
        if self.free > 0 {
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
        self.forget_idle(party);
        entered
    }

    /// Gives a party's place back. The next party that waits has it then: its ticket and name.
    pub fn leave(&mut self, party: &str) -> Option<(String, T)> {
        if let Some(mine) = self.parties.get_mut(party) {
            mine.held = mine.held.saturating_sub(1);
        }
        self.free += 1;
        let next = self.next();
        self.forget_idle(party);
        next
    }

    /// Takes a request back that does not wait any more. `false`: its place was given to it meanwhile, and is to be left.
    pub fn abandon(&mut self, party: &str, id: u64) -> bool {
        let Some(mine) = self.parties.get_mut(party) else {
            return false;
        };
        let Some(at) = mine.waiting.iter().position(|(waiting, _)| *waiting == id) else {
            return false;
        };
        mine.waiting.remove(at);
        if mine.waiting.is_empty() {
            self.turns.retain(|turn| turn != party);
        }
        self.forget_idle(party);
        true
    }

    /// How many requests wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let parties = self.turns.iter();
        let waiting = parties.filter_map(|party| self.parties.get(party));
        waiting.map(|party| party.waiting.len()).sum()
    }

    fn next(&mut self) -> Option<(String, T)> {
        let held = |party: &String| self.parties.get(party).map_or(0, |party| party.held);
        let turns = self.turns.iter().enumerate();
        let (at, _) = turns.min_by_key(|(at, party)| (held(party), *at))?;
        let party = self.turns.remove(at)?;
        let mine = self.parties.get_mut(&party)?;
        let (_, ticket) = mine.waiting.pop_front()?;
        mine.held += 1;
        self.free -= 1;
        if !mine.waiting.is_empty() {
            self.turns.push_back(party.clone());
        }
        Some((party, ticket))
    }

    fn forget_idle(&mut self, party: &str) {
        let is_idle = |mine: &Party<T>| mine.held == 0 && mine.waiting.is_empty();
        if self.parties.get(party).is_some_and(is_idle) {
            self.parties.remove(party);
        }
    }
}
