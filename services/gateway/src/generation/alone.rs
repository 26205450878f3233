//! Turns that nobody keeps: a model answers messages that a caller gives, in the context that the agent's policy makes of
//! them. No run, no tools; who stops listening ends it.

use domain::event::MessageAppended;
use domain::{CallPurpose, Fact, RunEnd, RunOutcome, RunPart, RunPartKind};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream, unfold};
use models::{ModelError, ModelRequest, Piece};
use wire::status::Problem;

use super::ask::{Asking, CountedReply};
use super::run_end::{ended, of_model, tell_failure};
use super::{Followed, Generations, RunPlace, pieces};
use crate::assembly::listed;
use crate::quotas::account::Account;

impl Generations {
    /// A model's answer to a caller's messages alone, as the parts of a run that is recorded nowhere. The model is asked once the first of
    /// them is waited for, however long it takes to begin.
    ///
    /// # Errors
    /// There is no place left, or no context can be made of the messages. What the model fails with is the end's error.
    pub async fn answer_alone(
        &self,
        account: Account,
        messages: Vec<MessageAppended>,
    ) -> Result<BoxStream<'static, Followed>, Problem> {
        let place = self.place(&account).await?;
        let access = &account.access;
        let model = self.settings(access)?.model;
        let format = self.models.format(&model.server);
        let format = format.unwrap_or(formats::Format::Canonical);
        let facts = messages.into_iter().map(Fact::MessageAppended).collect();
        let form = (format, self.models.call_outputs(&model.server));
        let (body, names) = listed::make(&self.gateway, access, form, facts).await?;
        let request = ModelRequest {
            model: model.model.clone(),
            body,
            tools: Vec::new(),
            max_output_tokens: model.output_tokens_max,
            temperature: model.temperature,
            names,
            // Nobody keeps such a turn: nor does the log.
            ..ModelRequest::default()
        };
        let generations = self.clone();
        let answering = async move {
            let asking = Asking {
                account: &account,
                model: &model,
                purpose: CallPurpose::Answer,
            };
            let reply = generations.ask(asking, request).await;
            parts(reply.map_err(|error| error.end()), place)
        };
        Ok(stream::once(answering).flatten().boxed())
    }
}

/// A reply as it comes.
struct Coming {
    reply: CountedReply,
    waiting: std::collections::VecDeque<RunPartKind>,
    last: u64,
    is_over: bool,
    _place: RunPlace,
}

fn parts(reply: Result<CountedReply, RunEnd>, place: RunPlace) -> BoxStream<'static, Followed> {
    let reply = match reply {
        Ok(reply) => reply,
        Err(end) => {
            tell_failure(&end);
            let kind = RunPartKind::RunEnded(end);
            let part = Followed::Part(RunPart { number: 1, kind });
            return stream::once(async move { part }).boxed();
        }
    };
    let coming = Coming {
        reply,
        waiting: std::collections::VecDeque::new(),
        last: 0,
        is_over: false,
        _place: place,
    };
    let told = unfold(coming, async |mut coming| {
        let kind = coming.next().await?;
        coming.last += 1;
        let number = coming.last;
        Some((Followed::Part(RunPart { number, kind }), coming))
    });
    told.boxed()
}

impl Coming {
    async fn next(&mut self) -> Option<RunPartKind> {
        loop {
            if let Some(kind) = self.waiting.pop_front() {
                self.is_over = matches!(kind, RunPartKind::RunEnded(_));
                return Some(kind);
            }
            if self.is_over {
                return None;
            }
            match self.reply.next().await {
                Some(Ok(Piece::Delta(delta))) => match pieces::of_delta(delta) {
                    Ok(kinds) => self.waiting.extend(kinds),
                    Err(_) => self.end(of_model(&ModelError::Broken)),
                },
                Some(Ok(Piece::Finished(reply))) => {
                    self.waiting
                        .push_back(RunPartKind::StepFinished(reply.facts));
                    self.end(ended(RunOutcome::Completed));
                }
                Some(Err(error)) => self.end(of_model(&error)),
                None => self.end(of_model(&ModelError::Broken)),
            }
        }
    }

    fn end(&mut self, end: RunEnd) {
        tell_failure(&end);
        self.waiting.push_back(RunPartKind::RunEnded(end));
    }
}
