//! Nothing is dropped silently: content that a body does not contain is listed as lost.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use context::{AnsweredCall, Transcript, Turn};
use domain::event::{ToolOutcome, ToolOutput};
use domain::{Label, MediaSource, Part, Version};
use formats::{Format, Loss, LostContent, Rendered};
use serde_json::Value;

use crate::reading;

/// A rendering that is searched for content.
struct Rendering<'a> {
    format: Format,
    body: &'a str,
    strings: Vec<&'a str>,
    losses: &'a [Loss],
}

impl Rendering<'_> {
    fn contains(&self, text: &str) -> bool {
        self.strings.iter().any(|string| string.contains(text))
    }

    fn contains_decoded(&self, base64: &str) -> bool {
        let text = STANDARD.decode(base64).ok().map(String::from_utf8);
        matches!(text, Some(Ok(text)) if !text.is_empty() && self.contains(&text))
    }

    fn lists(&self, version: Version, lost: LostContent) -> bool {
        self.losses.iter().any(|loss| loss.version == version && loss.lost == lost)
    }

    /// A violation if a text that is not blank is neither in the body nor listed.
    fn check(&self, version: Version, text: &str, lost: LostContent) -> Option<String> {
        let is_accounted = text.trim().is_empty() || self.contains(text) || self.lists(version, lost);
        (!is_accounted).then(|| format!("{lost:?} of {version} is lost silently: {text:?}"))
    }

    /// A violation if the content and the labels of media are incomplete and no loss is listed.
    fn media(
        &self,
        version: Version,
        source: &MediaSource,
        beside: [Option<&Label>; 2],
        losses: &[LostContent],
    ) -> Option<String> {
        let listed = losses.iter().any(|lost| self.lists(version, *lost));
        let beside = beside.into_iter().flatten().map(Label::as_str);
        let content = payload(source);
        // An inline text may be decoded.
        let content = (!self.contains_decoded(content)).then_some(content);
        let missing = content.into_iter().chain(beside).find(|text| !self.contains(text)).filter(|_| !listed);
        missing.map(|text| format!("{losses:?} of {version} is lost silently: {text:?}"))
    }
}

/// The content that is neither in the body nor listed, and errors in the list.
pub(crate) fn silent(format: Format, transcript: &Transcript, rendered: &Rendered, body: &Value) -> Vec<String> {
    let rendering = Rendering {
        format,
        body: std::str::from_utf8(&rendered.body).unwrap(),
        strings: reading::strings(body),
        losses: &rendered.losses,
    };
    let frame = transcript.instructions.iter().chain(&transcript.opening).chain(&transcript.closing);
    let missing = frame.filter(|text| !rendering.contains(text)).map(|text| format!("missing: {text:?}"));
    let turns = transcript.turns.iter().flat_map(|turn| check_turn(&rendering, turn));
    let calls = transcript.turns.iter().flat_map(|turn| &turn.calls).flat_map(|call| check_call(&rendering, call));
    let mut silent: Vec<String> = missing.chain(turns).chain(calls).collect();
    if !rendered.losses.is_sorted_by_key(|loss| loss.version) {
        silent.push("the losses are not by version".to_owned());
    }
    silent
}

/// The thoughts of a transcript that a body contains.
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
    let thoughts = thoughts.filter(|thought| !thought.trim().is_empty());
    thoughts.filter(held).collect()
}

fn check_turn(rendering: &Rendering<'_>, turn: &Turn) -> Vec<String> {
    let parts = turn.parts.iter().filter_map(|part| check_part(rendering, turn.version, part));
    let has_text = |part: &Part| matches!(part, Part::Text(text) if !text.trim().is_empty());
    let author = turn
        .author
        .as_ref()
        .filter(|_| turn.parts.iter().any(has_text))
        .and_then(|author| rendering.check(turn.version, author.as_str(), LostContent::Author));
    parts.chain(author).collect()
}

fn check_part(rendering: &Rendering<'_>, version: Version, part: &Part) -> Option<String> {
    match part {
        Part::Text(text) => {
            let is_contained = text.trim().is_empty() || rendering.contains(text);
            (!is_contained).then(|| format!("missing: {text:?}"))
        }
        Part::Image { source, media_type, detail } => {
            let beside = [stated_type(source, media_type.as_ref()), detail.as_ref()];
            rendering.media(version, source, beside, &[LostContent::Image, LostContent::ImageDetail])
        }
        Part::File { source, media_type, filename } => {
            let beside = [stated_type(source, media_type.as_ref()), filename.as_ref()];
            rendering.media(version, source, beside, &[LostContent::File])
        }
        Part::Thinking { text, signature } => {
            let signature = signature.as_deref().filter(|_| !rendering.lists(version, LostContent::Thinking));
            rendering
                .check(version, text, LostContent::Thinking)
                .or_else(|| rendering.check(version, signature?, LostContent::ThinkingSignature))
        }
        Part::RedactedThinking(data) => rendering.check(version, data, LostContent::RedactedThinking),
        Part::Refusal(text) => rendering.check(version, text, LostContent::Refusal),
        Part::ProviderItem { item, .. } => {
            let lost = [LostContent::ProviderItem, LostContent::Thinking];
            let listed = lost.iter().any(|lost| rendering.lists(version, *lost));
            let held = listed || rendering.body.contains(item.as_str());
            (!held).then(|| format!("an item of {version} is lost silently: {}", item.as_str()))
        }
    }
}

/// The media type, unless the URL implies it: a `data:` URL, or that of a PDF.
fn stated_type<'a>(source: &MediaSource, media_type: Option<&'a Label>) -> Option<&'a Label> {
    let MediaSource::Url(url) = source else {
        return media_type;
    };
    let says_it = |label: &&Label| url.starts_with("data:") || label.as_str() == "application/pdf";
    media_type.filter(|label| !says_it(label))
}

/// The searched text of a source: the content of a `data:` URL, otherwise the whole source.
fn payload(source: &MediaSource) -> &str {
    match source {
        MediaSource::FileId(id) => id,
        MediaSource::Url(url) => match url.strip_prefix("data:").and_then(|data| data.split_once(',')) {
            Some((_, data)) => data,
            None => url,
        },
    }
}

fn check_call(rendering: &Rendering<'_>, call: &AnsweredCall) -> Vec<String> {
    let version = call.version;
    let input = call.called.input.as_str().trim();
    let as_text = matches!(rendering.format, Format::OpenAiChat | Format::OpenAiResponses);
    let verbatim = if as_text {
        rendering.strings.iter().any(|string| string.trim() == input)
    } else {
        input.starts_with('{') && rendering.body.contains(input)
    };
    let input = (!verbatim && !rendering.lists(version, LostContent::InputForm))
        .then(|| format!("input of {version} is not verbatim"));
    let signature = call.called.signature.as_deref().unwrap_or_default();
    let signature = rendering.check(version, signature, LostContent::CallSignature);
    let native = matches!(rendering.format, Format::Anthropic | Format::Gemini);
    let failed =
        call.answer.outcome == ToolOutcome::Failed && !native && !rendering.lists(version, LostContent::Outcome);
    let failed = failed.then(|| format!("the failure of {version} is lost silently"));
    let output = match &call.answer.output {
        ToolOutput::Json(json) => {
            let text = json.as_str();
            let held = rendering.contains(text.trim()) || rendering.body.contains(text.trim());
            (!held).then(|| format!("the output of {version} is not verbatim: {text}"))
        }
        ToolOutput::Parts(parts) => parts.iter().find_map(|part| check_part(rendering, version, part)),
    };
    input.into_iter().chain(signature).chain(failed).chain(output).collect()
}
