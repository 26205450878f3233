//! Stateless turns: a model answers the caller's messages, in a context that the agent's policy assembles from them, alone or
//! after a conversation. Nothing is recorded: there is no run, and the caller answers the calls of its own tools. The turn ends
//! when the caller drops the stream.

use std::collections::VecDeque;

use domain::event::MessageAppended;
use domain::{CallPurpose, Fact, RunEnd, RunOutcome, RunPart, RunPartKind, Version};
use formats::RequestSettings;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream, unfold};
use history::Target;
use models::{ModelError, Piece};
use wire::status::Problem;

use super::call_model::MeteredReply;
use super::run_end::{end_with, from_model_error, log_failure};
use super::settings::RunSettings;
use super::structured_answer::structured_answer;
use super::{FollowItem, Generations, RunPermit, request_settings, run_parts};
use crate::assembly;
use crate::quotas::account::Account;

/// What a model answers without a record.
#[derive(Debug, Clone, Default)]
pub struct StatelessTurn {
    /// The history that the facts follow; `None`: none.
    pub after: Option<PreviousTurns>,
    /// Messages, calls and their results; oldest first.
    pub facts: Vec<Fact>,
    /// What the request sets.
    pub settings: RequestSettings,
}

/// A conversation up to a version.
#[derive(Debug, Clone)]
pub struct PreviousTurns {
    /// How to read the conversation.
    pub target: Target,
    /// The last version that the model reads.
    pub through: Version,
}

impl StatelessTurn {
    /// Messages without tools.
    #[must_use]
    pub fn of_messages(messages: Vec<MessageAppended>) -> Self {
        Self { facts: messages.into_iter().map(Fact::MessageAppended).collect(), ..Self::default() }
    }
}

impl Generations {
    /// A model's answer to the caller's messages, as the parts of a run that is not recorded. The model is called when the
    /// stream is polled for the first time.
    ///
    /// # Errors
    /// `runs_max` or a quota is reached, the model server does not have an option, or no context can be assembled from the
    /// messages. An error of the model is the error of the last part.
    pub async fn answer_stateless(
        &self,
        account: Account,
        turn: StatelessTurn,
    ) -> Result<BoxStream<'static, FollowItem>, Problem> {
        let permit = self.acquire(&account).await?;
        let access = &account.access;
        let RunSettings { mut model, output_schema, .. } = self.settings(access)?;
        request_settings::check(&turn.settings, &self.models, &model)?;
        request_settings::choose(&turn.settings, &mut model);
        let mut context = self.context_request(access, &model).await?;
        context.instructions.clone_from(&turn.settings.instructions);
        let assembled = match &turn.after {
            None => assembly::assemble_given(&self.gateway, access.tenant.tenant(), &context, turn.facts).await?,
            Some(PreviousTurns { target, through }) => {
                context.at = Some(*through);
                assembly::assemble(&self.gateway, target, &context, &turn.facts).await?.into()
            }
        };
        // The provider log keeps no stateless turns.
        let request = request_settings::complete(&turn.settings, model.request(assembled));
        let generations = self.clone();
        let answer = async move {
            if let Some(schema) = output_schema {
                let facts = structured_answer(&generations, &account, &model, &request, &schema).await;
                return whole_parts(facts, permit);
            }
            let reply = generations.call_model(&account, &model, CallPurpose::Answer, request).await;
            parts(reply.map_err(|error| error.end()), permit)
        };
        Ok(stream::once(answer).flatten().boxed())
    }
}

/// Turns a reply into numbered parts.
struct ReplyStream {
    reply: MeteredReply,
    queue: VecDeque<RunPartKind>,
    last_number: u64,
    is_over: bool,
    _permit: RunPermit,
}

/// The parts of an answer that is complete.
fn whole_parts(facts: Result<Vec<Fact>, RunEnd>, permit: RunPermit) -> BoxStream<'static, FollowItem> {
    let kinds = match facts {
        Ok(facts) => vec![RunPartKind::StepFinished(facts), RunPartKind::RunEnded(end_with(RunOutcome::Completed))],
        Err(end) => {
            log_failure(&end);
            vec![RunPartKind::RunEnded(end)]
        }
    };
    let parts = (1..).zip(kinds).map(move |(number, kind)| {
        let _held = &permit;
        FollowItem::Part(RunPart { number, kind })
    });
    stream::iter(parts).boxed()
}

fn parts(reply: Result<MeteredReply, RunEnd>, permit: RunPermit) -> BoxStream<'static, FollowItem> {
    let reply = match reply {
        Ok(reply) => reply,
        Err(end) => {
            log_failure(&end);
            let kind = RunPartKind::RunEnded(end);
            let part = FollowItem::Part(RunPart { number: 1, kind });
            return stream::once(async move { part }).boxed();
        }
    };
    let stream = ReplyStream { reply, queue: VecDeque::new(), last_number: 0, is_over: false, _permit: permit };
    let parts = unfold(stream, async |mut stream| {
        let kind = stream.next().await?;
        stream.last_number += 1;
        let number = stream.last_number;
        Some((FollowItem::Part(RunPart { number, kind }), stream))
    });
    parts.boxed()
}

impl ReplyStream {
    async fn next(&mut self) -> Option<RunPartKind> {
        loop {
            if let Some(kind) = self.queue.pop_front() {
                self.is_over = matches!(kind, RunPartKind::RunEnded(_));
                return Some(kind);
            }
            if self.is_over {
                return None;
            }
            match self.reply.next().await {
                Some(Ok(Piece::Delta(delta))) => match run_parts::parts_from_delta(delta) {
                    Ok(kinds) => self.queue.extend(kinds),
                    Err(_) => self.end(from_model_error(&ModelError::Broken)),
                },
                Some(Ok(Piece::Finished(reply))) => {
                    self.queue.push_back(RunPartKind::StepFinished(reply.facts));
                    self.end(end_with(RunOutcome::Completed));
                }
                Some(Err(error)) => self.end(from_model_error(&error)),
                None => self.end(from_model_error(&ModelError::Broken)),
            }
        }
    }

    fn end(&mut self, end: RunEnd) {
        log_failure(&end);
        self.queue.push_back(RunPartKind::RunEnded(end));
    }
}
