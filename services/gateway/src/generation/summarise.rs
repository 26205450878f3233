//! Summaries of long histories, after a run: a background task asks the agent's model for one, and appends it.
//!
//! It may fail, or come too late: the next run tries again. Contexts need none.

use std::sync::Arc;

use context::{CONTEXT_KINDS, Policy};
use domain::bounds::SUMMARY_BYTES_MAX;
use domain::event::{HistorySummarised, MessageAppended, Role};
use domain::{CallPurpose, CommitId, Fact, Part, Position, Version};
use event_log::registry::ProviderLogs;
use formats::Reply;
use history::{Coverage, Direction, Newest, Query, Snapshot, Target, View, WindowBounds, decode};
use models::{ModelRequest, Piece};
use tonic_types::StatusExt as _;
use tracing::Instrument as _;
use uuid::Uuid;
use wire::proto::operate::v1::SummarySettings;
use wire::proto::write::v1 as write;
use wire::status::{Problem, Reason};

use super::ask::Asking;
use super::settings::ModelChoice;
use super::summary_boundary::{Due, Weighed, through};
use super::summary_room::{due_within, policy_for};
use super::{Generations, Making, RunKey, metrics};
use crate::assembly::bounds::CONTEXT_BYTES_MAX;
use crate::assembly::{self, Order};
use crate::policies::ReadyPolicy;
use crate::quotas::account::Account;
use crate::writer::ATTEMPT_MAX;

/// What the model is asked, as the user's message behind the history.
pub const REQUEST: &str = "Summarise our conversation so far for yourself, so that you can go on with it when you see \
    only the summary: who wants what, what was decided and why, names, numbers, open questions. Write only the summary.";
/// The events that a summary is weighed by.
const WEIGHED: WindowBounds = WindowBounds {
    events_max: 4_000,
    bytes_max: CONTEXT_BYTES_MAX,
};
/// Events that are read at first.
const EVENTS_LIKELY: usize = 512;
/// `tokens_kept` where the settings say nothing: this part of `tokens_min`.
const KEPT_PART: u64 = 4;

/// Why there is no summary: a short stable name, for metrics and logs.
#[derive(Debug, Clone, Copy)]
struct Failure(&'static str);

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self(problem.reason().as_str())
    }
}

/// Summarises the conversation in the background, if the agent's settings say so and it is due. `finished`: the commit that
/// finished the run.
pub(super) fn consider(generations: &Generations, making: &Making, finished: Option<Position>) {
    let agent = generations.gateway.registry.agent(&making.run.agent);
    let settings = agent.and_then(|agent| agent.settings?.summaries);
    let Some(settings) = settings else { return };
    let Ok(permit) = Arc::clone(&generations.summaries).try_acquire_owned() else {
        metrics::summary("no_place");
        return;
    };
    let task = Task {
        generations: generations.clone(),
        target: making.target(making.fence.max(finished)),
        account: making.account.clone(),
        run: making.run.clone(),
        logs: making.settings.logs,
        due: due(&settings),
        model: ModelChoice::of(settings.model.as_ref()),
        // The same for all who summarise after this run.
        commit: CommitId(Uuid::new_v5(&making.run.run.0, b"summary")),
    };
    let span = tracing::info_span!("gateway.history.summarise", run.id = %making.run.run);
    let timeout = generations.rules.run_timeout;
    let summarising = async move {
        let summarised = tokio::time::timeout(timeout, task.run()).await;
        match summarised.unwrap_or(Err(Failure("timed_out"))) {
            Ok(None) => {}
            Ok(Some(outcome)) => metrics::summary(outcome),
            Err(Failure(code)) => {
                metrics::summary(code);
                tracing::warn!(code, "a history could not be summarised");
            }
        }
        drop(permit);
    };
    generations
        .shutdown
        .spawn_cancellable(summarising.instrument(span));
}

fn due(settings: &SummarySettings) -> Due {
    Due {
        tokens_min: settings.tokens_min,
        tokens_kept: match settings.tokens_kept {
            0 => settings.tokens_min / KEPT_PART,
            kept => kept,
        },
    }
}

/// A summary that may be due.
struct Task {
    generations: Generations,
    target: Target,
    /// Whom the call counts against.
    account: Account,
    run: RunKey,
    logs: Option<ProviderLogs>,
    due: Due,
    model: ModelChoice,
    commit: CommitId,
}

impl Task {
    /// Makes the summary; what became of it; `None`: none is due.
    async fn run(self) -> Result<Option<&'static str>, Failure> {
        let (order, policy) = self.order().await?;
        let Some(through) = self.through(policy.as_ref()).await? else {
            return Ok(None);
        };
        let text = self.ask(through, order).await?;
        self.append(through, text).await.map(Some)
    }

    /// What the model is to read; with the policy, where it is not the agent's own.
    async fn order(&self) -> Result<(Order, Option<Policy>), Failure> {
        let models = &self.generations.models;
        let format = models.format(&self.model.server);
        let format = format.ok_or(Failure("model_server_unknown"))?;
        let tenant = &self.run.key.tenant;
        let allowed = self.generations.check_model_server(tenant, &self.model);
        allowed.map_err(|_| Failure("model_server_not_allowed"))?;
        let gateway = &self.generations.gateway;
        let order = Order::of_agent(gateway, &self.target, format).await?;
        let mut order = order.with_outputs(models.call_outputs(&self.model.server));
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

    /// Up to where a summary is due; with a policy: of as much as it has room for, or else of what it can have.
    async fn through(&self, policy: Option<&Policy>) -> Result<Option<Version>, Failure> {
        let gateway = &self.generations.gateway;
        let query = Query {
            kinds: &CONTEXT_KINDS,
            ..Query::all(Direction::Backward)
        };
        let first = Newest::first_batch(WEIGHED, EVENTS_LIKELY);
        let opened = Snapshot::open_with(&gateway.reader, &self.target, &query, first);
        let (snapshot, first) = opened.await?;
        let effective = snapshot.effective(snapshot.position().version).await?;
        let cursor = snapshot.cursor_from(query, View::Effective(&effective), first);
        let mut newest = Newest::read(cursor, WEIGHED, EVENTS_LIKELY).await?;
        let latest = snapshot.head().and_then(|head| head.latest_summary);
        let after = latest.map_or(Version::ZERO, |latest| latest.through);
        let has_all = newest.oldest().is_some_and(|oldest| oldest <= after.next());
        if newest.coverage() == Coverage::Partial && !has_all {
            newest.read_older().await?;
        }
        let mut weighed = Vec::with_capacity(newest.len());
        let since = newest.newest_first();
        for row in since.take_while(|row| row.version > after) {
            weighed.push(Weighed::of(&decode(&self.target.key, row)?));
        }
        let within = policy.and_then(|policy| {
            let due = due_within(policy, self.due, &weighed);
            through(&weighed, due)
        });
        Ok(within.or_else(|| through(&weighed, self.due)))
    }

    /// What the model says of the history up to a version.
    async fn ask(&self, through: Version, mut order: Order) -> Result<String, Failure> {
        let gateway = &self.generations.gateway;
        order.at = Some(through);
        let made = assembly::make_with(gateway, &self.target, &order, &[request()]).await?;
        let log = &self.generations.call_log;
        let listener = log.listener(self.logs, &self.run, &self.model, CallPurpose::Summary);
        let request = ModelRequest {
            model: self.model.model.clone(),
            body: made.body,
            tools: Vec::new(),
            max_output_tokens: self.model.output_tokens_max,
            temperature: self.model.temperature,
            names: made.names,
            listener,
            ..ModelRequest::default()
        };
        let asking = Asking {
            account: &self.account,
            model: &self.model,
            purpose: CallPurpose::Summary,
        };
        let reply = self.generations.ask(asking, request).await;
        let mut reply = reply.map_err(|error| Failure(error.code()))?;
        loop {
            match reply.next().await {
                Some(Ok(Piece::Delta(_))) => {}
                Some(Ok(Piece::Finished(reply))) => return text(&reply),
                Some(Err(error)) => return Err(Failure(error.code())),
                None => return Err(Failure("model_reply_broken")),
            }
        }
    }

    async fn append(&self, through: Version, text: String) -> Result<&'static str, Failure> {
        let summarised = HistorySummarised {
            through,
            text,
            model: self.model.label(),
            previous: None,
        };
        let request = write::AppendEventsRequest {
            target: Some(write::CommandTarget {
                agent_id: self.target.access.agent.as_str().to_owned(),
                conversation_id: self.target.key.conversation.as_str().to_owned(),
                idempotency_key: self.commit.to_string(),
                expected_version: None,
            }),
            events: vec![wire::event::of_fact(&Fact::from(summarised))],
        };
        let mut writer = self.generations.writer.write(ATTEMPT_MAX);
        match writer.append_events(request).await {
            Ok(_) => Ok("made"),
            Err(status) => {
                let info = status.get_details_error_info();
                let stale = info.is_some_and(|info| info.reason == Reason::SummaryStale.as_str());
                if stale {
                    Ok("outrun")
                } else {
                    Err(Failure("not_appended"))
                }
            }
        }
    }
}

fn request() -> Fact {
    Fact::MessageAppended(MessageAppended::said(
        Role::User,
        vec![Part::Text(REQUEST.to_owned())],
    ))
}

/// The reply's text, as far as a summary may be long.
fn text(reply: &Reply) -> Result<String, Failure> {
    let mut text = String::new();
    for fact in &reply.facts {
        if let Fact::MessageAppended(message) = fact {
            for part in &message.parts {
                if let Part::Text(said) = part {
                    text.push_str(said);
                }
            }
        }
    }
    if text.trim().is_empty() {
        return Err(Failure("summary_empty"));
    }
    text.truncate(text.floor_char_boundary(SUMMARY_BYTES_MAX));
    Ok(text)
}
