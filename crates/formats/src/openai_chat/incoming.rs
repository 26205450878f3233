//! The structures of parsed messages: of requests, of replies, and of streamed pieces. Every field may be missing.

use domain::{JsonText, Label, MediaSource, Part};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{FORMAT, PROVIDER};
use crate::chat::call_drafts::IncomingCall;
use crate::reply::ParseError;
use crate::values;

/// A message, or the addition of a streamed piece.
#[derive(Debug, Default, Deserialize)]
pub(super) struct IncomingMessage<'a> {
    pub(super) role: Option<String>,
    pub(super) name: Option<String>,
    /// A text, or a list of parts.
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    pub(super) refusal: Option<String>,
    /// Thoughts, in the field of most compatible servers.
    #[serde(borrow)]
    pub(super) reasoning_content: Option<&'a RawValue>,
    /// Thoughts, in the field of other servers.
    #[serde(borrow)]
    pub(super) reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) audio: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<Call<'a>>>,
    /// The single call of a message, in the format before `tool_calls`.
    #[serde(borrow)]
    pub(super) function_call: Option<Function<'a>>,
    pub(super) tool_call_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Call<'a> {
    pub(super) index: Option<usize>,
    pub(super) id: Option<String>,
    #[serde(borrow)]
    pub(super) function: Option<Function<'a>>,
    /// A call with free text instead of arguments.
    pub(super) custom: Option<Custom>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Function<'a> {
    pub(super) name: Option<String>,
    /// A JSON string; some servers write the object itself.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Custom {
    pub(super) name: Option<String>,
    pub(super) input: Option<String>,
}

impl Call<'_> {
    /// The call, with free text or with arguments.
    fn content(&self) -> IncomingCall<'_> {
        let call = match (&self.custom, &self.function) {
            (Some(custom), _) => IncomingCall {
                name: custom.name.as_deref().unwrap_or_default(),
                input: custom.input.clone().unwrap_or_default(),
                ..IncomingCall::default()
            },
            (None, Some(function)) => function.content(),
            (None, None) => IncomingCall::default(),
        };
        IncomingCall { number: self.index, id: self.id.as_deref().unwrap_or_default(), ..call }
    }
}

impl Function<'_> {
    fn content(&self) -> IncomingCall<'_> {
        IncomingCall {
            name: self.name.as_deref().unwrap_or_default(),
            input: self.arguments.map(values::unquoted).unwrap_or_default(),
            ..IncomingCall::default()
        }
    }
}

impl IncomingMessage<'_> {
    /// The thought, if it is a text.
    pub(super) fn thought(&self) -> Option<String> {
        let mut texts = [self.reasoning_content, self.reasoning]
            .into_iter()
            .flatten()
            .filter_map(|raw| serde_json::from_str::<String>(raw.get()).ok());
        texts.find(|text| !text.is_empty())
    }

    /// The calls, in both formats.
    pub(super) fn calls(&self) -> impl Iterator<Item = IncomingCall<'_>> {
        let calls = self.tool_calls.iter().flatten().map(Call::content);
        calls.chain(self.function_call.iter().map(Function::content))
    }

    /// The transcript of an audio message.
    pub(super) fn transcript(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Audio {
            transcript: Option<String>,
        }
        let audio: Audio = serde_json::from_str(self.audio?.get()).ok()?;
        audio.transcript
    }
}

#[derive(Deserialize)]
struct RawPart<'a> {
    #[serde(rename = "type")]
    part_type: Option<String>,
    text: Option<String>,
    refusal: Option<String>,
    #[serde(borrow)]
    image_url: Option<&'a RawValue>,
    file: Option<RawFile>,
}

#[derive(Deserialize)]
struct RawImage {
    url: String,
    detail: Option<String>,
}

#[derive(Deserialize)]
struct RawFile {
    file_id: Option<String>,
    file_data: Option<String>,
    filename: Option<String>,
}

/// The parts of a message. Empty texts are omitted.
pub(super) fn parts(content: Option<&RawValue>) -> Result<Vec<Part>, ParseError> {
    let Some(content) = content else {
        return Ok(Vec::new());
    };
    if content.get().starts_with('"') {
        let text: String = read(content)?;
        return Ok(Vec::from_iter(non_empty(text, Part::Text)));
    }
    let raw: Vec<&RawValue> = read(content)?;
    let parts = raw.into_iter().map(|raw| part(raw).transpose());
    parts.flatten().collect()
}

fn part(raw: &RawValue) -> Result<Option<Part>, ParseError> {
    let fields: RawPart<'_> = read(raw)?;
    let native = match fields.part_type.as_deref() {
        Some("text") => match fields.text {
            Some(text) => return Ok(non_empty(text, Part::Text)),
            None => None,
        },
        Some("refusal") => match fields.refusal {
            Some(text) => return Ok(non_empty(text, Part::Refusal)),
            None => None,
        },
        Some("image_url") => fields.image_url.map(image).transpose()?,
        Some("file") => fields.file.map(file).transpose()?.flatten(),
        Some(_) | None => None,
    };
    native.map_or_else(|| item(raw), Ok).map(Some)
}

fn non_empty(text: String, part: fn(String) -> Part) -> Option<Part> {
    (!text.is_empty()).then(|| part(text))
}

fn image(raw: &RawValue) -> Result<Part, ParseError> {
    let image = if raw.get().starts_with('"') { RawImage { url: read(raw)?, detail: None } } else { read(raw)? };
    Ok(Part::Image {
        media_type: media_type(&image.url),
        detail: values::label("content.image_url.detail", image.detail.as_deref())?,
        source: MediaSource::Url(image.url),
    })
}

/// `None` for a file without a source; it becomes a provider item.
fn file(file: RawFile) -> Result<Option<Part>, ParseError> {
    let filename = values::label("content.file.filename", file.filename.as_deref())?;
    let (media_type, source) = match (file.file_id, file.file_data) {
        (Some(id), _) => (None, MediaSource::FileId(id)),
        (None, Some(data)) if data.starts_with("data:") => (media_type(&data), MediaSource::Url(data)),
        (None, _) => return Ok(None),
    };
    Ok(Some(Part::File { source, media_type, filename }))
}

/// The text between `data:` and the first `;` or `,`.
fn media_type(url: &str) -> Option<Label> {
    let (media_type, _) = url.strip_prefix("data:")?.split_once([';', ','])?;
    Label::parse(media_type).ok()
}

/// A value without a canonical form, as a provider item.
pub(super) fn item(raw: &RawValue) -> Result<Part, ParseError> {
    let provider = values::label("provider", Some(PROVIDER))?;
    let item = JsonText::parse(raw.get()).map_err(|violation| ParseError::unusable("content", violation))?;
    match provider {
        Some(provider) => Ok(Part::ProviderItem { provider, item }),
        None => Ok(Part::Text(item.as_str().to_owned())),
    }
}

fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, ParseError> {
    serde_json::from_str(raw.get()).map_err(|error| values::malformed(FORMAT, &error))
}
