//! The structures of a reply, or of a piece of one.

use domain::event::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ParseError;
use crate::values::{self, Count};

/// A `GenerateContentResponse`, or a piece of one.
#[derive(Debug, Deserialize)]
#[expect(clippy::struct_field_names, reason = "`response_id` is the provider's name")]
#[serde(rename_all = "camelCase")]
pub(super) struct Response<'a> {
    #[serde(borrow, default)]
    pub(super) candidates: Vec<Candidate<'a>>,
    prompt_feedback: Option<PromptFeedback>,
    #[serde(default, deserialize_with = "values::optional")]
    pub(super) usage_metadata: Option<UsageMetadata>,
    pub(super) model_version: Option<String>,
    pub(super) response_id: Option<String>,
    error: Option<ErrorBody>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    pub(super) finish_reason: Option<String>,
    #[serde(default)]
    pub(super) index: u32,
}

#[derive(Debug, Deserialize)]
pub(super) struct Content<'a> {
    #[serde(borrow, default)]
    pub(super) parts: Vec<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
    block_reason_message: Option<String>,
}

/// Token counts of all pieces up to this one.
#[derive(Debug, Default, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names are the provider's own")]
#[serde(rename_all = "camelCase", default)]
pub(super) struct UsageMetadata {
    prompt_token_count: Option<Count>,
    tool_use_prompt_token_count: Option<Count>,
    candidates_token_count: Option<Count>,
    thoughts_token_count: Option<Count>,
    cached_content_token_count: Option<Count>,
}

#[derive(Debug, Deserialize)]
struct ErrorBody {
    code: Option<i64>,
    #[serde(default)]
    message: String,
    status: Option<String>,
}

impl Response<'_> {
    /// Returns the error of the provider, or of a blocked prompt.
    pub(super) fn check_failure(&self) -> Result<(), ParseError> {
        if let Some(error) = &self.error {
            let code = error.code.map(|code| code.to_string());
            let named = error.status.clone().filter(|status| !status.is_empty());
            return Err(ParseError::Failed {
                error_type: named.or(code).unwrap_or_else(|| "UNKNOWN".to_owned()),
                message: error.message.clone(),
            });
        }
        let feedback = self.prompt_feedback.as_ref();
        let blocked = feedback.and_then(|feedback| feedback.block_reason.clone());
        match blocked {
            Some(error_type) if self.candidates.is_empty() => Err(ParseError::Failed {
                error_type,
                message: feedback.and_then(|feedback| feedback.block_reason_message.clone()).unwrap_or_default(),
            }),
            _ => Ok(()),
        }
    }
}

impl UsageMetadata {
    pub(super) fn usage(&self) -> Usage {
        let count = Count::or_zero;
        let thoughts = count(self.thoughts_token_count);
        Usage {
            input_tokens: count(self.prompt_token_count).saturating_add(count(self.tool_use_prompt_token_count)),
            output_tokens: count(self.candidates_token_count).saturating_add(thoughts),
            cached_tokens: count(self.cached_content_token_count),
            reasoning_tokens: thoughts,
        }
    }
}
