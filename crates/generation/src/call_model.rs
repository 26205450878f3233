//! Calls a model: checks the token quota first and counts the tokens, however the call ends. All calls go through here.

use domain::event::{Usage, UsageSource};
use domain::{CallPurpose, Fact, RunEnd};
use formats::{Delta, Tool};
use models::{ModelError, ModelRequest, Piece, ReplyPieces};
use wire::status::Problem;

use super::run_end::{from_model_error, from_problem};
use super::{Generations, ModelChoice};
use crate::quotas::account::Account;
use crate::quotas::counted_usage::{CallSize, CountSource, counted_usage};
use crate::quotas::metering::MeterPermit;
use crate::quotas::{Quotas, metrics};

/// Why a model was not called, or does not answer.
#[derive(Debug)]
pub(super) enum CallError {
    /// The tokens of the day are used, or the call cannot be metered.
    Quota(Problem),
    Model(ModelError),
}

/// A streamed reply that counts its tokens.
#[derive(Debug)]
pub(super) struct MeteredReply {
    reply: ReplyPieces,
    count: TokenCount,
}

/// The tokens of one call. If it is dropped before the end of the call, it counts an estimate from the bytes.
#[derive(Debug)]
struct TokenCount {
    quotas: Quotas,
    account: Account,
    server: String,
    model: String,
    purpose: CallPurpose,
    size: CallSize,
    /// None once the call is counted.
    permit: Option<MeterPermit>,
}

impl Generations {
    /// Calls a model. Returns when the first piece of the reply has arrived.
    ///
    /// # Errors
    /// [`CallError`].
    pub(super) async fn call_model(
        &self,
        account: &Account,
        model: &ModelChoice,
        purpose: CallPurpose,
        mut request: ModelRequest,
    ) -> Result<MeteredReply, CallError> {
        self.quotas.check_tokens(account).await.map_err(CallError::Quota)?;
        let permit = self.quotas.reserve().map_err(CallError::Quota)?;
        request.tenant.clone_from(&account.consumer.tenant);
        let mut count = TokenCount {
            quotas: self.quotas.clone(),
            account: account.clone(),
            server: model.server.clone(),
            model: model.model.clone(),
            purpose,
            size: size_of(&request),
            permit: Some(permit),
        };
        match self.models.stream(&model.server, request).await {
            Ok(reply) => Ok(MeteredReply { reply, count }),
            Err(error) => {
                if !may_have_read(&error) {
                    count.permit = None;
                }
                Err(CallError::Model(error))
            }
        }
    }
}

impl MeteredReply {
    /// The next piece; `None` after the last.
    ///
    /// # Errors
    /// [`ModelError`]; it ends the reply.
    pub(super) async fn next(&mut self) -> Option<Result<Piece, ModelError>> {
        let mut piece = self.reply.next().await;
        match &mut piece {
            Some(Ok(Piece::Delta(delta))) => self.count.size.reply_bytes += bytes_of(delta),
            Some(Ok(Piece::Finished(reply))) => self.count.finish(&mut reply.facts),
            Some(Err(_)) | None => {}
        }
        piece
    }
}

impl CallError {
    /// The end of a run whose call failed.
    pub(super) fn end(&self) -> RunEnd {
        match self {
            Self::Quota(problem) => from_problem(problem),
            Self::Model(error) => from_model_error(error),
        }
    }

    /// A short stable name.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Quota(problem) => problem.reason().as_str(),
            Self::Model(error) => error.code(),
        }
    }
}

impl TokenCount {
    /// Counts the tokens of a complete reply. An implausible usage in it is replaced by the counted one.
    fn finish(&mut self, facts: &mut [Fact]) {
        let reported = Usage::reported(facts);
        let (usage, source) = counted_usage(&self.size, reported);
        if let (CountSource::Implausible, Some(reported)) = (source, reported) {
            tracing::warn!(
                model.server = self.server,
                model.name = self.model,
                tokens.input = reported.input_tokens,
                tokens.cached = reported.cached_tokens,
                tokens.output = reported.output_tokens,
                tokens.reasoning = reported.reasoning_tokens,
                "the model server reports more tokens than can be true: the estimate is recorded"
            );
            replace_usage(facts, usage);
        }
        self.count(&usage, source);
    }

    fn count(&mut self, usage: &Usage, source: CountSource) {
        let Some(permit) = self.permit.take() else {
            return;
        };
        self.quotas.spend(&self.account, usage, permit);
        metrics::spent(usage, source);
        let consumer = &self.account.consumer;
        tracing::info!(
            tenant.id = consumer.tenant,
            agent.id = consumer.agent,
            api_key.id = consumer.key,
            owner.digest = consumer.owner,
            model.server = self.server,
            model.name = self.model,
            purpose = ?self.purpose,
            tokens.input = usage.input_tokens,
            tokens.output = usage.output_tokens,
            tokens.source = source.as_str(),
            request.bytes = self.size.request_bytes,
            reply.bytes = self.size.reply_bytes,
            "model call"
        );
    }
}

impl Drop for TokenCount {
    fn drop(&mut self) {
        if self.permit.is_some() {
            let (usage, source) = counted_usage(&self.size, None);
            self.count(&usage, source);
        }
    }
}

/// Records the estimate, and marks it. A reply has one message.
fn replace_usage(facts: &mut [Fact], usage: Usage) {
    for fact in facts {
        if let Fact::MessageAppended(message) = fact {
            message.usage = Some(usage);
            message.usage_source = UsageSource::Estimated;
        }
    }
}

/// The size of a call before its reply.
fn size_of(request: &ModelRequest) -> CallSize {
    let tool = |tool: &Tool| tool.name.as_str().len() + tool.description.len() + tool.input_schema.as_str().len();
    let tools = request.tools.iter().map(tool);
    let schemas = request.output_schema.iter().chain(&request.options.response_format);
    let added = tools.chain(schemas.map(|schema| schema.as_str().len()));
    CallSize {
        request_bytes: request.body.len() + added.sum::<usize>(),
        media_parts: request.media_parts,
        output_tokens_max: request.max_output_tokens,
        reply_bytes: 0,
    }
}

/// Whether the server may have read the request before this error.
fn may_have_read(error: &ModelError) -> bool {
    match error {
        ModelError::UnknownServer
        | ModelError::Unusable { .. }
        | ModelError::Refused { .. }
        | ModelError::Unavailable { .. }
        | ModelError::BreakerOpen { .. }
        | ModelError::Overloaded { .. } => false,
        ModelError::Failed { .. } | ModelError::TimedOut { .. } | ModelError::Broken | ModelError::TooLarge { .. } => {
            true
        }
    }
}

fn bytes_of(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) | Delta::Thinking(text) | Delta::Refusal(text) => text.len(),
        Delta::CallBegan { tool_name, .. } => tool_name.len(),
        Delta::CallInput { fragment, .. } => fragment.len(),
    }
}
