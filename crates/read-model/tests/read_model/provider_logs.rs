//! The log of calls to model servers: written once, read in pages, expired, and erased with its conversation.

use std::collections::BTreeSet;

use domain::bounds::LOG_DAYS_MAX;
use domain::event::Usage;
use domain::{
    AgentId, CallPurpose, ConversationId, ConversationKey, Label, LogId, LoggedBody, LoggedCall, ModelCall,
    ModelServerId, RunId, Sequence, TenantId, Timestamp,
};
use read_model::ReadModel;
use read_model::projections::conversations::lease::Holder;
use read_model::projections::provider_logs::{
    EXPIRED_PER_CALL_MAX, LogBatch, LogsApplyError, StoredCall, StoredCorrection, StoredUsage, apply, expire, restart,
    take,
};
use read_model::queries::{ProviderLogCursor, ProviderLogQuery, ProviderLogRow, provider_log, provider_logs};
use uuid::Uuid;

use crate::fixture::{Projection, access};

/// A whole microsecond, as in rows.
const NOW: Timestamp = Timestamp(1_700_000_000_123_456_000);
const DAY: i64 = 86_400_000_000_000;
const HOLD_MS: u64 = 60_000;

/// The projector of the log.
pub(crate) struct Log {
    model: ReadModel,
    holder: Holder,
    at: Sequence,
}

impl Log {
    pub(crate) async fn new(model: &ReadModel) -> Self {
        let holder = Holder("a".to_owned());
        let at = take(model, &holder, HOLD_MS).await.unwrap().unwrap();
        Self { model: model.clone(), holder, at }
    }

    fn batch(&self, calls: Vec<StoredCall>) -> LogBatch {
        LogBatch {
            holder: self.holder.clone(),
            previous: self.at,
            last: Sequence(self.at.0 + 1),
            calls,
            usage: Vec::new(),
            corrections: Vec::new(),
        }
    }

    pub(crate) async fn meter(&mut self, usage: Vec<StoredUsage>) {
        let batch = LogBatch { usage, ..self.batch(Vec::new()) };
        apply(&self.model, &batch).await.unwrap();
        self.at = batch.last;
    }

    pub(crate) async fn correct(&mut self, corrections: Vec<StoredCorrection>) {
        let batch = LogBatch { corrections, ..self.batch(Vec::new()) };
        apply(&self.model, &batch).await.unwrap();
        self.at = batch.last;
    }

    pub(crate) async fn write(&mut self, calls: Vec<StoredCall>) {
        let batch = self.batch(calls);
        apply(&self.model, &batch).await.unwrap();
        self.at = batch.last;
    }
}

pub(crate) fn key(tenant: &str, conversation: &str) -> ConversationKey {
    ConversationKey {
        tenant: TenantId::parse(tenant).unwrap(),
        conversation: ConversationId::parse(conversation).unwrap(),
    }
}

/// A call that started `second` seconds after [`NOW`].
pub(crate) fn call(conversation: &str, second: i64) -> StoredCall {
    StoredCall {
        key: key("acme", conversation),
        stored_at: NOW,
        logged: LoggedCall {
            agent: AgentId::parse("support").unwrap(),
            days: 1,
            call: ModelCall {
                id: LogId(Uuid::now_v7()),
                run: RunId(Uuid::now_v7()),
                purpose: CallPurpose::Answer,
                attempt: 1,
                server: ModelServerId::parse("local").unwrap(),
                model: Label::parse("m").unwrap(),
                started_at: Timestamp(NOW.0 + second * 1_000_000_000),
                first_piece_ms: None,
                took_ms: 7,
                http_status: None,
                outcome: Label::parse("finished").unwrap(),
                finish_reason: None,
                usage: None,
                request_bytes: 1,
                reply_bytes: 2,
                request: None,
                reply: None,
            },
        },
    }
}

pub(crate) async fn listed(model: &ReadModel, query: &ProviderLogQuery) -> Vec<ProviderLogRow> {
    provider_logs(model, &access("acme"), query).await.unwrap()
}

pub(crate) fn all() -> ProviderLogQuery {
    ProviderLogQuery { limit: 1_000, ..ProviderLogQuery::default() }
}

fn ids(rows: &[ProviderLogRow]) -> Vec<LogId> {
    rows.iter().map(|row| row.call.id).collect()
}

#[tokio::test]
async fn a_call_round_trips() {
    let projection = Projection::new().await;
    let mut log = Log::new(&projection.model).await;
    let mut whole = call("c", 0);
    whole.logged.days = LOG_DAYS_MAX;
    whole.logged.call = ModelCall {
        purpose: CallPurpose::Summary,
        attempt: u32::MAX,
        first_piece_ms: Some(3),
        http_status: Some(599),
        finish_reason: Label::parse("stop").ok(),
        usage: Some(Usage { input_tokens: 1, output_tokens: 2, cached_tokens: 3, reasoning_tokens: 4 }),
        request: Some(LoggedBody::of("a\0b".to_owned())),
        reply: Some(LoggedBody { text: "é".to_owned(), is_cut: true }),
        ..whole.logged.call
    };
    let bare = call("c", 1);
    log.write(vec![whole.clone(), bare.clone()]).await;
    // A duplicate in the stream.
    log.write(vec![whole.clone()]).await;
    let rows = listed(&projection.model, &all()).await;
    assert_eq!(ids(&rows), [bare.logged.call.id, whole.logged.call.id], "the newest first, each once");
    let kept_until = Timestamp(NOW.0 + i64::from(LOG_DAYS_MAX) * DAY);
    assert_eq!(rows[1].kept_until, kept_until);
    assert_eq!(rows[1].call.request, None);
    for placed in [whole, bare] {
        let found = provider_log(&projection.model, &access("acme"), placed.logged.call.id).await.unwrap().unwrap();
        assert_eq!(found.call, placed.logged.call);
        assert_eq!(found.conversation, placed.key.conversation);
        let foreign = provider_log(&projection.model, &access("other"), found.call.id).await;
        assert_eq!(foreign.unwrap(), None);
    }
    let foreign = provider_logs(&projection.model, &access("other"), &all()).await;
    assert_eq!(foreign.unwrap(), []);
}

/// A dozen calls of two conversations and two agents; some start at the same time.
fn dozen() -> Vec<StoredCall> {
    let made = (0..12).map(|number| {
        let conversation = if number % 3 == 0 { "d" } else { "c" };
        let mut call = call(conversation, number / 2);
        if number % 4 == 0 {
            call.logged.agent = AgentId::parse("sales").unwrap();
        }
        if number % 5 == 0 {
            call.logged.call.outcome = Label::parse("dropped").unwrap();
        }
        call
    });
    made.collect()
}

/// Checks that a filter returns exactly the matching calls, at once and in pages.
async fn check(
    model: &ReadModel,
    made: &[StoredCall],
    filter: impl FnOnce(&mut ProviderLogQuery),
    matches: impl Fn(&StoredCall) -> bool,
) {
    let mut query = all();
    filter(&mut query);
    let expected: BTreeSet<LogId> = made.iter().filter(|call| matches(call)).map(|call| call.logged.call.id).collect();
    let whole = ids(&listed(model, &query).await);
    assert!(!whole.is_empty() && whole.len() == expected.len());
    assert_eq!(whole.iter().copied().collect::<BTreeSet<_>>(), expected);
    for limit in [1, 2, 5] {
        query.limit = limit;
        query.after = None;
        let mut seen = Vec::new();
        loop {
            let page = listed(model, &query).await;
            let Some(last) = page.last() else { break };
            query.after = Some(ProviderLogCursor { started_at: last.call.started_at, id: last.call.id });
            seen.extend(ids(&page));
        }
        assert_eq!(seen, whole, "{limit}");
    }
}

#[tokio::test]
async fn pages_of_a_filter_are_complete() {
    let projection = Projection::new().await;
    let mut log = Log::new(&projection.model).await;
    let made = dozen();
    log.write(made.clone()).await;
    let model = &projection.model;
    let sales = AgentId::parse("sales").unwrap();
    let c = ConversationId::parse("c").unwrap();
    let dropped = Label::parse("dropped").unwrap();
    let third = Timestamp(NOW.0 + 3_000_000_000);
    let of_sales = |call: &StoredCall| call.logged.agent == sales;
    let of_c = |call: &StoredCall| call.key.conversation == c;
    check(model, &made, |_| {}, |_| true).await;
    let by_agent = |query: &mut ProviderLogQuery| query.agent = Some(sales.clone());
    check(model, &made, by_agent, of_sales).await;
    let by_conversation = |query: &mut ProviderLogQuery| query.conversation = Some(c.clone());
    check(model, &made, by_conversation, of_c).await;
    let by_both = |query: &mut ProviderLogQuery| {
        by_agent(query);
        by_conversation(query);
    };
    check(model, &made, by_both, |call| of_sales(call) && of_c(call)).await;
    let by_outcome = |query: &mut ProviderLogQuery| query.outcome = Some(dropped.clone());
    let is_dropped = |call: &StoredCall| call.logged.call.outcome == dropped;
    check(model, &made, by_outcome, is_dropped).await;
    let late = |query: &mut ProviderLogQuery| query.started_after = Some(third);
    let is_late = |call: &StoredCall| call.logged.call.started_at >= third;
    check(model, &made, late, is_late).await;
    let early = |query: &mut ProviderLogQuery| query.started_before = Some(third);
    check(model, &made, early, |call| !is_late(call)).await;
}

#[tokio::test]
async fn only_expired_calls_are_deleted() {
    let projection = Projection::new().await;
    let mut log = Log::new(&projection.model).await;
    let mut kept = call("c", 0);
    kept.stored_at = Timestamp(NOW.0 + 1_000);
    log.write(vec![call("c", 0), kept.clone()]).await;
    let end = |nanos: i64| Timestamp(NOW.0 + DAY + nanos);
    assert_eq!(expire(&projection.model, end(-1_000)).await, Ok(0));
    assert_eq!(expire(&projection.model, end(0)).await, Ok(1));
    let left = listed(&projection.model, &all()).await;
    assert_eq!(ids(&left), [kept.logged.call.id]);
    assert_eq!(expire(&projection.model, end(1_000)).await, Ok(1));
    let many = usize::try_from(EXPIRED_PER_CALL_MAX).unwrap() + 1;
    let calls = std::iter::repeat_with(|| call("c", 0)).take(many);
    log.write(calls.collect()).await;
    let most = u64::from(EXPIRED_PER_CALL_MAX);
    assert_eq!(expire(&projection.model, end(0)).await, Ok(most));
    assert_eq!(expire(&projection.model, end(0)).await, Ok(1));
}

#[tokio::test]
async fn one_projector_at_a_time_continues_from_the_checkpoint() {
    let projection = Projection::new().await;
    let model = &projection.model;
    let mut log = Log::new(model).await;
    let other = Holder("b".to_owned());
    assert_eq!(take(model, &other, HOLD_MS).await, Ok(None));
    log.write(vec![call("c", 0)]).await;
    let mut behind = log.batch(Vec::new());
    behind.previous = Sequence(0);
    assert_eq!(apply(model, &behind).await, Err(LogsApplyError::Fenced));
    // The lease expires and another projector takes it: the previous holder cannot write.
    assert_eq!(take(model, &log.holder, 0).await, Ok(Some(log.at)));
    let taken = loop {
        if let Some(taken) = take(model, &other, HOLD_MS).await.unwrap() {
            break taken;
        }
    };
    assert_eq!(taken, log.at);
    let late = log.batch(vec![call("c", 1)]);
    assert_eq!(apply(model, &late).await, Err(LogsApplyError::Fenced));
    assert_eq!(listed(model, &all()).await.len(), 1);
    restart(model, &other).await.unwrap();
    assert_eq!(take(model, &other, HOLD_MS).await, Ok(Some(Sequence(0))));
}
