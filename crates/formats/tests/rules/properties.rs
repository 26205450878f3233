//! Properties of every history in the format of every provider.

use context::Transcript;
use domain::event::{ToolCalled, ToolOutput};
use domain::{CallId, Fact, JsonText, Part, ToolName};
use formats::{CallOutputs, Format, RenderOptions, Rendered, Thoughts, canonical, parse_history, render};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{TestCaseError, TestRunner};
use serde_json::Value;

use crate::assembly::assembled;
use crate::histories::{options, plain_transcripts, transcripts};
use crate::meaning::{Action, bare, fact_actions, in_order, missing, transcript_actions};
use crate::reading::BodyCall;
use crate::{checkers, growth, losses, reading};

/// Cases per property, unless the environment variable is set.
const CASES: u32 = 2_000;
/// The environment variable of the number of cases.
const CASES_VARIABLE: &str = "HANSARD_PROPERTY_CASES";
#[test]
fn openai_chat() {
    upholds(Format::OpenAiChat);
}

#[test]
fn openai_responses() {
    upholds(Format::OpenAiResponses);
}

#[test]
fn anthropic() {
    upholds(Format::Anthropic);
}

#[test]
fn gemini() {
    upholds(Format::Gemini);
}

#[test]
fn ollama() {
    upholds(Format::Ollama);
}

#[test]
fn the_canonical_format_round_trips() {
    holds(&(transcripts(None), options()), |(transcript, options)| {
        let rendered = render(Format::Canonical, &transcript, &options);
        none("nothing is lost", &rendered.losses)?;
        prop_assert_eq!(canonical::parse(&rendered.body), Ok(trimmed(transcript)));
        Ok(())
    });
}

#[test]
fn a_round_trip_through_a_format_keeps_the_meaning() {
    let strategy = (transcripts(None), options(), pairs());
    holds(&strategy, |(transcript, options, (first, second))| {
        let (_, facts) = through(first, &transcript, &options)?;
        let (_, facts) = through(second, &assembled(facts), &options)?;
        let expected = in_order(transcript_actions(&transcript), &options);
        let kept = in_order(fact_actions(&facts), &options);
        let missing = missing(&expected, &kept, is_object);
        none(&format!("{first} and {second} keep the meaning"), missing)
    });
}

#[test]
fn a_round_trip_keeps_content_that_every_format_supports() {
    let strategy = (plain_transcripts(), options(), pairs());
    holds(&strategy, |(transcript, options, (first, second))| {
        let (rendered, facts) = through(first, &transcript, &options)?;
        none(&format!("{first} loses nothing"), &rendered.losses)?;
        let (_, twice) = through(second, &assembled(facts), &options)?;
        let (rendered, once) = through(second, &transcript, &options)?;
        none(&format!("{second} loses nothing"), &rendered.losses)?;
        prop_assert_eq!(
            in_order(fact_actions(&twice), &options),
            in_order(fact_actions(&once), &options),
            "{} after {}",
            second,
            first
        );
        Ok(())
    });
}

fn upholds(format: Format) {
    let histories = transcripts(format.provider());
    holds(&(histories, options()), |(transcript, options)| {
        let rendered = render(format, &transcript, &options);
        let body = reading::body(&rendered.body);
        prop_assert_eq!(&rendered, &render(format, &transcript, &options));
        none("the rules", checkers::broken(format, &options, &body))?;
        let silent = losses::silent(format, &transcript, &rendered, &body);
        none("no silent loss", silent)?;
        if options.thoughts == Thoughts::Omit {
            let held = losses::thoughts_held(&transcript, &rendered);
            none("thoughts are left out", held)?;
        }
        let changed = growth::changed(format, &transcript, &options);
        none("the end alone grows", changed)?;
        calls_are_restored(format, &transcript, (&rendered, &options), &body)?;
        keeps_meaning(format, &transcript, &rendered, &options)
    });
}

/// Each call and each result occurs once, in order; the calls of a turn are together unless their outputs are between
/// them; recorded ids and names are restored.
fn calls_are_restored(
    format: Format,
    transcript: &Transcript,
    (rendered, options): (&Rendered, &RenderOptions),
    body: &Value,
) -> Result<(), TestCaseError> {
    let recorded = |turn: &context::Turn| -> Vec<(String, String)> {
        let calls = turn.calls.iter().map(|call| &call.called);
        calls.map(|call| (call.call_id.to_string(), call.tool_name.to_string())).collect()
    };
    let expected: Vec<Vec<(String, String)>> =
        transcript.turns.iter().map(recorded).filter(|calls| !calls.is_empty()).collect();
    let calls = reading::calls(format, body);
    let found: Vec<Vec<(String, String)>> =
        calls.iter().map(|calls| calls.iter().map(|call| restored(call, rendered)).collect()).collect();
    if format == Format::OpenAiResponses && options.call_outputs == CallOutputs::Adjacent {
        prop_assert_eq!(found.concat(), expected.concat());
    } else {
        prop_assert_eq!(&found, &expected);
    }
    let calls: Vec<&BodyCall> = calls.iter().flatten().collect();
    let results = reading::results(format, body);
    prop_assert_eq!(calls.len(), results.len());
    for (call, result) in calls.iter().zip(&results) {
        prop_assert_eq!(&call.id, &result.id);
        prop_assert!(result.name.is_none() || result.name == call.name);
    }
    Ok(())
}

fn restored(call: &BodyCall, rendered: &Rendered) -> (String, String) {
    let mut facts = [Fact::ToolCalled(ToolCalled {
        call_id: CallId::parse(call.id.clone()).unwrap(),
        tool_name: ToolName::parse(call.name.clone().unwrap()).unwrap(),
        input: JsonText::recorded("{}".to_owned()),
        model: None,
        provider: None,
        provider_response_id: None,
        signature: None,
    })];
    rendered.names.restore(&mut facts);
    match &facts {
        [Fact::ToolCalled(called)] => (called.call_id.to_string(), called.tool_name.to_string()),
        _ => panic!("one call stays one call"),
    }
}

/// The parsed history has the meaning of the transcript, no thought becomes a text, and parsing it again changes nothing.
fn keeps_meaning(
    format: Format,
    transcript: &Transcript,
    rendered: &Rendered,
    options: &RenderOptions,
) -> Result<(), TestCaseError> {
    let facts = read_back(format, rendered)?;
    let actions = in_order(fact_actions(&facts), options);
    let inputs_as_text = matches!(format, Format::OpenAiChat | Format::OpenAiResponses);
    let kept = |input: &str| inputs_as_text || is_object(input);
    none("the meaning is kept", missing(&in_order(transcript_actions(transcript), options), &actions, kept))?;
    let parts = transcript.turns.iter().flat_map(|turn| &turn.parts);
    for thought in parts.filter_map(thought) {
        let found_text = |action: &Action| matches!(action, Action::Text(_, text) if text.contains(&thought));
        prop_assert!(!actions.iter().any(found_text), "a thought became a text: {}", thought);
    }
    let again = read_back(format, &render(format, &assembled(facts), options))?;
    let again = in_order(fact_actions(&again), options);
    let missing = missing(&actions, &again, |_| true);
    none("reading it again changes nothing", missing)
}

/// The transcript without white space around its JSON documents, which no body preserves.
fn trimmed(mut transcript: Transcript) -> Transcript {
    let trim = |json: &mut JsonText| *json = JsonText::recorded(json.as_str().trim().to_owned());
    for call in transcript.turns.iter_mut().flat_map(|turn| &mut turn.calls) {
        trim(&mut call.called.input);
        if let ToolOutput::Json(output) = &mut call.answer.output {
            trim(output);
        }
    }
    transcript
}

fn thought(part: &Part) -> Option<String> {
    match part {
        Part::Thinking { text, .. } => Some(bare(text)).filter(|text| !text.is_empty()),
        _ => None,
    }
}

/// A history that is rendered in a format and parsed.
fn through(
    format: Format,
    transcript: &Transcript,
    options: &RenderOptions,
) -> Result<(Rendered, Vec<Fact>), TestCaseError> {
    let rendered = render(format, transcript, options);
    let facts = read_back(format, &rendered)?;
    Ok((rendered, facts))
}

/// The facts of a request, with the recorded ids and names.
fn read_back(format: Format, rendered: &Rendered) -> Result<Vec<Fact>, TestCaseError> {
    let unread = |error| TestCaseError::fail(format!("{format} is not read back: {error}"));
    let mut facts = parse_history(format, &rendered.body).map_err(unread)?;
    rendered.names.restore(&mut facts);
    Ok(facts)
}

fn is_object(input: &str) -> bool {
    input.starts_with('{')
}

pub(crate) fn none<T: std::fmt::Debug>(what: &str, found: impl IntoIterator<Item = T>) -> Result<(), TestCaseError> {
    let found: Vec<T> = found.into_iter().collect();
    prop_assert!(found.is_empty(), "{what}: {found:#?}");
    Ok(())
}

fn pairs() -> impl Strategy<Value = (Format, Format)> {
    (select(Format::ALL), select(Format::ALL))
}

pub(crate) fn holds<S: Strategy>(strategy: &S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let cases = std::env::var(CASES_VARIABLE).map_or(CASES, |text| text.parse().unwrap());
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    if let Err(failure) = TestRunner::new(config).run(strategy, test) {
        panic!("{failure}");
    }
}
