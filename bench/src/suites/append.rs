//! Acknowledged commits, compared with raw publishes of the same messages with the same concurrency.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use domain::{ConversationId, ConversationKey, TenantId};
use hansard::client::{AppendStream, Failure, Service, Writer};
use wire::proto::write::v1::AppendEventsRequest;
use wire::proto::write::v1::append_stream_request::Command;

use crate::Plan;
use crate::baseline::{Baselines, Committed, Inserts};
use crate::cpu::CpuTotals;
use crate::latency::Measure;
use crate::pace::{ClosedLoop, pick};
use crate::report::{Comparison, Round, Threshold, Verdict};
use crate::rounds::{alone, alternate_bases, median, median_ratio};
use crate::setup::{self, Fill};
use crate::target::Target;
use crate::watch::caught_up;

pub(super) const TITLE: &str = "acknowledged commits by unary calls";
pub(super) const STREAM_TITLE: &str = "acknowledged commits by streams";
const THROUGHPUT: Threshold = Threshold::AtLeast(0.65);
/// Throughput / commits to Postgres alone.
const OF_INSERTS: Threshold = Threshold::AtLeast(1.0);
/// The maximum catch-up time at the end of the load of a projector that keeps up.
const KEEPS_UP_MS: Threshold = Threshold::AtMost(1_000.0);
/// Earlier commits, so that the head has its maximum size.
const COMMITS_BEFORE: usize = 10;

trait Transport: Clone + Send + Sync + 'static {
    fn open(service: &Service, window: usize) -> Self;

    fn append(&self, request: AppendEventsRequest) -> impl Future<Output = Result<(), Failure>> + Send;
}

impl Transport for Writer {
    fn open(service: &Service, _window: usize) -> Self {
        service.writer()
    }

    async fn append(&self, request: AppendEventsRequest) -> Result<(), Failure> {
        self.clone().append_events(request).await?;
        Ok(())
    }
}

impl Transport for AppendStream {
    fn open(service: &Service, window: usize) -> Self {
        Self::to(service, window)
    }

    async fn append(&self, request: AppendEventsRequest) -> Result<(), Failure> {
        self.send(Command::AppendEvents(request)).await?;
        Ok(())
    }
}

/// The name of commits to Postgres alone in the report.
const INSERTS: &str = "postgres insert";

pub(super) async fn unary(plan: &Plan, target: &Target) -> anyhow::Result<Vec<Comparison>> {
    let mut comparisons = Vec::new();
    for in_flight in &plan.in_flight {
        comparisons.push(unary_of(plan, target, *in_flight).await?);
    }
    Ok(comparisons)
}

async fn unary_of(plan: &Plan, target: &Target, in_flight: usize) -> anyhow::Result<Comparison> {
    let load = Load::<Writer>::prepare(&format!("unary-{in_flight}"), plan, in_flight, target).await?;
    let inserts = match &target.baselines {
        Some(baselines) => Some(baselines.inserts(in_flight, load.per_worker).await?),
        None => None,
    };
    let measured = measure(&load, inserts.as_ref()).await;
    if let Some(inserts) = inserts {
        inserts.remove_tables().await?;
    }
    let title = TITLE.to_owned();
    Ok(Comparison { title, ..measured? })
}

pub(super) async fn stream(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    let load = Load::<AppendStream>::prepare("stream", plan, plan.in_flight_max(), target);
    measure(&load.await?, None).await
}

/// The throughput of streams, without a baseline.
pub(super) async fn stream_alone(plan: &Plan, target: &Target) -> anyhow::Result<f64> {
    let load = Load::<AppendStream>::prepare("alone", plan, plan.in_flight_max(), target);
    Ok(load.await?.measure().await?.per_second)
}

async fn measure<D: Transport>(load: &Load<'_, D>, inserts: Option<&Inserts>) -> anyhow::Result<Comparison> {
    let mut catching_up = Duration::ZERO;
    let mut cpu = CpuTotals::default();
    let rounds = match &load.target.baselines {
        None => alone(load.plan.rounds, || load.measure()).await?,
        Some(baselines) => {
            baselines.publisher.make_streams().await?;
            let rounds = against(load, baselines, inserts, &mut catching_up, &mut cpu).await;
            baselines.publisher.remove_streams().await;
            rounds?
        }
    };
    Ok(Comparison {
        title: STREAM_TITLE.to_owned(),
        load: load.description(),
        unit: "commits",
        base: "raw publishes",
        beside: inserts.map(|_| INSERTS),
        system: "hansard",
        verdicts: verdicts(&rounds, catching_up),
        cpu: cpu.per_call(),
        rounds,
        ..Comparison::default()
    })
}

/// Alternates with the baselines; `catching_up` becomes the longest time until the rows had a round's commits, `cpu` the
/// processor time of the rounds.
async fn against<D: Transport>(
    load: &Load<'_, D>,
    baselines: &Baselines,
    inserts: Option<&Inserts>,
    catching_up: &mut Duration,
    cpu: &mut CpuTotals,
) -> anyhow::Result<Vec<Round>> {
    let payload = load.recorded(baselines).await?;
    let committed = load.committed(baselines).await?;
    let nats = &baselines.publisher;
    let bases = async || {
        let beside = match inserts {
            Some(inserts) => Some(inserts.commit(load.closed, committed.clone()).await?),
            None => None,
        };
        let published = nats.publish(load.closed, load.per_worker, payload.clone());
        Ok((Some(published.await?), beside))
    };
    let system = async || {
        let meter = load.target.cpu.as_ref();
        let measure = cpu.measure(meter, load.measure()).await?;
        *catching_up = caught_up(baselines).await?.max(*catching_up);
        Ok(measure)
    };
    alternate_bases(load.plan.rounds, bases, system).await
}

fn verdicts(rounds: &[Round], catching_up: Duration) -> Vec<Verdict> {
    let Some(ratio) = median_ratio(rounds, |measure| measure.per_second) else {
        return Vec::new();
    };
    let of_inserts = rounds.iter().filter_map(|round| Some(round.system.per_second / round.beside?.per_second));
    let of_inserts = median(of_inserts.collect());
    let behind_ms = catching_up.as_secs_f64() * 1_000.0;
    let verdicts = [
        Some(Verdict::of("throughput / raw publishes", ratio, THROUGHPUT)),
        of_inserts.map(|ratio| Verdict::of("throughput / Postgres", ratio, OF_INSERTS)),
        Some(Verdict::of("catch-up of the rows, ms", behind_ms, KEEPS_UP_MS)),
    ];
    verdicts.into_iter().flatten().collect()
}

struct Load<'a, D> {
    target: &'a Target,
    plan: &'a Plan,
    transports: Arc<[D]>,
    conversations: Arc<[String]>,
    per_worker: usize,
    closed: ClosedLoop,
}

impl<'a, D: Transport> Load<'a, D> {
    async fn prepare(name: &str, plan: &'a Plan, in_flight: usize, target: &'a Target) -> anyhow::Result<Self> {
        let per_worker = plan.conversations.div_ceil(in_flight);
        let fill = Fill {
            name,
            conversations: per_worker * in_flight,
            messages: 0,
            per_commit: setup::IMPORT,
            event_bytes: plan.event_bytes,
        };
        let conversations = setup::conversations(target, fill).await?;
        let transports = target.writers.iter().map(|writer| D::open(writer, in_flight));
        Ok(Self {
            target,
            plan,
            transports: transports.collect(),
            conversations,
            per_worker,
            closed: plan.closed_loop(in_flight),
        })
    }

    fn description(&self) -> String {
        let plan = self.plan;
        format!(
            "{} in flight over {} connections, {} events of {} bytes per commit, {} conversations",
            self.closed.in_flight,
            plan.writers,
            plan.events_per_commit,
            plan.event_bytes,
            self.conversations.len(),
        )
    }

    /// Each worker has its own conversations, so appends do not conflict.
    async fn measure(&self) -> anyhow::Result<Measure> {
        let per_worker = self.per_worker;
        let (events, bytes) = (self.plan.events_per_commit, self.plan.event_bytes);
        let messages = setup::messages(events, bytes);
        let template = Arc::new(setup::append(self.target, "", messages));
        let (transports, conversations) = (&self.transports, &self.conversations);
        let shared = (Arc::clone(transports), Arc::clone(conversations), template);
        self.closed
            .measure(shared, move |(clients, ids, template), call| async move {
                let index = call.worker * per_worker + call.count % per_worker;
                let request = setup::from_template(&template, pick(&ids, index)?);
                Ok(pick(&clients, call.worker)?.append(request).await?)
            })
            .await
    }

    /// The events of a commit for Postgres alone; call it after [`Load::recorded`].
    async fn committed(&self, baselines: &Baselines) -> anyhow::Result<Committed> {
        let conversation = self.conversations.first().context("no conversation")?;
        Ok(Committed {
            events: i64::try_from(self.plan.events_per_commit)?,
            body: baselines.rows.newest_event(conversation).await?,
        })
    }

    /// A message of the record as this load creates it, for the raw publishes.
    async fn recorded(&self, baselines: &Baselines) -> anyhow::Result<Bytes> {
        let transport = self.transports.first().context("no writer")?;
        let conversation = self.conversations.first().context("no conversation")?;
        for _ in 0..COMMITS_BEFORE {
            let events = setup::messages(self.plan.events_per_commit, self.plan.event_bytes);
            let request = setup::append(self.target, conversation, events);
            transport.append(request).await?;
        }
        caught_up(baselines).await?;
        let tenant = baselines.rows.tenant_of(conversation).await?;
        let key = ConversationKey {
            tenant: TenantId::parse(tenant)?,
            conversation: ConversationId::parse(conversation.as_str())?,
        };
        let last = baselines.record.last_from_leader(&key).await?;
        Ok(last.context("no commit")?.message)
    }
}
