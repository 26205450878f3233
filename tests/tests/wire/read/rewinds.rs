//! A rewound history reads like its twin, a conversation with only the remaining events. The events themselves are all
//! stored.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use tests::agent::Agent;
use tests::events::{assistant, call, note, result, rewind, summary, user};
use tests::stack::Setup;
use wire::proto::event::v1::Event;
use wire::proto::event::v1::event::Fact;
use wire::proto::read::v1::assemble_context_request::Policy;
use wire::proto::read::v1::context_message::Kind;
use wire::proto::read::v1::{
    AssembleContextRequest, ContextFormat, ContextStage, ContextTokens, StageEffect, StageOutcome,
};

use super::forks::fork;

/// Random histories, each with its own stack.
const HISTORIES: u64 = 4;
/// Steps of a history, and of its fork.
const STEPS: usize = 40;

/// A conversation, and the effective events at each version from 1 on.
#[derive(Debug, Clone)]
struct History {
    id: String,
    shown: Vec<Vec<(u64, Event)>>,
}

impl History {
    fn version(&self) -> u64 {
        u64::try_from(self.shown.len()).expect("a version")
    }

    fn at(&self, version: u64) -> Vec<(u64, Event)> {
        let place = usize::try_from(version - 1).expect("a place");
        self.shown[place].clone()
    }

    fn say(&mut self, event: Event) {
        let mut shown = self.at(self.version());
        shown.push((self.version() + 1, event));
        self.shown.push(shown);
    }

    fn step(&mut self, rng: &mut StdRng) -> Vec<Event> {
        let name = format!("n{}", self.version());
        let events_of_step = match rng.random_range(0..12) {
            0..4 => vec![user(format!("Question {name}?"))],
            4..7 => vec![assistant(format!("Answer {name}."))],
            7 => vec![call(&name, "{}"), result(&name, "\"found\"")],
            8 => self.summary(rng).into_iter().collect(),
            9 => vec![note(&name)],
            _ => {
                let to = rng.random_range(1..=self.version());
                self.shown.push(self.at(to));
                return vec![rewind(to)];
            }
        };
        for event in &events_of_step {
            self.say(event.clone());
        }
        events_of_step
    }

    /// A summary of more events than those so far, up to an effective one.
    fn summary(&self, rng: &mut StdRng) -> Option<Event> {
        let shown = self.at(self.version());
        let reached = shown.iter().filter_map(|(_, event)| covered_version(event)).max();
        let places: Vec<u64> =
            shown.iter().map(|(version, _)| *version).filter(|place| Some(*place) > reached).collect();
        let place = places.choose(rng)?;
        Some(summary(*place, format!("Summary through {place}.")))
    }
}

fn covered_version(event: &Event) -> Option<u64> {
    match &event.fact {
        Some(Fact::HistorySummarised(summary)) => Some(summary.through_version),
        _ => None,
    }
}

async fn grow(agent: &Agent, history: &mut History, rng: &mut StdRng) {
    for _ in 0..STEPS {
        let events = history.step(rng);
        if !events.is_empty() {
            agent.append(&history.id, events).await;
        }
    }
}

/// Appends the effective events of a version to a separate conversation.
async fn twin(agent: &Agent, history: &History, version: u64) -> String {
    let id = format!("{}-{version}", history.id);
    agent.create(&id).await;
    let shown = history.at(version);
    for (_, event) in &shown {
        let mut event = event.clone();
        if let Some(Fact::HistorySummarised(summary)) = &mut event.fact {
            let before = shown.iter().filter(|(place, _)| *place <= summary.through_version);
            summary.through_version = 1 + u64::try_from(before.count()).expect("a version");
        }
        agent.append(&id, vec![event]).await;
    }
    id
}

async fn assemble(agent: &Agent, id: &str, request: &AssembleContextRequest) -> (Value, ContextTokens) {
    let request = AssembleContextRequest { target: Some(agent.read_target(id)), ..request.clone() };
    let answer = agent.caller().read().assemble_context(request).await;
    let context = answer.unwrap_or_else(|status| panic!("{id}: {status:?}")).into_inner();
    let mut body: Value = serde_json::from_slice(&context.body).expect("JSON");
    remove_versions(&mut body);
    let receipt = context.receipt.expect("a receipt");
    (body, receipt.tokens.expect("tokens"))
}

/// Removes the conversation's name and the versions of its events from a context.
fn remove_versions(body: &mut Value) {
    match body {
        Value::Object(members) => {
            members.remove("version");
            members.remove("prompt_cache_key");
            members.values_mut().for_each(remove_versions);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_versions),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

async fn check(agent: &Agent, history: &History, versions: &[(u64, String)]) {
    for (version, twin) in versions {
        for (form, policy) in [
            (ContextFormat::Canonical, json!({})),
            (ContextFormat::Canonical, json!({"summary": "none"})),
            (ContextFormat::Anthropic, json!({"summary": "none"})),
        ] {
            let request = |at_version| AssembleContextRequest {
                format: form.into(),
                policy: Some(Policy::PolicyJson(policy.to_string())),
                at_version,
                ..AssembleContextRequest::default()
            };
            let read = assemble(agent, &history.id, &request(*version)).await;
            let expected = assemble(agent, twin, &request(0)).await;
            assert_eq!(read, expected, "{} at {version}", history.id);
        }
    }
    let (_, last) = versions.last().expect("a version");
    for messages_max in [1, 4, 50] {
        let read = last_messages(agent, &history.id, messages_max).await;
        assert_eq!(read, last_messages(agent, last, messages_max).await, "{}", history.id);
    }
}

/// The last messages, without their versions.
async fn last_messages(agent: &Agent, id: &str, messages_max: u32) -> Vec<Option<Kind>> {
    let context = agent.context(id, messages_max).await;
    context.messages.into_iter().map(|one| one.kind).collect()
}

async fn twins(agent: &Agent, history: &History, rng: &mut StdRng) -> Vec<(u64, String)> {
    let mut twins = Vec::new();
    for version in [rng.random_range(1..history.version()), history.version()] {
        twins.push((version, twin(agent, history, version).await));
    }
    twins
}

async fn check_history(seed: u64) {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let mut rng = StdRng::seed_from_u64(seed);
    if seed.is_multiple_of(2) {
        stack.projector.stop().await;
    }
    let mut root = History { id: "root".to_owned(), shown: vec![Vec::new()] };
    agent.create(&root.id).await;
    grow(&agent, &mut root, &mut rng).await;
    let shared = rng.random_range(1..=root.version());
    let mut branch = History { id: "fork".to_owned(), shown: (1..=shared).map(|version| root.at(version)).collect() };
    fork(&agent, &branch.id, &root.id, shared).await;
    branch.shown.push(branch.at(shared));
    grow(&agent, &mut branch, &mut rng).await;
    let mut read = Vec::new();
    for history in [root, branch] {
        let twins = twins(&agent, &history, &mut rng).await;
        assert_eq!(agent.version(&history.id).await, history.version());
        check(&agent, &history, &twins).await;
        read.push((history, twins));
    }
    if !stack.projector.is_started() {
        stack.projector.start().await;
    }
    for (history, twins) in &read {
        agent.wait_for_rows(&history.id, history.version()).await;
        check(&agent, history, twins).await;
        // No event is gone.
        let events = agent.events(agent.list_request(&history.id)).await;
        assert_eq!(u64::try_from(events.len()).expect("a count"), history.version());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rewound_histories_equal_their_twins() {
    futures::future::join_all((0..HISTORIES).map(check_history)).await;
}

/// The outcomes of a context that only omits a rewound range, and only on request.
async fn check_outcomes(agent: &Agent, request: &AssembleContextRequest, rewound: (u64, u64)) {
    for with_outcomes in [true, false] {
        let request = AssembleContextRequest { target: Some(agent.read_target("c")), with_outcomes, ..request.clone() };
        let answer = agent.caller().read().assemble_context(request).await;
        let outcomes = answer.expect("a context").into_inner().outcomes;
        let expected = StageOutcome {
            first_version: rewound.0,
            last_version: rewound.1,
            stage: ContextStage::History.into(),
            effect: StageEffect::Rewound.into(),
        };
        let expected = with_outcomes.then_some(expected);
        assert_eq!(outcomes, expected.into_iter().collect::<Vec<_>>());
    }
}

/// Turns before the rewound branch, and turns of the branch, which would exceed the budget.
const TURNS: usize = 20;
const BRANCH: usize = 600;

#[tokio::test(flavor = "multi_thread")]
async fn rewound_turns_use_no_budget() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let events_of_step = |count: usize| -> Vec<Event> {
        let text = "word ".repeat(20);
        (0..count).map(|turn| user(format!("{turn}: {text}"))).collect()
    };
    agent.append("c", events_of_step(TURNS)).await;
    let to = agent.version("c").await;
    for _ in 0..4 {
        agent.append("c", events_of_step(BRANCH / 4)).await;
    }
    agent.append("c", vec![rewind(to), user("and now?")]).await;
    let policy = json!({"budget": {"context_tokens_max": 2_000, "reserved_tokens": 0}});
    let request = AssembleContextRequest {
        format: ContextFormat::Canonical.into(),
        policy: Some(Policy::PolicyJson(policy.to_string())),
        ..AssembleContextRequest::default()
    };
    let all = async || {
        let (body, _) = assemble(&agent, "c", &request).await;
        let turns = body["turns"].as_array().expect("turns").len();
        // A small message limit, so that the branch would fill all that is read for it.
        let kept = last_messages(&agent, "c", 21).await.len();
        assert_eq!((turns, kept), (TURNS + 1, TURNS + 1));
    };
    all().await;
    let branch = u64::try_from(BRANCH).expect("a version");
    check_outcomes(&agent, &request, (to + 1, to + branch)).await;
    agent.wait_for_rows("c", agent.version("c").await).await;
    stack.projector.stop().await;
    all().await;
    check_outcomes(&agent, &request, (to + 1, to + branch)).await;
}
