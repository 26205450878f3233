//! One part of a content, as it is read: of a request or of a reply.

use std::collections::BTreeMap;

use domain::event::{ToolOutcome, ToolOutput};
use domain::{JsonText, Label, Part, ToolName};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::fault::{malformed, misshapen, unusable};
use super::media::{ReadBlob, ReadFileRef};
use super::{PROVIDER, SKIP_SIGNATURE};
use crate::ParseError;

/// How the names of the fields begin that call and answer; a part with one is never kept as it came.
pub(super) const FUNCTION_MARK: &str = "function";

/// What a part is.
#[derive(Debug)]
pub(super) enum ReadPart {
    /// Something said, with its signature after it: at most two parts, none where it says nothing.
    Said(Vec<Part>),
    Call(ReadCall),
    Answer(ReadAnswer),
}

#[derive(Debug)]
pub(super) struct ReadCall {
    pub(super) id: Option<String>,
    pub(super) name: ToolName,
    pub(super) input: JsonText,
    pub(super) signature: CallSignature,
}

/// Who signed a call (G5).
#[derive(Debug)]
pub(super) enum CallSignature {
    Own(String),
    /// The skip value: another's model called.
    Skipped,
    Absent,
}

#[derive(Debug)]
pub(super) struct ReadAnswer {
    pub(super) id: Option<String>,
    pub(super) name: ToolName,
    pub(super) output: ToolOutput,
    pub(super) outcome: ToolOutcome,
}

/// The fields that the record has a place for; a part with any other is kept as it came.
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

/// Reads one part; `field` is its path.
pub(super) fn read_part(raw: &RawValue, field: &str) -> Result<ReadPart, ParseError> {
    match serde_json::from_str::<WirePart<'_>>(raw.get()) {
        Ok(part) => known(part, raw, field),
        Err(error) => {
            let fields = fields_of(raw).map_err(|error| malformed(&error))?;
            if fields.keys().any(|name| name.starts_with(FUNCTION_MARK)) {
                return Err(malformed(&error));
            }
            item(raw, field)
        }
    }
}

/// The fields of an object.
pub(super) fn fields_of(
    object: &RawValue,
) -> Result<BTreeMap<String, &RawValue>, serde_json::Error> {
    serde_json::from_str(object.get())
}

fn known(part: WirePart<'_>, raw: &RawValue, field: &str) -> Result<ReadPart, ParseError> {
    let signature = part
        .thought_signature
        .filter(|signature| !signature.is_empty());
    let thought = part.thought.unwrap_or_default();
    let data = (
        part.text,
        part.inline_data,
        part.file_data,
        part.function_call,
        part.function_response,
    );
    match data {
        (None, None, None, Some(call), None) => read_call(call, signature, field),
        (None, None, None, None, Some(answer)) => read_answer(answer, field),
        (text, None, None, None, None) if thought => {
            let text = text.unwrap_or_default();
            let says = !text.is_empty() || signature.is_some();
            let thought = says.then_some(Part::Thinking { text, signature });
            Ok(ReadPart::Said(thought.into_iter().collect()))
        }
        (text, None, None, None, None) => {
            let text = text.filter(|text| !text.is_empty());
            Ok(said(text.map(Part::Text), signature))
        }
        (None, Some(blob), None, None, None) if !thought => Ok(said(
            Some(blob.part(&format!("{field}.inlineData"))?),
            signature,
        )),
        (None, None, Some(file), None, None) if !thought => Ok(said(
            Some(file.part(&format!("{field}.fileData"))?),
            signature,
        )),
        (_, _, _, None, None) => item(raw, field),
        _ => Err(misshapen(format!("{field} is several things at once"))),
    }
}

/// A signature is an empty thought after what it signs; the skip value is none.
fn said(part: Option<Part>, signature: Option<String>) -> ReadPart {
    let signature = signature.filter(|signature| signature != SKIP_SIGNATURE);
    let signing = signature.map(|signature| Part::Thinking {
        text: String::new(),
        signature: Some(signature),
    });
    ReadPart::Said(part.into_iter().chain(signing).collect())
}

fn item(raw: &RawValue, field: &str) -> Result<ReadPart, ParseError> {
    let item = JsonText::parse(raw.get()).map_err(|violation| unusable(field, &violation))?;
    let provider = Label::parse(PROVIDER).map_err(|violation| unusable(field, &violation))?;
    Ok(ReadPart::Said(vec![Part::ProviderItem { provider, item }]))
}

fn read_call(
    call: WireCall<'_>,
    signature: Option<String>,
    field: &str,
) -> Result<ReadPart, ParseError> {
    let field = format!("{field}.functionCall");
    if call.partial_args.is_some() || call.will_continue {
        return Err(ParseError::Unusable {
            field: format!("{field}.partialArgs"),
            reason: "comes in pieces: ask for whole arguments".to_owned(),
        });
    }
    let args = call.args.map_or("{}", RawValue::get);
    Ok(ReadPart::Call(ReadCall {
        id: call.id.filter(|id| !id.is_empty()),
        name: name(call.name, &field)?,
        input: JsonText::parse(args)
            .map_err(|violation| unusable(format!("{field}.args"), &violation))?,
        signature: match signature {
            Some(signature) if signature == SKIP_SIGNATURE => CallSignature::Skipped,
            Some(signature) => CallSignature::Own(signature),
            None => CallSignature::Absent,
        },
    }))
}

fn name(name: String, field: &str) -> Result<ToolName, ParseError> {
    ToolName::parse(name).map_err(|violation| unusable(format!("{field}.name"), &violation))
}

fn read_answer(answer: WireAnswer<'_>, field: &str) -> Result<ReadPart, ParseError> {
    let field = format!("{field}.functionResponse");
    let (mut output, outcome) = response(answer.response, &format!("{field}.response"))?;
    for (index, medium) in answer.parts.into_iter().enumerate() {
        let field = format!("{field}.parts[{index}]");
        let part = match (medium.inline_data, medium.file_data) {
            (Some(blob), None) => blob.part(&field)?,
            (None, Some(file)) => file.part(&field)?,
            _ => return Err(misshapen(format!("{field} is no content or file"))),
        };
        output = with_medium(output, part);
    }
    Ok(ReadPart::Answer(ReadAnswer {
        id: answer.id.filter(|id| !id.is_empty()),
        name: name(answer.name, &field)?,
        output,
        outcome,
    }))
}

/// What stands under `output` or `error`, where nothing stands beside it; otherwise the whole response is the output (G4).
fn response(
    response: Option<&RawValue>,
    field: &str,
) -> Result<(ToolOutput, ToolOutcome), ParseError> {
    let whole = response.map_or("{}", RawValue::get);
    let fields: BTreeMap<String, &RawValue> =
        serde_json::from_str(whole).map_err(|error| malformed(&error))?;
    let mut fields = fields.iter();
    let (json, outcome) = match (fields.next(), fields.next()) {
        (Some((name, output)), None) if name == "output" => (output.get(), ToolOutcome::Succeeded),
        (Some((name, error)), None) if name == "error" => (error.get(), ToolOutcome::Failed),
        _ => (whole, ToolOutcome::Succeeded),
    };
    Ok((output(json, field)?, outcome))
}

/// A JSON string is a text, any other document is one.
fn output(json: &str, field: &str) -> Result<ToolOutput, ParseError> {
    if let Ok(text) = serde_json::from_str::<String>(json) {
        return Ok(ToolOutput::Parts(vec![Part::Text(text)]));
    }
    let json = JsonText::parse(json).map_err(|violation| unusable(field, &violation))?;
    Ok(ToolOutput::Json(json))
}

/// A document with pictures is a text with pictures.
fn with_medium(output: ToolOutput, medium: Part) -> ToolOutput {
    let mut parts = match output {
        ToolOutput::Json(json) => vec![Part::Text(json.as_str().to_owned())],
        ToolOutput::Parts(parts) => parts,
    };
    parts.push(medium);
    ToolOutput::Parts(parts)
}
