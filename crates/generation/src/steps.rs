//! The steps of a run: assemble the context, call the model, publish its answer, post its tool calls; then the next step.

use std::time::Duration;

use backoff::Backoff;
use domain::{CallPurpose, Fact, RunEnd, RunOutcome, RunPart, RunPartKind};
use models::{ModelError, ModelRequest, Piece};
use runs::{FoldError, RunFold};
use tonic::Code;
use wire::status::Problem;

use super::call_model::MeteredReply;
use super::publisher::{Closed, PartSender};
use super::run_end::{end_with, fail_with, from_model_error, from_problem};
use super::run_parts::{self, RunSize};
use super::settings::Webhook;
use super::structured_answer::structured_answer;
use super::tool_calls::CallEvent;
use super::webhooks::PostContext;
use super::{Generations, RunSpec, request_settings, tool_calls, unusable_calls};
use crate::assembly::{self, ModelContext};
use history::{Deadline, Target};

/// Maximum number of retries of a context while a dependency is unavailable.
const CONTEXT_RETRIES_MAX: usize = 6;
/// First wait between two attempts.
const WAIT_BASE: Duration = Duration::from_millis(50);
/// Maximum wait between two attempts.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Why a step ends early.
enum Halt {
    /// The publisher has stopped.
    Closed,
    Ended(RunEnd),
}

impl From<Closed> for Halt {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

/// The state of a run between its steps.
struct Steps<'a> {
    generations: &'a Generations,
    spec: &'a RunSpec,
    part_sender: &'a PartSender,
    target: Target,
    fold: RunFold,
    size: RunSize,
}

/// Executes the steps of a run. Returns its end, which is not published yet.
///
/// # Errors
/// [`Closed`]: the publisher has stopped.
pub(super) async fn run_steps(
    generations: &Generations,
    spec: &RunSpec,
    part_sender: &PartSender,
) -> Result<RunEnd, Closed> {
    let mut run = Steps {
        generations,
        spec,
        part_sender,
        target: spec.target(spec.fence),
        fold: RunFold::new(spec.started.clone()),
        size: RunSize::default(),
    };
    match run.steps().await {
        Ok(()) => Ok(end_with(RunOutcome::Completed)),
        Err(Halt::Ended(end)) => Ok(end),
        Err(Halt::Closed) => Err(Closed),
    }
}

impl Steps<'_> {
    async fn steps(&mut self) -> Result<(), Halt> {
        self.post_approved().await?;
        for _ in 0..self.spec.settings.model.steps_max {
            let context = self.context().await?;
            let Some(calls) = self.step(context).await? else {
                break;
            };
            if !self.post_unattended(calls).await? {
                break;
            }
        }
        Ok(())
    }

    /// The context of the next step: the conversation, or the messages of the request, and the facts of the run so far.
    async fn context(&mut self) -> Result<ModelContext, Halt> {
        let mut backoff = Backoff::bounded(WAIT_BASE, WAIT_MAX, CONTEXT_RETRIES_MAX);
        loop {
            match self.try_context().await {
                Ok(context) => return Ok(context),
                Err(problem) if problem.reason().code() == Code::Unavailable && backoff.wait().await => {}
                Err(problem) => return Err(Halt::Ended(from_problem(&problem))),
            }
        }
    }

    async fn try_context(&mut self) -> Result<ModelContext, Problem> {
        self.target.deadline = Deadline::until(None);
        let (access, model) = (&self.spec.account.access, &self.spec.settings.model);
        let mut request = self.generations.context_request(access, model).await?;
        if let Some(given) = &self.spec.request {
            request.instructions.clone_from(&given.instructions);
        }
        let settled = self.fold.finished_facts();
        let gateway = &self.generations.gateway;
        if let Some(history) = &self.spec.history {
            let facts = history.iter().chain(settled).cloned().collect();
            return assembly::assemble_given(gateway, access.tenant.tenant(), &request, facts).await;
        }
        Ok(assembly::assemble(gateway, &self.target, &request, settled).await?.into())
    }

    /// Calls the model and publishes its answer. Returns the tool calls that can be executed; `None`: the model made no calls.
    async fn step(&mut self, context: ModelContext) -> Result<Option<Vec<CallEvent>>, Halt> {
        let model = &self.spec.settings.model;
        let logs = self.spec.settings.logs;
        let log = &self.generations.call_log;
        let listener = log.listener(logs, &self.spec.run, model, CallPurpose::Answer);
        let own = ModelRequest { tools: self.spec.settings.tools.clone(), listener, ..model.request(context) };
        let request = match &self.spec.request {
            Some(given) => request_settings::complete(given, own),
            None => own,
        };
        let facts = self.answer(request).await?;
        let offset = self.fold.finished_facts().len();
        let calls = tool_calls::from_step(&self.spec.run, &facts, offset);
        let has_calls = !calls.is_empty();
        let (calls, failed) = match &self.spec.request {
            // The caller executes the tools of its request.
            Some(_) => (calls, Vec::new()),
            None => unusable_calls::split(calls, &facts, &self.spec.settings.tools),
        };
        self.publish(RunPartKind::StepFinished(facts)).await?;
        for result in failed {
            self.publish(RunPartKind::ToolReturned(result)).await?;
        }
        Ok(has_calls.then_some(calls))
    }

    /// The facts of the model's answer. Its deltas are published, unless the answer must match a schema.
    async fn answer(&mut self, request: ModelRequest) -> Result<Vec<Fact>, Halt> {
        let (generations, account) = (self.generations, &self.spec.account);
        let settings = &self.spec.settings;
        let model = &settings.model;
        if let Some(schema) = &settings.output_schema {
            let facts = structured_answer(generations, account, model, &request, schema).await;
            return facts.map_err(Halt::Ended);
        }
        let mut reply = generations
            .call_model(account, model, CallPurpose::Answer, request)
            .await
            .map_err(|error| Halt::Ended(error.end()))?;
        self.stream(&mut reply).await
    }

    /// Publishes the deltas of a reply. Returns the facts of the complete reply.
    async fn stream(&mut self, reply: &mut MeteredReply) -> Result<Vec<Fact>, Halt> {
        loop {
            match reply.next().await {
                Some(Ok(Piece::Delta(delta))) => {
                    let kinds = run_parts::parts_from_delta(delta)
                        .map_err(|_| Halt::Ended(from_model_error(&ModelError::Broken)))?;
                    for kind in kinds {
                        self.publish(kind).await?;
                    }
                }
                Some(Ok(Piece::Finished(reply))) => return Ok(reply.facts),
                Some(Err(error)) => return Err(Halt::Ended(from_model_error(&error))),
                None => return Err(Halt::Ended(from_model_error(&ModelError::Broken))),
            }
        }
    }

    /// Posts the calls that a person has approved to their webhooks.
    async fn post_approved(&mut self) -> Result<(), Halt> {
        let approved = &self.spec.approved_calls;
        let open = tool_calls::read_open(&self.generations.gateway, &self.target, approved)
            .await
            .map_err(|problem| Halt::Ended(from_problem(&problem)))?;
        let settings = &self.spec.settings;
        let calls = open.into_iter().filter_map(|event| {
            let webhook = settings.webhook_of_approved(&event.call.tool_name)?;
            Some((event, webhook.clone()))
        });
        self.post(calls.collect()).await
    }

    /// Posts the calls that need no approval to their webhooks. Returns whether these are all calls.
    async fn post_unattended(&mut self, calls: Vec<CallEvent>) -> Result<bool, Halt> {
        let settings = &self.spec.settings;
        let count = calls.len();
        let posted: Vec<_> = calls
            .into_iter()
            .filter_map(|event| {
                let webhook = settings.webhook_without_approval(&event.call.tool_name)?;
                Some((event, webhook.clone()))
            })
            .collect();
        let is_all = posted.len() == count;
        self.post(posted).await?;
        Ok(is_all)
    }

    async fn post(&mut self, calls: Vec<(CallEvent, Webhook)>) -> Result<(), Halt> {
        let gateway = &self.generations.gateway;
        let (now, run, registry) = (gateway.now(), &self.spec.run, &gateway.registry);
        let context = PostContext {
            run,
            user: self.spec.verified_user.as_ref(),
            keys: registry.webhook_keys(&run.agent, now),
            now,
        };
        let results = self.generations.webhooks.post_all(&context, &calls);
        for result in results.await {
            self.publish(RunPartKind::ToolReturned(result)).await?;
        }
        Ok(())
    }

    /// Publishes a part, unless the run becomes larger than what can be recorded.
    async fn publish(&mut self, kind: RunPartKind) -> Result<(), Halt> {
        let part = RunPart { number: self.fold.next_number(), kind };
        if let Err(error) = self.size.add(&part.kind) {
            return Err(Halt::Ended(fail_with("run_too_large", &error.to_string())));
        }
        if let Err(error) = self.fold.absorb(&part) {
            let error_type = match error {
                FoldError::TooLarge { .. } => "run_too_large",
                FoldError::Gap { .. } | FoldError::AfterEnd { .. } | FoldError::Malformed { .. } => {
                    "model_reply_broken"
                }
            };
            return Err(Halt::Ended(fail_with(error_type, &error.to_string())));
        }
        Ok(self.part_sender.send(part.kind).await?)
    }
}
