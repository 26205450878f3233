//! Parses replies of Anthropic into facts.

use domain::Fact;
use domain::event::{MessageAppended, Role, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::reply::{ParseError, Reply};
use crate::values::{self, Count};

use super::errors::{malformed, provider, read_bytes};
use super::parse;

/// Maximum bytes of a reply, whole or in all its pieces.
pub const REPLY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Parses a whole reply: the message, then its calls.
///
/// The list of citations of a text becomes a provider item after the text. Blocks of the provider's own tools become such
/// items, too. `input_tokens` of [`Usage`] includes tokens that were read from the cache and written to it.
///
/// # Errors
/// [`ParseError::Failed`] for an error; [`ParseError::Malformed`] if the body is not a reply; [`ParseError::Unusable`] if an
/// id, a name or a document exceeds a bound, or the reply exceeds [`REPLY_BYTES_MAX`].
pub fn parse_reply(body: &[u8]) -> Result<Reply, ParseError> {
    check_size(body.len())?;
    let whole: Whole<'_> = read_bytes(body)?;
    if let Some(failure) = whole.error {
        return Err(failure.into());
    }
    let content = whole.content.ok_or_else(|| malformed("the reply has no content"))?;
    let head = Head { id: whole.id, model: whole.model, stop_reason: whole.stop_reason, usage: whole.usage };
    facts(&head, &content)
}

#[derive(Deserialize)]
struct Whole<'a> {
    error: Option<Failure>,
    id: Option<String>,
    model: Option<String>,
    #[serde(borrow)]
    content: Option<Vec<&'a RawValue>>,
    stop_reason: Option<String>,
    #[serde(default, deserialize_with = "values::optional")]
    usage: Option<Tokens>,
}

/// The metadata of a reply.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Head {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) stop_reason: Option<String>,
    #[serde(default, deserialize_with = "values::optional")]
    pub(super) usage: Option<Tokens>,
}

/// Token counts of Anthropic. Tokens that were read from the cache, or written to it, are counted separately.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct Tokens {
    #[serde(rename = "input_tokens")]
    input: Option<Count>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_creation: Option<Count>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<Count>,
    #[serde(rename = "output_tokens")]
    output: Option<Count>,
}

impl Tokens {
    /// These counts; missing ones are taken from `earlier`.
    pub(super) fn or(self, earlier: Self) -> Self {
        Self {
            input: self.input.or(earlier.input),
            cache_creation: self.cache_creation.or(earlier.cache_creation),
            cache_read: self.cache_read.or(earlier.cache_read),
            output: self.output.or(earlier.output),
        }
    }

    fn usage(self) -> Usage {
        let read = Count::or_zero(self.cache_read);
        let created = Count::or_zero(self.cache_creation);
        let input = Count::or_zero(self.input);
        Usage {
            input_tokens: input.saturating_add(created).saturating_add(read),
            output_tokens: Count::or_zero(self.output),
            cached_tokens: read,
            reasoning_tokens: 0,
        }
    }
}

/// An error of Anthropic.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Failure {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<String>,
}

impl From<Failure> for ParseError {
    fn from(failure: Failure) -> Self {
        Self::Failed {
            error_type: failure.kind.unwrap_or_else(|| "error".to_owned()),
            message: failure.message.unwrap_or_default(),
        }
    }
}

/// The message, then its calls.
pub(super) fn facts(head: &Head, content: &[&RawValue]) -> Result<Reply, ParseError> {
    let content = parse::blocks(content, "content")?;
    let provider = Some(provider()?);
    let model = values::reported(head.model.as_deref());
    let provider_response_id = values::reported(head.id.as_deref());
    let mut facts = vec![Fact::MessageAppended(MessageAppended {
        model: model.clone(),
        provider: provider.clone(),
        provider_response_id: provider_response_id.clone(),
        finish_reason: values::finish_reason(head.stop_reason.as_deref()),
        usage: head.usage.map(Tokens::usage),
        ..MessageAppended::new(Role::Assistant, content.parts)
    })];
    for mut call in content.calls {
        call.model.clone_from(&model);
        call.provider.clone_from(&provider);
        call.provider_response_id.clone_from(&provider_response_id);
        facts.push(Fact::ToolCalled(call));
    }
    Ok(Reply { facts })
}

/// Checks the bound of a reply.
pub(super) fn check_size(bytes: usize) -> Result<(), ParseError> {
    if bytes <= REPLY_BYTES_MAX {
        return Ok(());
    }
    Err(ParseError::Unusable {
        field: "reply".into(),
        reason: format!("has {bytes} bytes so far, at most {REPLY_BYTES_MAX} are taken"),
    })
}
