//! Builds recorded events.

use domain::event::{EventTokens, Fact, MessageAppended, RecordedEvent, Role, RunFinished, RunStarted};
use domain::{CommitId, Event, EventId, Part, RunId, RunOutcome, Timestamp, Version};
use uuid::Uuid;

/// A record that grows by commits.
#[derive(Clone, Default)]
pub struct Record {
    pub events: Vec<RecordedEvent>,
    commits: u128,
}

impl Record {
    pub fn commit(&mut self, facts: Vec<Fact>) {
        self.commits += 1;
        let commit = CommitId(Uuid::from_u128(self.commits));
        for (index, fact) in facts.into_iter().enumerate() {
            let version = u64::try_from(self.events.len() + 1).unwrap();
            self.events.push(RecordedEvent {
                version: Version(version),
                commit,
                recorded_at: Timestamp(1),
                event: Event {
                    id: EventId::derived(commit, index),
                    occurred_at: None,
                    metadata: None,
                    tokens: EventTokens::default(),
                    fact,
                },
            });
        }
    }

    pub fn finish(&mut self, run: RunId, outcome: RunOutcome, mut facts: Vec<Fact>) {
        facts.push(Fact::from(RunFinished { run, outcome }));
        self.commit(facts);
    }
}

pub fn message(role: Role, parts: Vec<Part>) -> MessageAppended {
    MessageAppended::new(role, parts)
}

pub fn said(role: Role, text: &str) -> Fact {
    Fact::MessageAppended(message(role, vec![Part::Text(text.to_owned())]))
}

pub fn started(number: u128) -> RunStarted {
    RunStarted { run: RunId(Uuid::from_u128(0xABC0 + number)), model: None, provider: None }
}
