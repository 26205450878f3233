//! Acknowledged commits, against raw publishes of the same messages with as many on their way.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use domain::{ConversationId, ConversationKey, TenantId};
use hansard::client::{AppendStream, Failure, Service, Writer};
use wire::proto::write::v1::AppendEventsRequest;
use wire::proto::write::v1::append_stream_request::Command;

use crate::floor::{Committed, Floors, Inserts};
use crate::latency::Measure;
use crate::pace::{Closed, closed_loop};
use crate::report::{Comparison, Round, Threshold, Verdict};
use crate::rounds::{alone, alternate, median, median_ratio};
use crate::setup::{self, Fill};
use crate::target::Target;
use crate::watch::caught_up;
use crate::{Plan, WARM_UP};

pub(super) const STREAM_TITLE: &str = "acknowledged commits by streams";
/// Of the raw publishes' throughput.
const THROUGHPUT: Threshold = Threshold::AtLeast(0.65);
/// Of the commits of Postgres alone.
const OF_INSERTS: Threshold = Threshold::AtLeast(1.0);
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

/// What commits to Postgres alone are called in the report.
const INSERTS: &str = "postgres insert";

pub(super) async fn unary(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    let load = Load::<Writer>::prepare("unary", plan, target).await?;
    let inserts = match &target.floors {
        Some(floors) => Some(floors.inserts(plan.in_flight, load.per_worker).await?),
        None => None,
    };
    let measured = measure(&load, inserts.as_ref()).await;
    if let Some(inserts) = inserts {
        inserts.remove_tables().await?;
    }
    let title = super::title(crate::Suite::Unary).to_owned();
    Ok(Comparison { title, ..measured? })
}

pub(super) async fn stream(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    let load = Load::<AppendStream>::prepare("stream", plan, target).await?;
    measure(&load, None).await
}

/// What streams reach, without a floor beside them.
pub(super) async fn stream_alone(plan: &Plan, target: &Target) -> anyhow::Result<f64> {
    let load = Load::<AppendStream>::prepare("alone", plan, target).await?;
    Ok(load.turn().await?.per_second)
}

async fn measure<D: Door>(
    load: &Load<'_, D>,
    inserts: Option<&Inserts>,
) -> anyhow::Result<Comparison> {
    let mut catching_up = Duration::ZERO;
    let rounds = match &load.target.floors {
        None => alone(load.plan.rounds, || load.turn()).await?,
        Some(floors) => {
            floors.publisher.make_streams().await?;
            let rounds = against(load, floors, inserts, &mut catching_up).await;
            floors.publisher.remove_streams().await;
            rounds?
        }
    };
    Ok(Comparison {
        title: STREAM_TITLE.to_owned(),
        load: load.in_words(),
        unit: "commits",
        base: "raw publishes",
        beside: inserts.map(|_| INSERTS),
        system: "hansard",
        verdicts: verdicts(&rounds, catching_up),
        rounds,
        notes: Vec::new(),
    })
}

/// Takes turns with the floors; `catching_up` becomes the longest time that the rows took to hold a turn's commits.
async fn against<D: Door>(
    load: &Load<'_, D>,
    floors: &Floors,
    inserts: Option<&Inserts>,
    catching_up: &mut Duration,
) -> anyhow::Result<Vec<Round>> {
    let payload = load.recorded(floors).await?;
    let committed = load.committed(floors).await?;
    let mut besides = Vec::new();
    let base = async || {
        if let Some(inserts) = inserts {
            besides.push(inserts.commit(load.closed, committed.clone()).await?);
        }
        let publisher = &floors.publisher;
        publisher
            .publish(load.closed, load.per_worker, payload.clone())
            .await
    };
    let mut rounds = alternate(load.plan.rounds, base, async || {
        let measure = load.turn().await?;
        *catching_up = caught_up(floors).await?.max(*catching_up);
        Ok(measure)
    })
    .await?;
    for (round, beside) in rounds.iter_mut().zip(besides) {
        round.beside = Some(beside);
    }
    Ok(rounds)
}

fn verdicts(rounds: &[Round], catching_up: Duration) -> Vec<Verdict> {
    let Some(ratio) = median_ratio(rounds, |measure| measure.per_second) else {
        return Vec::new();
    };
    let of_inserts = rounds
        .iter()
        .filter_map(|round| Some(round.system.per_second / round.beside?.per_second));
    let of_inserts = median(of_inserts.collect());
    let behind_ms = catching_up.as_secs_f64() * 1_000.0;
    let verdicts = [
        Some(Verdict::of("throughput, of the floor", ratio, THROUGHPUT)),
        of_inserts.map(|ratio| Verdict::of("throughput, of Postgres's", ratio, OF_INSERTS)),
        Some(Verdict::of(
            "ms until the rows held it all",
            behind_ms,
            KEEPS_UP_MS,
        )),
    ];
    verdicts.into_iter().flatten().collect()
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

    fn in_words(&self) -> String {
        let plan = self.plan;
        format!(
            "{} in flight over {} connections, {} events of {} bytes a commit, {} conversations",
            plan.in_flight,
            plan.writers,
            plan.events_per_commit,
            plan.event_bytes,
            self.conversations.len(),
        )
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

    /// The events of a commit as Postgres alone gets them, once the rows hold what [`Load::recorded`] made.
    async fn committed(&self, floors: &Floors) -> anyhow::Result<Committed> {
        let conversation = self.conversations.first().context("no conversation")?;
        Ok(Committed {
            events: i64::try_from(self.plan.events_per_commit)?,
            body: floors.rows.newest_event(conversation).await?,
        })
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
