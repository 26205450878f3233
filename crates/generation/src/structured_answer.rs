//! Answers that must match the agent's JSON Schema. A reply is published only when it is complete and valid; an invalid one
//! is discarded, and the model is called once more.

use domain::event::MessageAppended;
use domain::{CallPurpose, Fact, JsonText, Part, RunEnd};
use models::{ModelError, ModelRequest, Piece};

use super::call_model::MeteredReply;
use super::run_end::{fail_with, from_model_error, from_problem};
use super::{Generations, ModelChoice};
use crate::quotas::account::Account;

/// Maximum number of replies for one answer.
const REPLIES_MAX: u32 = 2;
/// The error type of a run whose answer does not match the schema.
const OUTPUT_INVALID: &str = "output_invalid";

/// Calls the model until its reply calls tools or matches the schema. Every reply counts towards the quotas.
///
/// # Errors
/// The end of a run: the model failed, or no reply of [`REPLIES_MAX`] matched.
pub(super) async fn structured_answer(
    generations: &Generations,
    account: &Account,
    model: &ModelChoice,
    request: &ModelRequest,
    schema: &JsonText,
) -> Result<Vec<Fact>, RunEnd> {
    for _ in 0..REPLIES_MAX {
        let request = ModelRequest { output_schema: Some(schema.clone()), ..request.clone() };
        let reply = generations.call_model(account, model, CallPurpose::Answer, request).await;
        let facts = whole(reply.map_err(|error| error.end())?).await.map_err(|error| from_model_error(&error))?;
        let tenant = account.access.tenant.tenant();
        if calls_tools(&facts) {
            return Ok(facts);
        }
        let is_accepted = generations.output_schemas.accepts(tenant, schema, &text(&facts)).await;
        if is_accepted.map_err(|problem| from_problem(&problem))? {
            return Ok(facts);
        }
    }
    let message = format!("{REPLIES_MAX} replies of the model do not match the agent's output schema");
    Err(fail_with(OUTPUT_INVALID, &message))
}

/// The facts of a reply, when it is complete.
///
/// # Errors
/// The model failed.
pub(super) async fn whole(mut reply: MeteredReply) -> Result<Vec<Fact>, ModelError> {
    loop {
        match reply.next().await {
            Some(Ok(Piece::Delta(_))) => {}
            Some(Ok(Piece::Finished(reply))) => return Ok(reply.facts),
            Some(Err(error)) => return Err(error),
            None => return Err(ModelError::Broken),
        }
    }
}

/// The texts of the messages, joined.
pub(super) fn text(facts: &[Fact]) -> String {
    let texts = |message: &MessageAppended| {
        let texts = message.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Refusal(_)
            | Part::Thinking { .. }
            | Part::RedactedThinking(_)
            | Part::Image { .. }
            | Part::File { .. }
            | Part::ProviderItem { .. } => None,
        });
        texts.collect::<String>()
    };
    let messages = facts.iter().filter_map(|fact| match fact {
        Fact::MessageAppended(message) => Some(texts(message)),
        Fact::ToolCalled(_) | Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => None,
    });
    messages.collect()
}

fn calls_tools(facts: &[Fact]) -> bool {
    facts.iter().any(|fact| matches!(fact, Fact::ToolCalled(_)))
}
