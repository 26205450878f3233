//! The one way to a model: within the quota of tokens, and counted however the call ends.

use domain::event::Usage;
use domain::{CallPurpose, Fact, RunEnd};
use formats::Delta;
use models::{ModelError, ModelRequest, Piece, ReplyPieces};
use wire::status::Problem;

use super::Generations;
use super::run_end::{of_model, of_problem};
use super::settings::ModelChoice;
use crate::quotas::account::Account;
use crate::quotas::metering::MeterPermit;
use crate::quotas::{Quotas, metrics};

/// Bytes of text that stand for one token where a server reports no tokens.
const BYTES_PER_TOKEN: usize = 4;

/// Why a model was not asked, or does not answer.
#[derive(Debug)]
pub(super) enum AskError {
    /// The tokens of the day are used up, or the call cannot be metered.
    Quota(Problem),
    /// The model server.
    Model(ModelError),
}

/// Who asks a model, and for what.
#[derive(Debug)]
pub(super) struct Asking<'a> {
    pub(super) account: &'a Account,
    pub(super) model: &'a ModelChoice,
    pub(super) purpose: CallPurpose,
}

/// A reply in pieces that counts its tokens.
#[derive(Debug)]
pub(super) struct CountedReply {
    reply: ReplyPieces,
    count: TokenCount,
}

/// The tokens of one call. Dropped before the call's end is known, it counts what the bytes say.
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
    /// Asks a model. Comes back with the first piece at hand.
    ///
    /// # Errors
    /// [`AskError`].
    pub(super) async fn ask(
        &self,
        asking: Asking<'_>,
        mut request: ModelRequest,
    ) -> Result<CountedReply, AskError> {
        let Asking {
            account,
            model,
            purpose,
        } = asking;
        let within = self.quotas.check_tokens(account).await;
        within.map_err(AskError::Quota)?;
        let permit = self.quotas.reserve().map_err(AskError::Quota)?;
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
            Ok(reply) => Ok(CountedReply { reply, count }),
            Err(error) => {
                if !has_read(&error) {
                    count.permit = None;
                }
                Err(AskError::Model(error))
            }
        }
    }
}

impl CountedReply {
    /// The next piece; none after the last.
    ///
    /// # Errors
    /// [`ModelError`]; the reply ends with it.
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

impl AskError {
    /// The end of a run that could not ask.
    pub(super) fn end(&self) -> RunEnd {
        match self {
            Self::Quota(problem) => of_problem(problem),
            Self::Model(error) => of_model(error),
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
        match reported(facts) {
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
fn reported(facts: &[Fact]) -> Option<Usage> {
    let usages = facts.iter().filter_map(|fact| match fact {
        Fact::MessageAppended(message) => message.usage,
        Fact::ToolCalled(_) | Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => {
            None
        }
    });
    usages.reduce(|sum, usage| Usage {
        input_tokens: sum.input_tokens.saturating_add(usage.input_tokens),
        output_tokens: sum.output_tokens.saturating_add(usage.output_tokens),
        cached_tokens: sum.cached_tokens.saturating_add(usage.cached_tokens),
        reasoning_tokens: sum.reasoning_tokens.saturating_add(usage.reasoning_tokens),
    })
}

/// Whether a server that fails so may have read the request.
fn has_read(error: &ModelError) -> bool {
    match error {
        ModelError::UnknownServer
        | ModelError::Unusable { .. }
        | ModelError::Refused { .. }
        | ModelError::Unavailable { .. }
        | ModelError::BreakerOpen { .. }
        | ModelError::Overloaded { .. } => false,
        ModelError::Failed { .. }
        | ModelError::TimedOut { .. }
        | ModelError::Broken
        | ModelError::TooLarge { .. } => true,
    }
}

fn bytes_of(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) | Delta::Thinking(text) | Delta::Refusal(text) => text.len(),
        Delta::CallBegan { tool_name, .. } => tool_name.len(),
        Delta::CallInput { fragment, .. } => fragment.len(),
    }
}
