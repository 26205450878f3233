//! Nothing is dropped in silence: what a body does not hold is listed as lost.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use context::{AnsweredCall, Transcript, Turn};
use domain::event::{ToolOutcome, ToolOutput};
use domain::{Label, MediaSource, Part, Version};
use formats::{Format, Loss, Lost, Rendered};
use serde_json::Value;

use crate::reading;

/// A rendering as the search for what it carries reads it.
struct Carrier<'a> {
    format: Format,
    body: &'a str,
    strings: Vec<&'a str>,
    losses: &'a [Loss],
}

impl Carrier<'_> {
    fn holds(&self, text: &str) -> bool {
        self.strings.iter().any(|string| string.contains(text))
    }

    fn holds_decoded(&self, base64: &str) -> bool {
        let text = STANDARD.decode(base64).ok().map(String::from_utf8);
        matches!(text, Some(Ok(text)) if !text.is_empty() && self.holds(&text))
    }

    fn lists(&self, version: Version, lost: Lost) -> bool {
        self.losses
            .iter()
            .any(|loss| loss.version == version && loss.lost == lost)
    }

    /// What stands in the body, or is listed; what is blank needs neither.
    fn told(&self, version: Version, text: &str, lost: Lost) -> Option<String> {
        let told = text.trim().is_empty() || self.holds(text) || self.lists(version, lost);
        (!told).then(|| format!("{lost:?} of {version} is gone in silence: {text:?}"))
    }

    /// A medium's content and what is said of it: all there, or one of its losses is listed.
    fn media(
        &self,
        version: Version,
        source: &MediaSource,
        beside: [Option<&Label>; 2],
        losses: &[Lost],
    ) -> Option<String> {
        let listed = losses.iter().any(|lost| self.lists(version, *lost));
        let beside = beside.into_iter().flatten().map(Label::as_str);
        let content = payload(source);
        // A text that comes along may stand decoded.
        let content = (!self.holds_decoded(content)).then_some(content);
        let mut missing = content
            .into_iter()
            .chain(beside)
            .filter(|text| !self.holds(text));
        let missing = missing.next().filter(|_| !listed);
        missing.map(|text| format!("{losses:?} of {version} is gone in silence: {text:?}"))
    }
}

/// What is neither in the body nor listed, and what of the list is out of order or of no turn.
pub(crate) fn silent(
    format: Format,
    transcript: &Transcript,
    rendered: &Rendered,
    body: &Value,
) -> Vec<String> {
    let carrier = Carrier {
        format,
        body: std::str::from_utf8(&rendered.body).unwrap(),
        strings: reading::strings(body),
        losses: &rendered.losses,
    };
    let frame = transcript
        .instructions
        .iter()
        .chain(&transcript.opening)
        .chain(&transcript.closing);
    let unsaid = frame
        .filter(|text| !carrier.holds(text))
        .map(|text| format!("not said: {text:?}"));
    let turns = transcript
        .turns
        .iter()
        .flat_map(|turn| of_turn(&carrier, turn));
    let calls = transcript.turns.iter().flat_map(|turn| &turn.calls);
    let calls = calls.flat_map(|call| of_call(&carrier, call));
    let mut silent: Vec<String> = unsaid.chain(turns).chain(calls).collect();
    if !rendered.losses.is_sorted_by_key(|loss| loss.version) {
        silent.push("the losses are not by version".to_owned());
    }
    silent
}

/// The thoughts of a transcript that a body holds.
pub(crate) fn thoughts_held(transcript: &Transcript, rendered: &Rendered) -> Vec<String> {
    let body = reading::body(&rendered.body);
    let strings = reading::strings(&body);
    let parts = transcript.turns.iter().flat_map(|turn| &turn.parts);
    let thoughts = parts.filter_map(|part| match part {
        Part::Thinking { text, .. } | Part::RedactedThinking(text) => Some(text.clone()),
        Part::ProviderItem { item, .. } => {
            let item: Value = serde_json::from_str(item.as_str()).unwrap();
            item["encrypted_content"].as_str().map(str::to_owned)
        }
        _ => None,
    });
    let held = |thought: &String| strings.iter().any(|string| string.contains(thought));
    let told = thoughts.filter(|thought| !thought.trim().is_empty());
    told.filter(held).collect()
}

fn of_turn(carrier: &Carrier<'_>, turn: &Turn) -> Vec<String> {
    let parts = turn
        .parts
        .iter()
        .filter_map(|part| of_part(carrier, turn.version, part));
    let spoken = |part: &Part| matches!(part, Part::Text(text) if !text.trim().is_empty());
    let author = turn
        .author
        .as_ref()
        .filter(|_| turn.parts.iter().any(spoken));
    let author =
        author.and_then(|author| carrier.told(turn.version, author.as_str(), Lost::Author));
    parts.chain(author).collect()
}

fn of_part(carrier: &Carrier<'_>, version: Version, part: &Part) -> Option<String> {
    match part {
        Part::Text(text) => {
            let said = text.trim().is_empty() || carrier.holds(text);
            (!said).then(|| format!("not said: {text:?}"))
        }
        Part::Image {
            source,
            media_type,
            detail,
        } => {
            let beside = [told_type(source, media_type.as_ref()), detail.as_ref()];
            carrier.media(version, source, beside, &[Lost::Image, Lost::ImageDetail])
        }
        Part::File {
            source,
            media_type,
            filename,
        } => {
            let beside = [told_type(source, media_type.as_ref()), filename.as_ref()];
            carrier.media(version, source, beside, &[Lost::File])
        }
        Part::Thinking { text, signature } => {
            let signature = signature
                .as_deref()
                .filter(|_| !carrier.lists(version, Lost::Thinking));
            carrier
                .told(version, text, Lost::Thinking)
                .or_else(|| carrier.told(version, signature?, Lost::ThinkingSignature))
        }
        Part::RedactedThinking(data) => carrier.told(version, data, Lost::RedactedThinking),
        Part::Refusal(text) => carrier.told(version, text, Lost::Refusal),
        Part::ProviderItem { item, .. } => {
            let lost = [Lost::ProviderItem, Lost::Thinking];
            let listed = lost.iter().any(|lost| carrier.lists(version, *lost));
            let held = listed || carrier.body.contains(item.as_str());
            (!held).then(|| format!("an item of {version} is gone in silence: {}", item.as_str()))
        }
    }
}

/// The media type, unless an address says it too: one with `data:`, or that of a PDF.
fn told_type<'a>(source: &MediaSource, media_type: Option<&'a Label>) -> Option<&'a Label> {
    let MediaSource::Url(url) = source else {
        return media_type;
    };
    let says_it = |label: &&Label| url.starts_with("data:") || label.as_str() == "application/pdf";
    media_type.filter(|label| !says_it(label))
}

/// What of a source must be found again: the content of a `data:` address, else all of it.
fn payload(source: &MediaSource) -> &str {
    match source {
        MediaSource::FileId(id) => id,
        MediaSource::Url(url) => match url
            .strip_prefix("data:")
            .and_then(|data| data.split_once(','))
        {
            Some((_, data)) => data,
            None => url,
        },
    }
}

fn of_call(carrier: &Carrier<'_>, call: &AnsweredCall) -> Vec<String> {
    let version = call.version;
    let input = call.called.input.as_str().trim();
    let as_text = matches!(carrier.format, Format::OpenAiChat | Format::OpenAiResponses);
    let verbatim = if as_text {
        carrier.strings.iter().any(|string| string.trim() == input)
    } else {
        input.starts_with('{') && carrier.body.contains(input)
    };
    let input = (!verbatim && !carrier.lists(version, Lost::InputForm))
        .then(|| format!("input of {version} is not verbatim"));
    let signature = call.called.signature.as_deref().unwrap_or_default();
    let signature = carrier.told(version, signature, Lost::CallSignature);
    let native = matches!(carrier.format, Format::Anthropic | Format::Gemini);
    let failed = call.answer.outcome == ToolOutcome::Failed
        && !native
        && !carrier.lists(version, Lost::Outcome);
    let failed = failed.then(|| format!("the failure of {version} is gone in silence"));
    let output = match &call.answer.output {
        ToolOutput::Json(json) => {
            let text = json.as_str();
            let held = carrier.holds(text.trim()) || carrier.body.contains(text.trim());
            (!held).then(|| format!("the output of {version} is not verbatim: {text}"))
        }
        ToolOutput::Parts(parts) => parts
            .iter()
            .find_map(|part| of_part(carrier, version, part)),
    };
    input
        .into_iter()
        .chain(signature)
        .chain(failed)
        .chain(output)
        .collect()
}
