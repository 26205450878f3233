//! Contexts in a form, as callers ask for them.

use anyhow::Context as _;
use bytes::Bytes;
use hansard::client::Reader;
use wire::proto::read::v1::assemble_context_request::Policy;
use wire::proto::read::v1::{
    AssembleContextRequest, AssembleContextResponse, ContextFormat, ReadTarget, Receipt,
};

use crate::target::Target;

/// The forms, by the names of their providers.
pub(super) const FORMS: [(&str, ContextFormat); 6] = [
    ("canonical", ContextFormat::Canonical),
    ("OpenAI chat", ContextFormat::OpenaiChat),
    ("OpenAI Responses", ContextFormat::OpenaiResponses),
    ("Anthropic", ContextFormat::Anthropic),
    ("Gemini", ContextFormat::Gemini),
    ("Ollama", ContextFormat::Ollama),
];

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask {
    /// The form.
    pub(super) form: ContextFormat,
    /// The policy, as JSON.
    pub(super) policy: &'static str,
    /// Most messages; 0: as many as there is room for.
    pub(super) messages_max: u32,
}

/// A context that was answered.
#[derive(Debug)]
pub(super) struct Answered {
    /// The body.
    pub(super) body: Bytes,
    /// The receipt.
    pub(super) receipt: Receipt,
}

impl Ask {
    /// The request for a conversation at a version; 0: the newest.
    pub(super) fn of(
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
            format: self.form.into(),
            policy: Some(Policy::PolicyJson(self.policy.to_owned())),
            ..AssembleContextRequest::default()
        }
    }
}

/// Sends a request for a context in a form.
///
/// # Errors
/// It fails, or answers no such context.
pub(super) async fn answer(
    reader: &mut Reader,
    request: AssembleContextRequest,
) -> anyhow::Result<Answered> {
    let AssembleContextResponse { body, receipt, .. } =
        reader.assemble_context(request).await?.into_inner();
    anyhow::ensure!(!body.is_empty(), "a context without a body");
    Ok(Answered {
        body,
        receipt: receipt.context("a context without a receipt")?,
    })
}
