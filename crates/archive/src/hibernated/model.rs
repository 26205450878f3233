//! A bounded model of hibernation: an archive run, and two writers that append to the same conversation.
//!
//! docs/explanation/protocols.md describes states, invariants and assumptions.

use stateright::{Checker as _, Model, Property};

const WRITERS: usize = 2;
const COMMITS_MAX: usize = 4;
const RUNS_MAX: u8 = 2;

/// The explored rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// A conversation is sealed although an append to it may be on its way.
    WithoutIdleTime,
    /// Last commits are removed although a writer may not know their segment.
    WithoutDelay,
    /// Writers do not compare the last commit of the record with the archive.
    WithoutComparison,
    /// Writers keep a head in their cache however old it is.
    WithoutCacheAge,
    /// The rule of the code.
    Current,
}

/// A commit: its sequence and its version.
type Commit = (u8, u8);

/// What a writer is about to publish: its version, and the last sequence of the subject that it expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Append {
    expected: Option<u8>,
    version: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Writer {
    /// The last commit of the segments that it knows.
    known: Option<Commit>,
    /// Its publish may arrive at any later time.
    append: Option<Append>,
    /// What it appends by the head in its cache, at any later time.
    cached: Option<Append>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Run {
    Idle,
    Sealed,
    Removing,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    /// Every commit that was ever stored.
    stored: Vec<Commit>,
    /// Those in the stream.
    recorded: Vec<Commit>,
    /// Those in segments.
    archived: Vec<Commit>,
    run: Run,
    runs: u8,
    writers: [Writer; WRITERS],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    /// A writer reads the catalogue.
    Refresh(usize),
    /// A writer reads the last commit, caches it, and decides.
    Decide(usize),
    /// A writer decides by its cache.
    DecideByCache(usize),
    Publish(usize),
    Crash(usize),
    /// The run seals every commit.
    Seal,
    Remove,
    /// The run ends or is killed.
    EndRun,
    /// A server that was restarted during the removals becomes leader: it has kept a removed commit.
    KeepRemoved(Commit),
}

struct Hibernation(Rule);

impl Hibernation {
    fn decide(&self, state: &State, writer: Writer) -> Append {
        let recorded = state.recorded.iter().max().copied();
        let last = match (recorded, writer.known) {
            (Some(recorded), Some(known)) if self.0 != Rule::WithoutComparison => Some(recorded.max(known)),
            (recorded, known) => recorded.or(known),
        };
        Append { expected: recorded.map(|(sequence, _)| sequence), version: last.map_or(0, |(_, version)| version) + 1 }
    }

    /// The next removal of a run: of the commits that are sealed, in order.
    fn removal(state: &State) -> Option<Commit> {
        let sealed = state.recorded.iter();
        sealed.filter(|one| state.archived.contains(one)).min().copied()
    }

    /// Whether every writer knows the segments.
    fn is_known(&self, state: &State) -> bool {
        let last = state.archived.iter().max();
        self.0 == Rule::WithoutDelay || state.writers.iter().all(|one| one.known.as_ref() == last)
    }
}

impl Model for Hibernation {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            stored: vec![(1, 1), (2, 2)],
            recorded: vec![(1, 1), (2, 2)],
            archived: Vec::new(),
            run: Run::Idle,
            runs: 0,
            writers: [Writer::default(); WRITERS],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (number, writer) in state.writers.iter().enumerate() {
            if writer.known.as_ref() != state.archived.iter().max() {
                actions.push(Action::Refresh(number));
            }
            if writer.append.is_some() {
                actions.extend([Action::Publish(number), Action::Crash(number)]);
            } else if state.stored.len() < COMMITS_MAX {
                actions.push(Action::Decide(number));
                if writer.cached.is_some() {
                    actions.push(Action::DecideByCache(number));
                }
            }
        }
        let is_new = |one: &Commit| !state.archived.contains(one);
        match state.run {
            Run::Idle if state.runs < RUNS_MAX && state.recorded.iter().any(is_new) => {
                actions.push(Action::Seal);
            }
            Run::Sealed if self.is_known(state) => actions.push(Action::Remove),
            Run::Removing if Self::removal(state).is_some() => actions.push(Action::Remove),
            Run::Idle | Run::Sealed | Run::Removing => {}
        }
        if state.run != Run::Idle {
            actions.push(Action::EndRun);
        }
        let removed = state.archived.iter().copied().filter(|one| !state.recorded.contains(one));
        actions.extend(removed.map(Action::KeepRemoved));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Refresh(number) => {
                state.writers[number].known = state.archived.iter().max().copied();
            }
            Action::Decide(number) => {
                let append = self.decide(&state, state.writers[number]);
                let writer = &mut state.writers[number];
                writer.append = Some(append);
                writer.cached = Some(append);
            }
            Action::DecideByCache(number) => {
                let writer = &mut state.writers[number];
                writer.append = writer.cached;
            }
            Action::Publish(number) => {
                let append = state.writers[number].append.take()?;
                let recorded = state.recorded.iter().max().map(|(sequence, _)| *sequence);
                if recorded == append.expected {
                    let sequence = u8::try_from(state.stored.len()).ok()? + 1;
                    state.stored.push((sequence, append.version));
                    state.recorded.push((sequence, append.version));
                    state.writers[number].cached =
                        Some(Append { expected: Some(sequence), version: append.version + 1 });
                } else {
                    // A lost race: the writer reads the last commit again.
                    state.writers[number].cached = None;
                }
            }
            Action::Crash(number) => state.writers[number].append = None,
            Action::Seal => {
                state.archived = state.stored.clone();
                (state.run, state.runs) = (Run::Sealed, state.runs + 1);
                if self.0 != Rule::WithoutIdleTime {
                    // The last commit is so old that nothing decided before it is on its way.
                    for writer in &mut state.writers {
                        writer.append = None;
                    }
                }
                if self.0 != Rule::WithoutCacheAge {
                    for writer in &mut state.writers {
                        writer.cached = None;
                    }
                }
            }
            Action::Remove => {
                let removed = Self::removal(&state)?;
                state.recorded.retain(|one| *one != removed);
                state.run = Run::Removing;
            }
            Action::EndRun => state.run = Run::Idle,
            Action::KeepRemoved(commit) => {
                state.recorded.push(commit);
                state.recorded.sort_unstable();
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("versions are dense", |_, state: &State| {
                let versions = state.stored.iter().map(|(_, version)| *version);
                versions.eq(1..=u8::try_from(state.stored.len()).unwrap_or(u8::MAX))
            }),
            Property::always("no commit is lost", |_, state: &State| {
                let mut stored = state.stored.iter();
                stored.all(|one| state.recorded.contains(one) || state.archived.contains(one))
            }),
            Property::sometimes("a hibernated conversation is woken", |_, state: &State| {
                state.recorded.len() == 1 && state.stored.len() == 3 && !state.archived.is_empty()
            }),
            Property::sometimes("it hibernates again", |_, state: &State| state.recorded.is_empty() && state.runs == 2),
        ]
    }
}

fn violation(rule: Rule) -> bool {
    let checker = Hibernation(rule).checker().spawn_bfs().join();
    checker.discovery("versions are dense").is_some()
}

#[test]
fn a_conversation_stays_one() {
    let checker = Hibernation(Rule::Current).checker().spawn_bfs().join();
    checker.assert_properties();
    let states = checker.unique_state_count();
    assert!(states > 1_000, "{states}");
}

#[test]
fn without_the_idle_time_a_version_could_be_stored_twice() {
    assert!(violation(Rule::WithoutIdleTime));
}

#[test]
fn without_the_delay_a_version_could_be_stored_twice() {
    assert!(violation(Rule::WithoutDelay));
}

#[test]
fn with_old_heads_in_caches_a_version_could_be_stored_twice() {
    assert!(violation(Rule::WithoutCacheAge));
}

#[test]
fn a_removed_commit_that_a_server_kept_could_store_a_version_twice() {
    assert!(violation(Rule::WithoutComparison));
}
