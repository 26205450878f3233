//! Random trees of forks, and for each fork a twin: a conversation with the same events, appended directly.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use tests::agent::Agent;
use tests::events::{assistant, call, note, result, summary, user};
use wire::proto::event::v1::Event;

use super::fork;
use crate::write::with;

/// A conversation of a tree.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    pub(super) id: String,
    /// The event of each version from 1 on; `None` for a creation.
    pub(super) script: Vec<Option<Event>>,
    /// The last version that its summaries cover.
    summarised: u64,
    /// Its own pending calls.
    open: Vec<String>,
}

impl Node {
    pub(super) fn version(&self) -> u64 {
        u64::try_from(self.script.len()).expect("a version")
    }

    /// The versions of its creation and of fork points.
    pub(super) fn beginnings(&self) -> Vec<u64> {
        let places = (1..).zip(&self.script).filter(|(_, event)| event.is_none());
        places.map(|(version, _)| version).collect()
    }
}

/// A random generator, and unique names.
#[derive(Debug)]
pub(super) struct Generator {
    rng: StdRng,
    names: u32,
}

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        Self { rng: StdRng::seed_from_u64(seed), names: 0 }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("n{}", self.names)
    }

    /// The next random event of a conversation.
    fn event(&mut self, node: &mut Node) -> Event {
        let name = self.name();
        match self.rng.random_range(0..10) {
            0..3 => user(format!("Question {name}?")),
            3..5 => assistant(format!("Answer {name}.")),
            5..7 => {
                node.open.push(name.clone());
                call(&name, r#"{"q":1}"#)
            }
            7 if !node.open.is_empty() => {
                let waiting = self.rng.random_range(0..node.open.len());
                let words = self.rng.random_range(1..200);
                let output = format!("\"{}\"", "word ".repeat(words));
                result(&node.open.swap_remove(waiting), &output)
            }
            8 if node.version() > node.summarised => {
                node.summarised = self.rng.random_range(node.summarised + 1..=node.version());
                summary(node.summarised, format!("Summary {name}."))
            }
            _ => note(&name),
        }
    }

    /// Appends up to this many events, in several commits.
    pub(super) async fn grow(&mut self, agent: &Agent, node: &mut Node, events_max: usize) {
        let mut left = self.rng.random_range(1..=events_max);
        while left > 0 {
            let count = self.rng.random_range(1..=left.min(4));
            let events: Vec<Event> = (0..count)
                .map(|_| {
                    let event = self.event(node);
                    node.script.push(Some(event.clone()));
                    event
                })
                .collect();
            agent.append(&node.id, events).await;
            left -= count;
        }
    }

    pub(super) async fn root(&mut self, agent: &Agent) -> Node {
        let node = Node { id: self.name(), script: vec![None], ..Node::default() };
        agent.create(&node.id).await;
        node
    }

    /// A fork of a random node at a random version. It continues with the assistant, so that pending calls at the fork
    /// point are interrupted in its twin, too.
    pub(super) async fn fork(&mut self, agent: &Agent, nodes: &[Node]) -> Node {
        let parent = nodes.choose(&mut self.rng).expect("a node");
        let version = self.rng.random_range(1..=parent.version());
        let shared = usize::try_from(version).expect("a version");
        let message = assistant("I go on.");
        let mut script = parent.script[..shared].to_vec();
        script.extend([None, Some(message.clone())]);
        let node = Node { id: self.name(), summarised: parent.summarised, script, open: Vec::new() };
        fork(agent, &node.id, &parent.id, version).await;
        agent.append(&node.id, vec![message]).await;
        node
    }

    /// A version of a conversation at which it and its twin have equal contexts.
    pub(super) fn version(&mut self, node: &Node) -> u64 {
        let beginnings = node.beginnings();
        let versions: Vec<u64> =
            (1..=node.version()).filter(|version| *version == 1 || !beginnings.contains(version)).collect();
        *versions.choose(&mut self.rng).expect("a version")
    }
}

/// A conversation with the same events, appended directly; its title changes where the fork starts.
pub(super) async fn twin(agent: &Agent, node: &Node) -> String {
    let id = format!("{}-twin", node.id);
    agent.create(&id).await;
    for (place, event) in node.script.iter().enumerate().skip(1) {
        if let Some(event) = event {
            agent.append(&id, vec![event.clone()]).await;
        } else {
            let request = with(agent.update_request(&id, &["title"]), |request| {
                request.title = format!("{place}");
            });
            agent.try_update(request).await.expect("an update");
        }
    }
    id
}
