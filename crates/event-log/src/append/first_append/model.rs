//! A bounded model of the first commits of a conversation while partitions are added: three writers that create the same
//! conversation, each by the stage that it knows, which may be one behind.
//!
//! docs/explanation/protocols.md describes states, invariants and assumptions.

use domain::{ConversationId, ConversationKey, Creation, Layout, Partition, Stage, TenantId};
use stateright::{Checker as _, Model, Property};

const OLD: Partition = Partition(0);
const NEW: Partition = Partition(1);
const WRITERS: usize = 3;

/// The explored rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// New conversations are created in new partitions right after these were announced.
    WithoutClosing,
    /// The rule of the code.
    Current,
}

/// The subject of the conversation in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Subject {
    Empty,
    Closed,
    Used,
}

/// The next step of a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    /// Decides by the stage that it knows.
    Start,
    /// Reads the other partition from its leader.
    Check,
    /// Closes the previous partition; the message may already be on its way.
    Close,
    /// Reads what the previous partition has now.
    ReadClosed,
    /// Publishes the first commit in the chosen partition.
    Publish,
    /// Has an outcome, or has crashed.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Writer {
    knows: Stage,
    step: Step,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    stage: Stage,
    old: Subject,
    new: Subject,
    writers: [Writer; WRITERS],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    /// The operator begins the next stage.
    Advance,
    /// The operator removes the message that closes the subject.
    RemoveClosing,
    /// A writer reads the layout.
    Refresh(usize),
    Step(usize),
    Crash(usize),
}

#[derive(Debug, Clone)]
struct Growth {
    rule: Rule,
    key: ConversationKey,
}

impl Growth {
    fn new(rule: Rule) -> Self {
        let layout = Layout::from_parts(&[1, 2], Stage::Open).unwrap();
        let keys = (0..).map(|number| ConversationKey {
            tenant: TenantId::parse("acme").unwrap(),
            conversation: ConversationId::parse(format!("c{number}")).unwrap(),
        });
        let moved = keys.into_iter();
        let key = moved.take(100).find(|key| layout.candidates(key) == [OLD, NEW]);
        Self { rule, key: key.unwrap() }
    }

    fn creation(&self, stage: Stage) -> Creation {
        let layout = Layout::from_parts(&[1, 2], stage).unwrap();
        layout.creation(&self.key)
    }

    fn next_stage(&self, stage: Stage) -> Option<Stage> {
        match (stage, self.rule) {
            (Stage::Announced, Rule::Current) => Some(Stage::Closing),
            (Stage::Announced, Rule::WithoutClosing) | (Stage::Closing, _) => Some(Stage::Open),
            (Stage::Open, _) => None,
        }
    }

    /// Whether a process that knows `known` is at most one stage behind.
    fn is_close(&self, known: Stage, stage: Stage) -> bool {
        known == stage || self.next_stage(known) == Some(stage)
    }

    fn step(&self, state: &mut State, number: usize) {
        let Writer { knows, step } = state.writers[number];
        let creation = self.creation(knows);
        let publish_or_close = match creation.close {
            Some(_) => Step::Close,
            None => Step::Publish,
        };
        state.writers[number].step = match step {
            Step::Start if creation.others.is_empty() => publish_or_close,
            Step::Start => Step::Check,
            Step::Check if state.old == Subject::Used => Step::End,
            Step::Check => publish_or_close,
            Step::Close => {
                if state.old == Subject::Empty {
                    state.old = Subject::Closed;
                }
                Step::ReadClosed
            }
            Step::ReadClosed => match state.old {
                Subject::Closed => Step::Publish,
                Subject::Used => Step::End,
                Subject::Empty => Step::Close,
            },
            Step::Publish => {
                let subject = match creation.partition {
                    OLD => &mut state.old,
                    _ => &mut state.new,
                };
                match *subject {
                    Subject::Empty => {
                        *subject = Subject::Used;
                        Step::End
                    }
                    Subject::Used => Step::End,
                    Subject::Closed => {
                        state.writers[number].knows = state.stage;
                        Step::Start
                    }
                }
            }
            Step::End => Step::End,
        };
    }
}

impl Model for Growth {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let writer = Writer { knows: Stage::Announced, step: Step::Start };
        vec![State { stage: Stage::Announced, old: Subject::Empty, new: Subject::Empty, writers: [writer; WRITERS] }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        // The stages are so far apart that nobody is two behind.
        let all_close = |stage| {
            let mut active = state.writers.iter().filter(|one| one.step != Step::End);
            active.all(|writer| self.is_close(writer.knows, stage))
        };
        if self.next_stage(state.stage).is_some_and(all_close) {
            actions.push(Action::Advance);
        }
        let mut active = state.writers.iter().filter(|one| one.step != Step::End);
        if state.stage == Stage::Open
            && state.old == Subject::Closed
            && active.all(|writer| writer.knows == Stage::Open)
        {
            actions.push(Action::RemoveClosing);
        }
        for (number, writer) in state.writers.iter().enumerate() {
            if writer.step == Step::Start && writer.knows != state.stage {
                actions.push(Action::Refresh(number));
            }
            if writer.step != Step::End {
                actions.extend([Action::Step(number), Action::Crash(number)]);
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Advance => state.stage = self.next_stage(state.stage)?,
            Action::RemoveClosing => state.old = Subject::Empty,
            Action::Refresh(number) => state.writers[number].knows = state.stage,
            Action::Step(number) => self.step(&mut state, number),
            Action::Crash(number) => state.writers[number].step = Step::End,
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a conversation is in one partition", |_, state: &State| {
                state.old != Subject::Used || state.new != Subject::Used
            }),
            Property::sometimes("it is created in the old one", |_, state: &State| state.old == Subject::Used),
            Property::sometimes("it is created in the new one", |_, state: &State| state.new == Subject::Used),
        ]
    }
}

#[test]
fn a_conversation_is_created_in_one_partition() {
    let checker = Growth::new(Rule::Current).checker().spawn_bfs().join();
    checker.assert_properties();
    assert!(checker.unique_state_count() > 500, "{}", checker.unique_state_count());
}

#[test]
fn without_the_closing_stage_it_could_be_created_in_two() {
    let checker = Growth::new(Rule::WithoutClosing).checker().spawn_bfs().join();
    let found = checker.discovery("a conversation is in one partition");
    assert!(found.is_some(), "no violation");
}
