//! Requests for contexts in a format.

use anyhow::Context as _;
use bytes::Bytes;
use formats::Format;
use hansard::client::Reader;
use wire::proto::read::v1::assemble_context_request::Policy;
use wire::proto::read::v1::{AssembleContextRequest, AssembleContextResponse, ReadTarget, Receipt};

/// The formats with their display names.
pub(super) const FORMATS: [(&str, Format); 6] = [
    ("canonical", Format::Canonical),
    ("OpenAI chat", Format::OpenAiChat),
    ("OpenAI Responses", Format::OpenAiResponses),
    ("Anthropic", Format::Anthropic),
    ("Gemini", Format::Gemini),
    ("Ollama", Format::Ollama),
];

#[derive(Debug, Clone, Copy)]
pub(super) struct ContextQuery {
    pub(super) format: Format,
    pub(super) policy: &'static str,
    /// Maximum messages; 0: as many as fit.
    pub(super) messages_max: u32,
}

pub(super) struct Assembled {
    pub(super) body: Bytes,
    pub(super) receipt: Receipt,
}

impl ContextQuery {
    /// The request for a conversation at a version; 0: the latest.
    pub(super) fn request(self, agent: &str, conversation: &str, version: u64) -> AssembleContextRequest {
        AssembleContextRequest {
            target: Some(ReadTarget {
                agent_id: agent.to_owned(),
                conversation_id: conversation.to_owned(),
                ..ReadTarget::default()
            }),
            messages_max: self.messages_max,
            at_version: version,
            format: self.format.number(),
            policy: Some(Policy::PolicyJson(self.policy.to_owned())),
            ..AssembleContextRequest::default()
        }
    }
}

/// Sends a request for a context. A reply without a body or receipt is an error.
pub(super) async fn assemble(reader: &mut Reader, request: AssembleContextRequest) -> anyhow::Result<Assembled> {
    let AssembleContextResponse { body, receipt, .. } = reader.assemble_context(request).await?.into_inner();
    anyhow::ensure!(!body.is_empty(), "a context without a body");
    Ok(Assembled { body, receipt: receipt.context("a context without a receipt")? })
}
