//! Acknowledged commits, against raw publishes of the same messages with as many on their way.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use domain::{ConversationId, ConversationKey, TenantId};
use wire::proto::write::v1::AppendEventsRequest;
use wire::proto::write::v1::append_stream_request::Command;

use crate::bench::floor::Floors;
use crate::bench::latency::Measure;
use crate::bench::pace::{Closed, closed_loop};
use crate::bench::report::{Comparison, Threshold, Verdict};
use crate::bench::rounds::{alone, alternate, median_ratio};
use crate::bench::setup::{self, Fill};
use crate::bench::target::Target;
use crate::bench::watch::caught_up;
use crate::bench::{Plan, WARM_UP};
use crate::client::{AppendStream, Failure, Service, Writer};

pub(super) const STREAM_TITLE: &str = "acknowledged commits by streams";
/// Of the raw publishes' throughput.
const THROUGHPUT: Threshold = Threshold::AtLeast(0.65);
/// A projector that keeps up has this little left to do when the load ends.
const KEEPS_UP_MS: Threshold = Threshold::AtMost(1_000.0);
/// Commits that are made first, so that heads are as large as they get.
const COMMITS_BEFORE: usize = 10;

/// How one command is sent.
trait Door: Clone + Send + Sync + 'static {
    fn open(service: &Service, window: usize) -> Self;

    fn append(
        &self,
        request: AppendEventsRequest,
    ) -> impl Future<Output = Result<(), Failure>> + Send;
}

impl Door for Writer {
    fn open(service: &Service, _window: usize) -> Self {
        service.writer()
    }

    async fn append(&self, request: AppendEventsRequest) -> Result<(), Failure> {
        self.clone().append_events(request).await?;
        Ok(())
    }
}

impl Door for AppendStream {
    fn open(service: &Service, window: usize) -> Self {
        Self::to(service, window)
    }

    async fn append(&self, request: AppendEventsRequest) -> Result<(), Failure> {
        self.send(Command::AppendEvents(request)).await?;
        Ok(())
    }
}

pub(super) async fn unary(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    measure::<Writer>(
        "unary",
        super::title(crate::bench::Suite::Unary),
        plan,
        target,
    )
    .await
}

pub(super) async fn stream(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    measure::<AppendStream>("stream", STREAM_TITLE, plan, target).await
}

/// What streams reach, without a floor beside them.
pub(super) async fn stream_alone(plan: &Plan, target: &Target) -> anyhow::Result<f64> {
    let load = Load::<AppendStream>::prepare("alone", plan, target).await?;
    Ok(load.turn().await?.per_second)
}

async fn measure<D: Door>(
    name: &'static str,
    title: &str,
    plan: &Plan,
    target: &Target,
) -> anyhow::Result<Comparison> {
    let load = Load::<D>::prepare(name, plan, target).await?;
    let mut catching_up = Duration::ZERO;
    let rounds = match &target.floors {
        None => alone(plan.rounds, || load.turn()).await?,
        Some(floors) => {
            let payload = load.recorded(floors).await?;
            floors.publisher.make_streams().await?;
            let base = || {
                floors
                    .publisher
                    .publish(load.closed, load.per_worker, payload.clone())
            };
            let rounds = alternate(plan.rounds, base, async || {
                let measure = load.turn().await?;
                catching_up = catching_up.max(caught_up(floors).await?);
                Ok(measure)
            })
            .await;
            floors.publisher.remove_streams().await;
            rounds?
        }
    };
    let ratio = median_ratio(&rounds, |measure| measure.per_second);
    let mut verdicts = Vec::new();
    if let Some(ratio) = ratio {
        verdicts.push(Verdict::of("throughput, of the floor", ratio, THROUGHPUT));
        let behind_ms = catching_up.as_secs_f64() * 1_000.0;
        verdicts.push(Verdict::of(
            "ms until the rows held it all",
            behind_ms,
            KEEPS_UP_MS,
        ));
    }
    Ok(Comparison {
        title: title.to_owned(),
        load: format!(
            "{} in flight over {} connections, {} events of {} bytes a commit, {} conversations",
            plan.in_flight,
            plan.writers,
            plan.events_per_commit,
            plan.event_bytes,
            load.conversations.len(),
        ),
        unit: "commits",
        base: "raw publishes",
        system: "hansard",
        rounds,
        verdicts,
        notes: Vec::new(),
    })
}

/// What one kind of load needs.
struct Load<'a, D> {
    target: &'a Target,
    plan: &'a Plan,
    doors: Arc<[D]>,
    conversations: Arc<[String]>,
    per_worker: usize,
    closed: Closed,
}

impl<'a, D: Door> Load<'a, D> {
    async fn prepare(
        name: &'static str,
        plan: &'a Plan,
        target: &'a Target,
    ) -> anyhow::Result<Self> {
        let per_worker = plan.conversations.div_ceil(plan.in_flight);
        let fill = Fill {
            name,
            conversations: per_worker * plan.in_flight,
            messages: 0,
            event_bytes: plan.event_bytes,
        };
        let conversations = setup::conversations(target, fill).await?;
        let doors = target
            .writers
            .iter()
            .map(|writer| D::open(writer, plan.in_flight));
        let closed = Closed {
            in_flight: plan.in_flight,
            warm_up: WARM_UP,
            duration: plan.duration,
        };
        Ok(Self {
            target,
            plan,
            doors: doors.collect(),
            conversations,
            per_worker,
            closed,
        })
    }

    /// A worker has conversations of its own: no two appends meet.
    async fn turn(&self) -> anyhow::Result<Measure> {
        let (doors, conversations) = (Arc::clone(&self.doors), Arc::clone(&self.conversations));
        let per_worker = self.per_worker;
        let (events, bytes) = (self.plan.events_per_commit, self.plan.event_bytes);
        let template = Arc::new(setup::append(
            self.target,
            "",
            setup::messages(events, bytes),
        ));
        closed_loop(self.closed, move |turn| {
            let (doors, conversations) = (Arc::clone(&doors), Arc::clone(&conversations));
            let template = Arc::clone(&template);
            async move {
                let place = turn.worker * per_worker + turn.count % per_worker;
                let conversation = conversations.get(place).context("no conversation")?;
                let door = doors.get(turn.worker % doors.len()).context("no writer")?;
                Ok(door.append(setup::again(&template, conversation)).await?)
            }
        })
        .await
    }

    /// A message of the record as this load makes it: what the floor publishes.
    async fn recorded(&self, floors: &Floors) -> anyhow::Result<Bytes> {
        let door = self.doors.first().context("no writer")?;
        let conversation = self.conversations.first().context("no conversation")?;
        for _ in 0..COMMITS_BEFORE {
            let events = setup::messages(self.plan.events_per_commit, self.plan.event_bytes);
            door.append(setup::append(self.target, conversation, events))
                .await?;
        }
        caught_up(floors).await?;
        let tenant = floors.rows.tenant_of(conversation).await?;
        let key = ConversationKey {
            tenant: TenantId::parse(tenant)?,
            conversation: ConversationId::parse(conversation.as_str())?,
        };
        let last = floors
            .record
            .last_from_leader(&key)
            .await?
            .context("no commit")?;
        Ok(last.message)
    }
}
