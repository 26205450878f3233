//! A tenant writes patterns, templates and schemas that take as long as possible. It waits for them, and no other tenant does.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events;
use tests::eventually::within;
use tokio::task::JoinHandle;
use tonic::{Code, Status};
use wire::proto::operate::v1 as operate;
use wire::proto::read::v1::assemble_context_request::Policy;
use wire::proto::read::v1::{AssembleContextRequest, AssembleContextResponse, ContextFormat};

use crate::fixture::Fixture;

/// Concurrent calls of each attack.
const CALLS: usize = 4;
/// Measured calls of the other tenant.
const TURNS: usize = 40;
/// Most contexts that an attack gets during the median turn of the other tenant. If the attack took the threads that serve, each turn
/// would wait for several.
const BESIDE_MAX: usize = 1;
/// Most bytes by which all attacks raise the memory of the gateway.
const MEMORY_BYTES_MAX: u64 = 200 * 1024 * 1024;

/// The policies of the attacker, by name. Each once took minutes of a thread that serves everyone, or would have.
fn policies() -> Vec<(&'static str, Value)> {
    let redact = |pattern: &str| json!({"redact": {"rules": "none", "patterns": [pattern]}});
    vec![
        ("the square of a text", redact(r"(?s)(?:.*\x00|a)")),
        ("states that explode", redact(r"[ab]*a[ab]{2000}c")),
        ("many patterns", json!({"redact": {"patterns": vec![r"(?:a.*b|a)"; 50]}})),
        (
            "a list in a list",
            json!({"instructions": "{% for i in metadata.a %}{% if 7 in metadata.a %}{% endif %}{% endfor %}"}),
        ),
        (
            "equal lists",
            json!({"instructions": "{% for i in metadata.a %}{% if metadata.a == metadata.a %}{% endif %}{% endfor %}"}),
        ),
        (
            "results as templates",
            json!({"tool_digest": {"results_max": 100, "templates": {"search": "{% for i in input.a %}{{ output|upper|length }}{% endfor %}"}}}),
        ),
    ]
}

/// An attacker with a token that may append and read, and a tenant with a conversation like the attacker's first.
struct Attack {
    fixture: Fixture,
    attacker: Agent,
    other: Agent,
}

impl Attack {
    async fn begin() -> Self {
        let fixture = Fixture::start().await;
        let operator = fixture.operator().await;
        let attacker = operator.agent("greedy", "greedy").await;
        let other = operator.agent("acme", "support").await;
        let mut created = attacker.create_request("costly");
        let items: Vec<u32> = (0..20_000).map(|item| item % 7).collect();
        let metadata = json!({ "a": items }).to_string();
        created.client_context = Some(wire::proto::event::v1::ClientContext {
            custom_metadata_json: metadata,
            ..wire::proto::event::v1::ClientContext::default()
        });
        attacker.try_create(created).await.expect("a conversation");
        attacker.append("costly", vec![events::user("a".repeat(480_000))]).await;
        for index in 0..10 {
            let id = format!("call-{index}");
            let input = json!({ "a": vec![1; 5_000] }).to_string();
            let output = json!("x".repeat(100_000)).to_string();
            attacker.append("costly", vec![events::call(&id, &input), events::result(&id, &output)]).await;
        }
        other.create("usual").await;
        other.append("usual", vec![events::user("hello"), events::assistant("hi")]).await;
        Self { fixture, attacker, other }
    }

    /// Bytes of the gateway's memory.
    fn memory_bytes(&mut self) -> u64 {
        let process = self.fixture.stack.gateway.process().expect("a process").id();
        let status = fs::read_to_string(format!("/proc/{process}/status")).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kib * 1024
    }
}

async fn context(agent: &Agent, conversation: &str, policy: Option<&Value>) -> Result<AssembleContextResponse, Status> {
    let request = AssembleContextRequest {
        target: Some(agent.read_target(conversation)),
        format: ContextFormat::Canonical.into(),
        policy: policy.map(|policy| Policy::PolicyJson(policy.to_string())),
        ..AssembleContextRequest::default()
    };
    agent.caller().read().assemble_context(request).await.map(tonic::Response::into_inner)
}

/// Calls that repeat an attack until they are stopped.
struct Flood {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    calls: Vec<JoinHandle<()>>,
}

impl Flood {
    fn begin(attacker: &Agent, policy: &Value) -> Self {
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let call = |_| {
            let (attacker, policy) = (attacker.clone(), policy.clone());
            let (stop, answered) = (Arc::clone(&stop), Arc::clone(&answered));
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let _ = context(&attacker, "costly", Some(&policy)).await;
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let calls = (0..CALLS).map(call).collect();
        Self { stop, answered, calls }
    }

    async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for call in self.calls {
            within("the end of an attack", call).await.expect("no panic");
        }
    }
}

/// The times of the other tenant's contexts, and the answers of the attack while the median one was made.
async fn turns(other: &Agent, count: usize, answered: &AtomicUsize) -> (Vec<Duration>, usize) {
    let (mut times, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (begun, before) = (Instant::now(), answered.load(Ordering::Relaxed));
        within("a context of another tenant", context(other, "usual", None)).await.expect("a context");
        times.push(begun.elapsed());
        beside.push(answered.load(Ordering::Relaxed) - before);
    }
    times.sort();
    beside.sort_unstable();
    (times, beside[count / 2])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tenant_writes_costs_only_that_tenant() {
    let attack = Box::pin(Attack::begin()).await;
    for (name, policy) in policies() {
        let alone = within(name, context(&attack.attacker, "costly", Some(&policy))).await;
        if let Err(failure) = alone {
            // A template that takes too many steps, and no other failure.
            assert_eq!(failure.code(), Code::FailedPrecondition, "{name}: {failure:?}");
        }
        let flood = Flood::begin(&attack.attacker, &policy);
        let (_, beside) = turns(&attack.other, TURNS, &flood.answered).await;
        assert!(beside <= BESIDE_MAX, "{name}: {beside} contexts of the attacker during one of another tenant");
        flood.end().await;
    }
    // What matching cannot decide within its steps is hidden.
    let hidden = context(&attack.attacker, "costly", Some(&policies()[0].1)).await.expect("a context");
    assert!(!String::from_utf8_lossy(&hidden.body).contains("aaaa"));
}

/// The schema once took gigabytes and stopped every writer for a minute.
#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_explodes_is_rejected() {
    let fixture = Box::pin(Fixture::start()).await;
    let operator = fixture.operator().await;
    operator.agent("greedy", "greedy").await;
    let members = (0..200).map(|index| (format!("p{index}"), json!({"pattern": r"\pL{200}N"})));
    let schema = json!({"type": "object", "properties": Value::Object(members.collect())});
    let request = operate::SetAgentSettingsRequest {
        agent_id: "greedy".to_owned(),
        settings: Some(operate::AgentSettings {
            output_schema_json: schema.to_string(),
            ..operate::AgentSettings::default()
        }),
        update_mask: None,
    };
    let answer = within("an answer", operator.registry().set_agent_settings(request)).await;
    check_failure("the schema", answer, (Code::InvalidArgument, "FIELD_OUT_OF_RANGE", "settings.output_schema_json"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement, to be run alone on an idle machine"]
async fn the_latency_and_memory_of_others_under_attack() {
    let mut attack = Box::pin(Attack::begin()).await;
    let nothing = AtomicUsize::new(0);
    turns(&attack.other, 1_000, &nothing).await;
    let (quiet, _) = turns(&attack.other, 1_000, &nothing).await;
    let memory = attack.memory_bytes();
    let p99 = |times: &[Duration]| times[times.len() * 99 / 100];
    for (name, policy) in policies() {
        let flood = Flood::begin(&attack.attacker, &policy);
        let (times, _) = turns(&attack.other, 1_000, &flood.answered).await;
        flood.end().await;
        let (quiet, attacked) = (p99(&quiet), p99(&times));
        println!(
            "{name}: p99 {attacked:?}, quiet {quiet:?}, {:.2} times",
            attacked.as_secs_f64() / quiet.as_secs_f64()
        );
    }
    let grown = attack.memory_bytes().saturating_sub(memory);
    println!("memory grew by {} MiB", grown / 1024 / 1024);
    assert!(grown <= MEMORY_BYTES_MAX, "{grown}");
}
