//! The steps of a run: the context goes to the model, its answer becomes parts, webhooks answer its calls, and again.

use std::time::Duration;

use domain::{CallPurpose, Fact, RunEnd, RunOutcome, RunPart, RunPartKind, Timestamp};
use formats::Names;
use models::{ModelError, ModelRequest, Piece};
use runs::{FoldError, RunFold};
use runtime::backoff::Backoff;
use runtime::clock::Clock;
use tonic::Code;
use wire::status::Problem;

use super::ask::{Asking, CountedReply};
use super::calls::Called;
use super::pieces::{self, Weight};
use super::publisher::{Closed, Outlet};
use super::run_end::{ended, failed, of_model, of_problem};
use super::settings::Webhook;
use super::tools::Poster;
use super::{Generations, Making, calls};
use crate::assembly::{self, Order, listed};
use history::Deadline;
use history::Target;

/// Most times that a context is asked for again while a dependency is away.
const CONTEXT_RETRIES_MAX: usize = 6;
/// The first wait before it is asked for again.
const WAIT_BASE: Duration = Duration::from_millis(50);
/// The longest wait before it is asked for again.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Why a step is not made to its end.
enum Halt {
    /// Nobody publishes parts any more.
    Closed,
    /// The run ends.
    Ended(RunEnd),
}

impl From<Closed> for Halt {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

/// A run while it is made.
pub(super) struct Steps<'a> {
    generations: &'a Generations,
    making: &'a Making,
    outlet: &'a Outlet,
    target: Target,
    fold: RunFold,
    weight: Weight,
}

impl<'a> Steps<'a> {
    pub(super) fn new(
        generations: &'a Generations,
        making: &'a Making,
        outlet: &'a Outlet,
    ) -> Self {
        Self {
            generations,
            making,
            outlet,
            target: making.target(making.fence),
            fold: RunFold::new(making.started.clone()),
            weight: Weight::default(),
        }
    }

    /// Makes the run; its end, which is not published yet.
    ///
    /// # Errors
    /// [`Closed`]: nobody publishes its parts any more.
    pub(super) async fn run(mut self) -> Result<RunEnd, Closed> {
        match self.steps().await {
            Ok(()) => Ok(ended(RunOutcome::Completed)),
            Err(Halt::Ended(end)) => Ok(end),
            Err(Halt::Closed) => Err(Closed),
        }
    }

    async fn steps(&mut self) -> Result<(), Halt> {
        self.answer_approved().await?;
        for _ in 0..self.making.settings.model.steps_max {
            let (body, names) = self.context().await?;
            let called = self.step(body, names).await?;
            if called.is_empty() || !self.answer(called).await? {
                break;
            }
        }
        Ok(())
    }

    /// The context of the next step: the conversation as it stands, or what was given in its place, and what the run has come
    /// to.
    async fn context(&mut self) -> Result<(Vec<u8>, Names), Halt> {
        let mut backoff = Backoff::bounded(WAIT_BASE, WAIT_MAX, CONTEXT_RETRIES_MAX);
        loop {
            match self.try_context().await {
                Ok(context) => return Ok(context),
                Err(problem)
                    if problem.reason().code() == Code::Unavailable && backoff.wait().await => {}
                Err(problem) => return Err(Halt::Ended(of_problem(&problem))),
            }
        }
    }

    async fn try_context(&mut self) -> Result<(Vec<u8>, Names), Problem> {
        let gateway = &self.generations.gateway;
        self.target.deadline = Deadline::until(None);
        let (models, server) = (&self.generations.models, &self.making.settings.model.server);
        let format = models.format(server);
        let format = format.unwrap_or(formats::Format::Canonical);
        let outputs = models.call_outputs(server);
        let settled = self.fold.settled();
        if let Some(given) = &self.making.given {
            let given = given.iter().cloned().map(Fact::MessageAppended);
            let facts = given.chain(settled.iter().cloned()).collect();
            return listed::make(gateway, &self.making.access, (format, outputs), facts).await;
        }
        let order = Order::of_agent(gateway, &self.target, format).await?;
        let order = order.with_outputs(outputs);
        let made = assembly::make_with(gateway, &self.target, &order, settled).await?;
        Ok((made.body, made.names))
    }

    /// Asks the model; its calls.
    async fn step(&mut self, body: Vec<u8>, names: Names) -> Result<Vec<Called>, Halt> {
        let model = &self.making.settings.model;
        let logs = self.making.settings.logs;
        let log = &self.generations.call_log;
        let listener = log.listener(logs, &self.making.run, model, CallPurpose::Answer);
        let request = ModelRequest {
            model: model.model.clone(),
            body,
            tools: self.making.settings.tools.clone(),
            max_output_tokens: model.output_tokens_max,
            temperature: model.temperature,
            names,
            listener,
            ..ModelRequest::default()
        };
        let asking = Asking {
            account: &self.making.account,
            model,
            purpose: CallPurpose::Answer,
        };
        let reply = self.generations.ask(asking, request).await;
        let mut reply = reply.map_err(|error| Halt::Ended(error.end()))?;
        let facts = self.stream(&mut reply).await?;
        let before = self.fold.settled().len();
        let called = calls::of_step(&self.making.run, &facts, before);
        self.publish(RunPartKind::StepFinished(facts)).await?;
        Ok(called)
    }

    /// Publishes what the model streams; the facts of its whole reply.
    async fn stream(&mut self, reply: &mut CountedReply) -> Result<Vec<Fact>, Halt> {
        loop {
            match reply.next().await {
                Some(Ok(Piece::Delta(delta))) => {
                    let kinds = pieces::of_delta(delta);
                    let kinds = kinds.map_err(|_| Halt::Ended(of_model(&ModelError::Broken)))?;
                    for kind in kinds {
                        self.publish(kind).await?;
                    }
                }
                Some(Ok(Piece::Finished(reply))) => return Ok(reply.facts),
                Some(Err(error)) => return Err(Halt::Ended(of_model(&error))),
                None => return Err(Halt::Ended(of_model(&ModelError::Broken))),
            }
        }
    }

    /// Runs the calls that a person has approved.
    async fn answer_approved(&mut self) -> Result<(), Halt> {
        let approved = &self.making.approved;
        let open = calls::open(&self.generations.gateway, &self.target, approved).await;
        let open = open.map_err(|problem| Halt::Ended(of_problem(&problem)))?;
        let settings = &self.making.settings;
        let posted = open.into_iter().filter_map(|called| {
            let webhook = settings.answering_approved(&called.call.tool_name)?;
            Some((called, webhook.clone()))
        });
        self.post(posted.collect()).await
    }

    /// Runs the calls that nobody must approve; whether these are all.
    async fn answer(&mut self, called: Vec<Called>) -> Result<bool, Halt> {
        let settings = &self.making.settings;
        let all = called.len();
        let posted = called.into_iter().filter_map(|called| {
            let webhook = settings.answering(&called.call.tool_name)?;
            Some((called, webhook.clone()))
        });
        let posted: Vec<_> = posted.collect();
        let answers_all = posted.len() == all;
        self.post(posted).await?;
        Ok(answers_all)
    }

    async fn post(&mut self, calls: Vec<(Called, Webhook)>) -> Result<(), Halt> {
        let now = Timestamp(Clock::System.now_nanos());
        let (run, registry) = (&self.making.run, &self.generations.gateway.registry);
        let poster = Poster {
            run,
            user: self.making.verified_user.as_ref(),
            keys: registry.webhook_keys(&run.agent, now),
            now,
        };
        let results = self.generations.webhooks.answers(&poster, &calls);
        for result in results.await {
            self.publish(RunPartKind::ToolReturned(result)).await?;
        }
        Ok(())
    }

    /// Publishes a piece, unless the run would come to more than can be recorded.
    async fn publish(&mut self, kind: RunPartKind) -> Result<(), Halt> {
        let part = RunPart {
            number: self.fold.next_number(),
            kind,
        };
        if let Err(fault) = self.weight.add(&part.kind) {
            return Err(Halt::Ended(failed("run_too_large", &fault.to_string())));
        }
        if let Err(fault) = self.fold.absorb(&part) {
            let error_type = match fault {
                FoldError::TooLarge { .. } => "run_too_large",
                FoldError::Gap { .. }
                | FoldError::AfterEnd { .. }
                | FoldError::Malformed { .. } => "model_reply_broken",
            };
            return Err(Halt::Ended(failed(error_type, &fault.to_string())));
        }
        Ok(self.outlet.send(part.kind).await?)
    }
}
