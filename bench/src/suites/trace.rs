//! A deterministic conversation with tools: questions, parallel calls, results and answers.

use std::ops::RangeInclusive;

use domain::event::{MessageAppended, Role, ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
use domain::{CallId, Fact, JsonText, Part, ToolName, Violation};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

const SEED: u64 = 400;
const TOOLS: [&str; 4] = ["search_orders", "read_file", "list_pods", "fetch_page"];
const WORD_COUNT: usize = 40;
const WORDS: &str = "the order of a and deployment in status is queue to node was latency which shipped before customer we \
restart for billing on warehouse with error that replica not Tuesday value please report between \
parcel rollout could budget drained version";

/// The shape of a conversation.
#[derive(Clone)]
pub(super) struct Shape {
    /// Questions; each is followed by a turn with calls and a turn with an answer.
    pub(super) questions: usize,
    pub(super) calls: RangeInclusive<usize>,
    /// Bytes of a question or an answer.
    pub(super) message_bytes: RangeInclusive<usize>,
    pub(super) input_bytes: RangeInclusive<usize>,
    pub(super) result_bytes: RangeInclusive<usize>,
}

/// The conversation's facts, the oldest first.
pub(super) fn facts(shape: &Shape) -> Result<Vec<Fact>, Violation> {
    let mut random = StdRng::seed_from_u64(SEED);
    let mut facts = Vec::new();
    for _ in 0..shape.questions {
        let question = prose(&mut random, &shape.message_bytes);
        facts.push(message(Role::User, question));
        let calls = random.random_range(shape.calls.clone());
        let mut results = Vec::with_capacity(calls);
        for _ in 0..calls {
            let (called, returned) = call(&mut random, shape)?;
            facts.push(Fact::ToolCalled(called));
            results.push(Fact::ToolReturned(returned));
        }
        facts.append(&mut results);
        let answer = prose(&mut random, &shape.message_bytes);
        facts.push(message(Role::Assistant, answer));
    }
    Ok(facts)
}

fn message(role: Role, text: String) -> Fact {
    Fact::MessageAppended(MessageAppended::new(role, vec![Part::Text(text)]))
}

fn call(random: &mut StdRng, shape: &Shape) -> Result<(ToolCalled, ToolReturned), Violation> {
    let call_id = CallId::parse(format!("call_{:016x}", random.random::<u64>()))?;
    let tool = TOOLS.get(random.random_range(0..TOOLS.len()));
    let tool_name = ToolName::parse(tool.copied().unwrap_or_default())?;
    let input = prose(random, &shape.input_bytes);
    let called = ToolCalled {
        call_id: call_id.clone(),
        tool_name: tool_name.clone(),
        input: JsonText::recorded(format!(r#"{{"query":"{input}","limit":20}}"#)),
        model: None,
        provider: None,
        provider_response_id: None,
        signature: None,
    };
    let returned = ToolReturned {
        call_id,
        tool_name: Some(tool_name),
        output: ToolOutput::Json(JsonText::recorded(records(random, &shape.result_bytes))),
        outcome: ToolOutcome::Succeeded,
    };
    Ok((called, returned))
}

/// A JSON list of records, like a tool's output.
fn records(random: &mut StdRng, bytes: &RangeInclusive<usize>) -> String {
    const RECORD_BYTES: RangeInclusive<usize> = 10..=80;
    let bytes = random.random_range(bytes.clone());
    let mut text = r#"{"items":["#.to_owned();
    loop {
        let id = random.random_range(1_000..1_000_000);
        let note = prose(random, &RECORD_BYTES);
        let record = format!(r#"{{"id":{id},"note":"{note}"}}"#);
        text.push_str(&record);
        if text.len() >= bytes {
            break text + "]}";
        }
        text.push(',');
    }
}

/// Words of at least `bytes` in total, up to the end of the last word.
fn prose(random: &mut StdRng, bytes: &RangeInclusive<usize>) -> String {
    let bytes = random.random_range(bytes.clone());
    let mut text = String::with_capacity(bytes);
    while text.len() < bytes {
        if !text.is_empty() {
            text.push(' ');
        }
        let mut words = WORDS.split(' ');
        text.push_str(words.nth(random.random_range(0..WORD_COUNT)).unwrap_or_default());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_deterministic_and_as_long_as_requested() {
        let shape = Shape {
            questions: 40,
            calls: 1..=3,
            message_bytes: 40..=400,
            input_bytes: 20..=120,
            result_bytes: 50..=3_000,
        };
        let created = facts(&shape).unwrap();
        assert_eq!(created, facts(&shape).unwrap());
        let calls = created.iter().filter(|fact| matches!(fact, Fact::ToolCalled(_))).count();
        assert!((40..=120).contains(&calls), "{calls}");
        assert_eq!(created.len(), 2 * shape.questions + 2 * calls);
        for fact in &created {
            let Fact::ToolReturned(returned) = fact else {
                continue;
            };
            let ToolOutput::Json(json) = &returned.output else {
                panic!("a result that is not JSON");
            };
            JsonText::parse(json.as_str()).unwrap();
            assert!((50..=3_200).contains(&json.as_str().len()));
        }
    }
}
