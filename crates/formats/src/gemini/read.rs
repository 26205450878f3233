//! Parses one part of a content, of a request or of a reply.

use std::collections::BTreeMap;

use domain::event::{ToolOutcome, ToolOutput};
use domain::{JsonText, Label, Part, ToolName};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::errors::{invalid, malformed};
use super::media::{ReadBlob, ReadFileRef};
use super::{PROVIDER, SKIP_SIGNATURE};
use crate::ParseError;

/// The prefix of the fields of calls and results. A part with one never becomes a provider item.
pub(super) const FUNCTION_MARK: &str = "function";

/// A parsed part.
#[derive(Debug)]
pub(super) enum ParsedPart {
    /// Content, and its signature after it: at most two parts.
    Content(Vec<Part>),
    Call(ParsedCall),
    Result(ParsedResult),
}

#[derive(Debug)]
pub(super) struct ParsedCall {
    pub(super) id: Option<String>,
    pub(super) name: ToolName,
    pub(super) input: JsonText,
    pub(super) signature: CallSignature,
}

/// The signature of a call (G5).
#[derive(Debug)]
pub(super) enum CallSignature {
    Own(String),
    /// The skip value: the call is another provider's.
    Skipped,
    Absent,
}

impl CallSignature {
    /// The signature, if it is the provider's own.
    pub(super) fn own(self) -> Option<String> {
        match self {
            Self::Own(signature) => Some(signature),
            Self::Skipped | Self::Absent => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct ParsedResult {
    pub(super) id: Option<String>,
    pub(super) name: ToolName,
    pub(super) output: ToolOutput,
    pub(super) outcome: ToolOutcome,
}

/// The fields with canonical forms. A part with other fields becomes a provider item. One field has the data: a text, a medium, a
/// call or a result.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WirePart<'a> {
    text: Option<String>,
    thought: Option<bool>,
    #[serde(alias = "thought_signature")]
    thought_signature: Option<String>,
    #[serde(alias = "inline_data")]
    inline_data: Option<ReadBlob>,
    #[serde(alias = "file_data")]
    file_data: Option<ReadFileRef>,
    #[serde(borrow, alias = "function_call")]
    function_call: Option<WireCall<'a>>,
    #[serde(borrow, alias = "function_response")]
    function_response: Option<WireAnswer<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCall<'a> {
    id: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(alias = "partial_args")]
    partial_args: Option<IgnoredAny>,
    #[serde(default, alias = "will_continue")]
    will_continue: bool,
}

#[derive(Debug, Deserialize)]
struct WireAnswer<'a> {
    id: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(default)]
    parts: Vec<WireMedium>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMedium {
    #[serde(alias = "inline_data")]
    inline_data: Option<ReadBlob>,
    #[serde(alias = "file_data")]
    file_data: Option<ReadFileRef>,
}

/// Parses one part; `field` is its path.
pub(super) fn read_part(raw: &RawValue, field: &str) -> Result<ParsedPart, ParseError> {
    match serde_json::from_str::<WirePart<'_>>(raw.get()) {
        Ok(part) => known(part, raw, field),
        Err(error) => {
            let fields = parse_fields(raw).map_err(|error| malformed(&error))?;
            if fields.keys().any(|name| name.starts_with(FUNCTION_MARK)) {
                return Err(malformed(&error));
            }
            item(raw, field)
        }
    }
}

/// The fields of an object.
pub(super) fn parse_fields(object: &RawValue) -> Result<BTreeMap<String, &RawValue>, serde_json::Error> {
    serde_json::from_str(object.get())
}

fn known(mut part: WirePart<'_>, raw: &RawValue, field: &str) -> Result<ParsedPart, ParseError> {
    let signature = part.thought_signature.take().filter(|signature| !signature.is_empty());
    let has_content = part.text.is_some() || part.inline_data.is_some() || part.file_data.is_some();
    match (part.function_call.take(), part.function_response.take()) {
        (None, None) => known_content(part, signature, raw, field),
        (Some(call), None) if !has_content => read_call(call, signature, field),
        (None, Some(answer)) if !has_content => read_answer(answer, field),
        _ => Err(invalid(format!("{field} has several data fields"))),
    }
}

/// The content of a part without a call and a result. A combination without a canonical form becomes a provider item.
fn known_content(
    part: WirePart<'_>,
    signature: Option<String>,
    raw: &RawValue,
    field: &str,
) -> Result<ParsedPart, ParseError> {
    let is_thought = part.thought.unwrap_or_default();
    match part {
        WirePart { text, inline_data: None, file_data: None, .. } if is_thought => Ok(thought(text, signature)),
        WirePart { text, inline_data: None, file_data: None, .. } => {
            let content = text.filter(|text| !text.is_empty()).map(Part::Text);
            Ok(with_signature(content, signature))
        }
        WirePart { text: None, inline_data: Some(blob), file_data: None, .. } if !is_thought => {
            Ok(with_signature(Some(blob.part(&format!("{field}.inlineData"))?), signature))
        }
        WirePart { text: None, inline_data: None, file_data: Some(file), .. } if !is_thought => {
            Ok(with_signature(Some(file.part(&format!("{field}.fileData"))?), signature))
        }
        _ => item(raw, field),
    }
}

/// A thought; no part if it has neither a text nor a signature.
fn thought(text: Option<String>, signature: Option<String>) -> ParsedPart {
    let text = text.unwrap_or_default();
    let is_empty = text.is_empty() && signature.is_none();
    ParsedPart::Content(if is_empty { Vec::new() } else { vec![Part::Thinking { text, signature }] })
}

/// A signature becomes an empty thought after the part that it signs. The skip value is ignored.
fn with_signature(part: Option<Part>, signature: Option<String>) -> ParsedPart {
    let signed_thought = signature
        .filter(|signature| signature != SKIP_SIGNATURE)
        .map(|signature| Part::Thinking { text: String::new(), signature: Some(signature) });
    ParsedPart::Content(part.into_iter().chain(signed_thought).collect())
}

fn item(raw: &RawValue, field: &str) -> Result<ParsedPart, ParseError> {
    let item = JsonText::parse(raw.get()).map_err(|violation| ParseError::unusable(field, violation))?;
    let provider = Label::parse(PROVIDER).map_err(|violation| ParseError::unusable(field, violation))?;
    Ok(ParsedPart::Content(vec![Part::ProviderItem { provider, item }]))
}

fn read_call(call: WireCall<'_>, signature: Option<String>, field: &str) -> Result<ParsedPart, ParseError> {
    let field = format!("{field}.functionCall");
    if call.partial_args.is_some() || call.will_continue {
        return Err(ParseError::Unusable {
            field: format!("{field}.partialArgs").into(),
            reason: "is partial: request complete arguments".to_owned(),
        });
    }
    let args = call.args.map_or("{}", RawValue::get);
    Ok(ParsedPart::Call(ParsedCall {
        id: call.id.filter(|id| !id.is_empty()),
        name: name(call.name, &field)?,
        input: JsonText::parse(args).map_err(|violation| ParseError::unusable(format!("{field}.args"), violation))?,
        signature: match signature {
            Some(signature) if signature == SKIP_SIGNATURE => CallSignature::Skipped,
            Some(signature) => CallSignature::Own(signature),
            None => CallSignature::Absent,
        },
    }))
}

fn name(name: String, field: &str) -> Result<ToolName, ParseError> {
    ToolName::parse(name).map_err(|violation| ParseError::unusable(format!("{field}.name"), violation))
}

fn read_answer(answer: WireAnswer<'_>, field: &str) -> Result<ParsedPart, ParseError> {
    let field = format!("{field}.functionResponse");
    let (mut output, outcome) = response(answer.response, &format!("{field}.response"))?;
    for (index, medium) in answer.parts.into_iter().enumerate() {
        let field = format!("{field}.parts[{index}]");
        let part = match (medium.inline_data, medium.file_data) {
            (Some(blob), None) => blob.part(&field)?,
            (None, Some(file)) => file.part(&field)?,
            _ => {
                return Err(invalid(format!("{field} is neither inline data nor a file")));
            }
        };
        output = with_medium(output, part);
    }
    Ok(ParsedPart::Result(ParsedResult {
        id: answer.id.filter(|id| !id.is_empty()),
        name: name(answer.name, &field)?,
        output,
        outcome,
    }))
}

/// The value of `output` or `error` if it is the only field; otherwise the whole response is the output (G4).
fn response(response: Option<&RawValue>, field: &str) -> Result<(ToolOutput, ToolOutcome), ParseError> {
    let whole = response.map_or("{}", RawValue::get);
    let object: BTreeMap<String, &RawValue> = serde_json::from_str(whole).map_err(|error| malformed(&error))?;
    let mut fields = object.iter();
    let (json, outcome) = match (fields.next(), fields.next()) {
        (Some((name, output)), None) if name == "output" => (output.get(), ToolOutcome::Succeeded),
        (Some((name, error)), None) if name == "error" => (error.get(), ToolOutcome::Failed),
        _ => (whole, ToolOutcome::Succeeded),
    };
    Ok((output(json, field)?, outcome))
}

/// An output: a JSON string is text, other JSON is a document.
fn output(json: &str, field: &str) -> Result<ToolOutput, ParseError> {
    if let Ok(text) = serde_json::from_str::<String>(json) {
        return Ok(ToolOutput::Parts(vec![Part::Text(text)]));
    }
    let json = JsonText::parse(json).map_err(|violation| ParseError::unusable(field, violation))?;
    Ok(ToolOutput::Json(json))
}

/// Adds media to an output. A document becomes a text.
fn with_medium(output: ToolOutput, medium: Part) -> ToolOutput {
    let mut parts = match output {
        ToolOutput::Json(json) => vec![Part::Text(json.as_str().to_owned())],
        ToolOutput::Parts(parts) => parts,
    };
    parts.push(medium);
    ToolOutput::Parts(parts)
}
