//! `AssembleContext`: what a model reads next, rendered in a format, or as messages without one.

use std::time::Instant;

use context::{CONTEXT_KINDS, Extent, MessageCount, Selected, Selection, Unit, select};
use formats::canonical;
use history::{Bounds, Direction, EffectiveHistory, Range, Snapshot, Target, decode};
use tonic::{Request, Response, Status};
use tracing::{Instrument as _, Span, field};
use wire::proto::read::v1 as proto;
use wire::status::Problem;

use crate::render;
use conversations::assembly::{self, CONTEXT_BYTES_MAX, ContextRequest, MESSAGES, reach};
use conversations::request::{Call, read_target};
use conversations::{Gateway, metrics};

/// Events of the first read, in addition to nine eighths of the requested messages. Each row costs about a microsecond, and
/// one read is enough unless the newest turns are mostly tool calls.
const EVENTS_TO_SPARE: usize = 2;

pub(super) async fn handle(
    gateway: &Gateway,
    request: Request<proto::AssembleContextRequest>,
) -> Result<Response<proto::AssembleContextResponse>, Status> {
    let began = Instant::now();
    let call = Call::of(&request);
    let mut request = request.into_inner();
    // Cheap checks come before reads of the registry and the record.
    let count = MESSAGES.take(request.messages_max).map_err(Problem::from)?;
    let messages_max = MessageCount(usize::try_from(count).unwrap_or(usize::MAX));
    let target = read_target(gateway, &call, request.target.take()).await?;
    let request = ContextRequest::from_proto(gateway, &target, request).await?;
    let span = tracing::info_span!(
        "gateway.context.assemble",
        tenant.id = target.key.tenant.as_str(),
        conversation.id = target.key.conversation.as_str(),
        commit.version = field::Empty,
    );
    let (response, is_in_rows) = match &request {
        Some(request) => formatted(gateway, &target, request).instrument(span).await?,
        None => unformatted(gateway, &target, messages_max).instrument(span).await?,
    };
    let source = if is_in_rows { "rows" } else { "tail" };
    metrics::context_assembled(began.elapsed(), source);
    Ok(Response::new(response))
}

async fn formatted(
    gateway: &Gateway,
    target: &Target,
    request: &ContextRequest,
) -> Result<(proto::AssembleContextResponse, bool), Problem> {
    let context = assembly::assemble(gateway, target, request, &[]).await?;
    Span::current().record("commit.version", context.receipt.version);
    let outcomes = context.outcomes.iter().filter(|_| request.with_outcomes).map(assembly::outcome::to_proto);
    let response = proto::AssembleContextResponse {
        version: context.receipt.version,
        position_token: context.position_token,
        body: context.body.into(),
        outcomes: outcomes.collect(),
        receipt: Some(context.receipt),
        ..proto::AssembleContextResponse::default()
    };
    Ok((response, context.is_in_rows))
}

async fn unformatted(
    gateway: &Gateway,
    target: &Target,
    messages_max: MessageCount,
) -> Result<(proto::AssembleContextResponse, bool), Problem> {
    let bounds = Bounds { events_max: messages_max.events_max(), bytes_max: CONTEXT_BYTES_MAX };
    let likely = messages_max.0 + messages_max.0 / 8 + EVENTS_TO_SPARE;
    let range = Range { kinds: &CONTEXT_KINDS, ..Range::all(Direction::Backward) };
    let mut history = EffectiveHistory::open(&gateway.reader, target, range, bounds, likely).await?;
    let mut newest = history.newest().await?;
    let snapshot = newest.snapshot();
    let version = snapshot.position().version;
    let selected = loop {
        let events = newest.newest_first().map(|event| decode(&target.key, event));
        let extent = Extent::messages(messages_max.0);
        match select(events, extent, reach(newest.coverage()))? {
            Selection::Selected(selected) => break selected,
            Selection::NeedsOlder => newest.read_older().await?,
        }
    };
    Span::current().record("commit.version", version.0);
    let report = report(&selected, snapshot);
    let messages = canonical::messages(selected.units).map(render::context_message);
    let response = proto::AssembleContextResponse {
        messages: messages.collect(),
        version: version.0,
        position_token: snapshot.position_token().await?,
        report: Some(report),
        ..proto::AssembleContextResponse::default()
    };
    Ok((response, snapshot.is_in_rows()))
}

/// How the context was assembled.
fn report(selected: &Selected, snapshot: &Snapshot<'_>) -> proto::ContextReport {
    let versions = selected.units.iter().flat_map(Unit::versions);
    let (rows, tail): (Vec<_>, Vec<_>) = versions.partition(|version| snapshot.is_event_in_rows(*version));
    let shared = snapshot.recorded().inherited_before(snapshot.position().version);
    let calls = selected.units.iter().flat_map(|unit| &unit.calls);
    let pending = calls.filter(|call| call.result.is_none() && call.version > shared).map(|call| &call.called.call_id);
    proto::ContextReport {
        first_version: selected.units.first().map_or(0, |unit| unit.version.0),
        truncated: selected.truncated,
        events_from_rows: u32::try_from(rows.len()).unwrap_or(u32::MAX),
        events_from_tail: u32::try_from(tail.len()).unwrap_or(u32::MAX),
        pending_call_ids: pending.map(|id| id.as_str().to_owned()).collect(),
    }
}
