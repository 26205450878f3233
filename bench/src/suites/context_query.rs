//! Requests for contexts in a format.

use anyhow::Context as _;
use bytes::Bytes;
use hansard::client::Reader;
use wire::proto::read::v1::assemble_context_request::Policy;
use wire::proto::read::v1::{
    AssembleContextRequest, AssembleContextResponse, ContextFormat, ReadTarget, Receipt,
};

use crate::target::Target;

/// The formats with their display names.
pub(super) const FORMATS: [(&str, ContextFormat); 6] = [
    ("canonical", ContextFormat::Canonical),
    ("OpenAI chat", ContextFormat::OpenaiChat),
    ("OpenAI Responses", ContextFormat::OpenaiResponses),
    ("Anthropic", ContextFormat::Anthropic),
    ("Gemini", ContextFormat::Gemini),
    ("Ollama", ContextFormat::Ollama),
];

/// The parameters of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContextQuery {
    /// The format.
    pub(super) format: ContextFormat,
    /// The policy, as JSON.
    pub(super) policy: &'static str,
    /// Maximum messages; 0: as many as fit.
    pub(super) messages_max: u32,
}

/// An assembled context.
#[derive(Debug)]
pub(super) struct Assembled {
    /// The body.
    pub(super) body: Bytes,
    /// The receipt.
    pub(super) receipt: Receipt,
}

impl ContextQuery {
    /// The request for a conversation at a version; 0: the latest.
    pub(super) fn request(
        self,
        target: &Target,
        conversation: &str,
        version: u64,
    ) -> AssembleContextRequest {
        AssembleContextRequest {
            target: Some(ReadTarget {
                agent_id: target.agent.clone(),
                conversation_id: conversation.to_owned(),
                ..ReadTarget::default()
            }),
            messages_max: self.messages_max,
            at_version: version,
            format: self.format.into(),
            policy: Some(Policy::PolicyJson(self.policy.to_owned())),
            ..AssembleContextRequest::default()
        }
    }
}

/// Sends a request for a context.
///
/// # Errors
/// The request fails, or the reply has no body or receipt.
pub(super) async fn assemble(
    reader: &mut Reader,
    request: AssembleContextRequest,
) -> anyhow::Result<Assembled> {
    let AssembleContextResponse { body, receipt, .. } =
        reader.assemble_context(request).await?.into_inner();
    anyhow::ensure!(!body.is_empty(), "a context without a body");
    Ok(Assembled {
        body,
        receipt: receipt.context("a context without a receipt")?,
    })
}
