//! Calls a model: checks the token quota first and counts the tokens, however the call ends. All calls go through here.

use domain::event::Usage;
use domain::{CallPurpose, Fact, RunEnd};
use formats::Delta;
use models::{ModelError, ModelRequest, Piece, ReplyPieces};
use wire::status::Problem;

use super::run_end::{from_model_error, from_problem};
use super::{Generations, ModelChoice};
use crate::quotas::account::Account;
use crate::quotas::metering::MeterPermit;
use crate::quotas::{Quotas, metrics};

/// Bytes of text per token, for the estimate where a server reports no tokens.
const BYTES_PER_TOKEN: usize = 4;

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
    request_bytes: usize,
    reply_bytes: usize,
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
            request_bytes: request.body.len(),
            reply_bytes: 0,
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
        let piece = self.reply.next().await;
        match &piece {
            Some(Ok(Piece::Delta(delta))) => self.count.reply_bytes += bytes_of(delta),
            Some(Ok(Piece::Finished(reply))) => self.count.finish(&reply.facts),
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
    fn finish(&mut self, facts: &[Fact]) {
        match reported_usage(facts) {
            Some(usage) => self.count(&usage, true),
            None => self.count(&self.estimate(), false),
        }
    }

    fn estimate(&self) -> Usage {
        let tokens = |bytes: usize| u64::try_from(bytes.div_ceil(BYTES_PER_TOKEN));
        Usage {
            input_tokens: tokens(self.request_bytes).unwrap_or(u64::MAX),
            output_tokens: tokens(self.reply_bytes).unwrap_or(u64::MAX),
            ..Usage::default()
        }
    }

    fn count(&mut self, usage: &Usage, is_reported: bool) {
        let Some(permit) = self.permit.take() else {
            return;
        };
        self.quotas.spend(&self.account, usage, permit);
        metrics::spent(usage, is_reported);
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
            tokens.reported = is_reported,
            request.bytes = self.request_bytes,
            reply.bytes = self.reply_bytes,
            "model call"
        );
    }
}

impl Drop for TokenCount {
    fn drop(&mut self) {
        if self.permit.is_some() {
            let estimate = self.estimate();
            self.count(&estimate, false);
        }
    }
}

/// The tokens that a reply reports; `None`: it reports none.
#[must_use]
pub fn reported_usage(facts: &[Fact]) -> Option<Usage> {
    let usages = facts.iter().filter_map(|fact| match fact {
        Fact::MessageAppended(message) => message.usage,
        Fact::ToolCalled(_) | Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => None,
    });
    usages.reduce(|sum, usage| Usage {
        input_tokens: sum.input_tokens.saturating_add(usage.input_tokens),
        output_tokens: sum.output_tokens.saturating_add(usage.output_tokens),
        cached_tokens: sum.cached_tokens.saturating_add(usage.cached_tokens),
        reasoning_tokens: sum.reasoning_tokens.saturating_add(usage.reasoning_tokens),
    })
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
