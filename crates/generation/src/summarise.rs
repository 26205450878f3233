//! Summaries of long histories: after a run, a background task calls the model of summaries and appends its text.
//!
//! The task may fail or lose a race; the task after the next run tries again. Contexts do not depend on summaries.

use std::sync::Arc;

use context::{CONTEXT_KINDS, Policy};
use domain::bounds::SUMMARY_BYTES_MAX;
use domain::event::{HistorySummarised, MessageAppended, Role};
use domain::{CallPurpose, CommitId, Fact, Part, Position, Version};
use history::{Bounds, Coverage, Direction, EffectiveHistory, Range, Target, decode};
use models::ModelRequest;
use registry::ProviderLogs;
use wire::proto::operate::v1::SummarySettings;
use wire::proto::write::v1 as write;
use wire::status::{Problem, Reason};

use super::background::{Failure, TaskKind};
use super::structured_answer::{text, whole};
use super::summary_boundary::{EventWeight, SummaryRule, boundary};
use super::summary_room::{policy_for, rule_within_room};
use super::{Generations, ModelChoice, RunKey, RunSpec, metrics};
use crate::assembly::{self, CONTEXT_BYTES_MAX, ContextRequest};
use crate::quotas::account::Account;
use record_access::policies::ReadyPolicy;
use record_access::writer::ATTEMPT_MAX;

/// The user's message that follows the history in the request to the model.
pub const REQUEST: &str = "Summarise our conversation so far for yourself, so that you can go on with it when you see \
    only the summary: who wants what, what was decided and why, names, numbers, open questions. Write only the summary.";
/// The bounds of the events that decide whether a summary is due.
const WINDOW: Bounds = Bounds { events_max: 4_000, bytes_max: CONTEXT_BYTES_MAX };
/// The number of events in the first read.
const EVENTS_LIKELY: usize = 512;
/// The default of `tokens_kept` is `tokens_min` divided by this.
const TOKENS_KEPT_DIVISOR: u64 = 4;

/// Summarises the conversation in the background, if the agent's settings ask for summaries and one is due. `finished` is the
/// position of the finishing commit of the run.
pub(super) fn start_if_due(generations: &Generations, spec: &RunSpec, finished: Option<Position>) {
    let agent = generations.gateway.registry.agent(&spec.run.agent);
    let settings = agent.and_then(|agent| agent.settings?.summaries);
    let Some(settings) = settings else { return };
    let task = Task {
        generations: generations.clone(),
        target: spec.target(spec.fence.max(finished)),
        account: spec.account.clone(),
        run: spec.run.clone(),
        logs: spec.settings.logs,
        rule: rule(&settings),
        model: ModelChoice::of(settings.model.as_ref()),
        // Equal for all summaries after this run: at most one is appended.
        commit: spec.run.run.commit(b"summary"),
    };
    let kind = TaskKind {
        places: &generations.summaries,
        span: tracing::info_span!("gateway.history.summarise", run.id = %spec.run.run),
        count: metrics::summary,
        failure_message: "a history could not be summarised",
    };
    generations.start_task(kind, task.run());
}

fn rule(settings: &SummarySettings) -> SummaryRule {
    SummaryRule {
        tokens_min: settings.tokens_min,
        tokens_kept: match settings.tokens_kept {
            0 => settings.tokens_min / TOKENS_KEPT_DIVISOR,
            tokens_kept => tokens_kept,
        },
    }
}

/// The task that writes a summary if one is due.
struct Task {
    generations: Generations,
    target: Target,
    /// The account that the model call counts against.
    account: Account,
    run: RunKey,
    logs: Option<ProviderLogs>,
    rule: SummaryRule,
    model: ModelChoice,
    commit: CommitId,
}

impl Task {
    /// Writes the summary. Returns the outcome for metrics; `None`: none is due.
    async fn run(self) -> Result<Option<&'static str>, Failure> {
        let (order, policy) = self.order().await?;
        let Some(through) = self.boundary(policy.as_ref()).await? else {
            return Ok(None);
        };
        let text = self.write(through, order).await?;
        self.append(through, text).await.map(Some)
    }

    /// The context request of the summary, and its policy if that is not the agent's own.
    async fn order(&self) -> Result<(ContextRequest, Option<Policy>), Failure> {
        let access = &self.target.access;
        let mut order = self.generations.task_request(access, &self.model).await?;
        let policy = policy_for(&order.policy.policy, &self.model.model);
        if let Some(policy) = &policy {
            order.policy = Arc::new(ReadyPolicy {
                policy: policy.clone(),
                digest: policy.digest(),
                rules: order.policy.rules.clone(),
            });
        }
        Ok((order, policy))
    }

    /// The last version of the new summary; `None`: none is due. With a policy, the summarised part fits its budget if
    /// possible.
    async fn boundary(&self, policy: Option<&Policy>) -> Result<Option<Version>, Failure> {
        let gateway = &self.generations.gateway;
        let range = Range { kinds: &CONTEXT_KINDS, ..Range::all(Direction::Backward) };
        let (reader, target) = (&gateway.reader, &self.target);
        let mut history = EffectiveHistory::open(reader, target, range, WINDOW, EVENTS_LIKELY).await?;
        let mut newest = history.newest().await?;
        let head = newest.snapshot().head();
        let latest = head.and_then(|head| head.latest_summary);
        let after = latest.map_or(Version::ZERO, |latest| latest.through);
        let has_all = newest.oldest().is_some_and(|oldest| oldest <= after.next());
        if newest.coverage() == Coverage::Partial && !has_all {
            newest.read_older().await?;
        }
        let mut events = Vec::with_capacity(newest.len());
        let since = newest.newest_first();
        for row in since.take_while(|row| row.version > after) {
            events.push(EventWeight::of(&decode(&self.target.key, row)?));
        }
        let within_room = policy.and_then(|policy| {
            let rule = rule_within_room(policy, self.rule, &events);
            boundary(&events, rule)
        });
        Ok(within_room.or_else(|| boundary(&events, self.rule)))
    }

    /// The model's summary of the history through a version.
    async fn write(&self, through: Version, mut order: ContextRequest) -> Result<String, Failure> {
        let gateway = &self.generations.gateway;
        order.at = Some(through);
        let made = assembly::assemble(gateway, &self.target, &order, &[request()]).await?;
        let log = &self.generations.call_log;
        let listener = log.listener(self.logs, &self.run, &self.model, CallPurpose::Summary);
        let request = ModelRequest { listener, ..self.model.request(made.into()) };
        let pieces = self
            .generations
            .call_model(&self.account, &self.model, CallPurpose::Summary, request)
            .await
            .map_err(|error| Failure(error.code()))?;
        let reply = whole(pieces).await;
        let facts = reply.map_err(|error| Failure(error.code()))?;
        summary_text(&facts)
    }

    async fn append(&self, through: Version, text: String) -> Result<&'static str, Failure> {
        let summarised = HistorySummarised { through, text, model: self.model.label(), previous: None };
        let request = write::AppendEventsRequest {
            target: Some(self.run.target(Some(self.commit))),
            events: vec![wire::event::fact_to_proto(&Fact::from(summarised))],
            ..write::AppendEventsRequest::default()
        };
        let mut writer = self.generations.writer.write(ATTEMPT_MAX);
        match writer.append_events(request).await {
            Ok(_) => Ok("made"),
            Err(status) => {
                let is_stale = Problem::from(status).reason() == Reason::SummaryStale;
                is_stale.then_some("outrun").ok_or(Failure("not_appended"))
            }
        }
    }
}

fn request() -> Fact {
    Fact::MessageAppended(MessageAppended::new(Role::User, vec![Part::Text(REQUEST.to_owned())]))
}

/// The reply's text, truncated to the maximum length of a summary.
fn summary_text(facts: &[Fact]) -> Result<String, Failure> {
    let mut text = text(facts);
    if text.trim().is_empty() {
        return Err(Failure("summary_empty"));
    }
    text.truncate(text.floor_char_boundary(SUMMARY_BYTES_MAX));
    Ok(text)
}
