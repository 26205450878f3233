//! Assembles contexts: reads what the plan needs, lets pure code build the context, and fills its receipt.

mod computing;
mod context_request;
mod inputs;
pub mod outcome;
mod receipt;
mod unrecorded;
pub mod verification;

use context::plan::BUDGETED_MESSAGES_MAX;
use context::stages::budget;
use context::{
    Assembled, CONTEXT_KINDS, MessageCount, Outcome, Plan, PlanError, Reach, Selection, Settings, Transcript, select,
};
use domain::event::ToolOutput;
use domain::{EventTokens, Fact, Part, RecordedEvent, Version};
use formats::{Names, Outline, Rendered};
use history::{Bounds, Coverage, Direction, EffectiveHistory, Newest, Range, Target, decode};
use read_model::queries::EventQuery;
use sha2::{Digest as _, Sha256};
use wire::proto::read::v1 as proto;
use wire::status::{Problem, Reason};

use computing::Computing;
pub use context_request::ContextRequest;
use unrecorded::After;
pub use unrecorded::assemble_given;

use record_access::Gateway;
use record_access::request::BoundedNumber;

/// Messages of a context.
pub const MESSAGES: BoundedNumber = BoundedNumber { field: "messages_max", default: 50, max: 1_000 };
/// Most bytes of the newest events that a context is selected from; older units are omitted.
pub const CONTEXT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Events of the first read: enough for a context of usual turns.
const EVENTS_LIKELY: usize = 256;
/// Events of the first read for each message of a context: a message that calls a tool comes with the call and its result.
const EVENTS_PER_MESSAGE_LIKELY: usize = 3;
/// Fewest tokens of an event that a model reads. With the budget it bounds the number of events.
const EVENT_TOKENS_MIN: u64 = 8;

/// An assembled and rendered context.
#[derive(Debug)]
pub struct AssembledContext {
    /// The rendered context.
    pub body: Vec<u8>,
    /// Where the sections are in the body.
    pub outline: Outline,
    /// The call ids and tool names that the format rewrites.
    pub names: Names,
    /// Number of pictures and files in it.
    pub media_parts: usize,
    /// Its receipt.
    pub receipt: proto::Receipt,
    /// What the stages omitted or changed.
    pub outcomes: Vec<Outcome>,
    /// The position that was read, as a token for callers.
    pub position_token: String,
    /// Whether all events were read from rows.
    pub is_in_rows: bool,
}

/// What a model gets of a context.
#[derive(Debug)]
pub struct ModelContext {
    /// The rendered context.
    pub body: Vec<u8>,
    /// The call ids and tool names that the format rewrites.
    pub names: Names,
    /// Number of pictures and files in it.
    pub media_parts: usize,
}

impl From<AssembledContext> for ModelContext {
    fn from(context: AssembledContext) -> Self {
        Self { body: context.body, names: context.names, media_parts: context.media_parts }
    }
}

/// Assembles a context as if the `unrecorded` facts had been appended to the conversation.
///
/// # Errors
/// As [`EffectiveHistory::open`]; the version does not exist yet; the budget is too small; a template fails.
pub async fn assemble(
    gateway: &Gateway,
    target: &Target,
    request: &ContextRequest,
    unrecorded: &[Fact],
) -> Result<AssembledContext, Problem> {
    let policy = &request.policy.policy;
    let (bounds, likely) = bounds(request);
    let range = Range {
        to: request.at.unwrap_or(EventQuery::OPEN_END),
        kinds: &CONTEXT_KINDS,
        ..Range::all(Direction::Backward)
    };
    let mut history = EffectiveHistory::open(&gateway.reader, target, range, bounds, likely).await?;
    let mut newest = history.newest().await?;
    let (snapshot, effective) = (newest.snapshot(), newest.segments());
    let at = request.version(snapshot.position().version)?;
    let summary = inputs::newest_summary(snapshot, effective, policy, at).await?;
    let shared = effective.inherited_before(at);
    if !unrecorded.is_empty() {
        let inherited = effective.inherited_before(at.next());
        let after = After { at, inherited };
        unrecorded::push(&mut newest, after, unrecorded)?;
    }
    let client = inputs::client(snapshot, policy, shared.next()).await?;
    let rewind = effective.latest_rewind();
    let settings = Settings {
        policy,
        rules: &request.policy.rules,
        client: &client,
        instructions: request.instructions.as_deref(),
        summary,
        own: None,
        shared,
        rewound: rewind.map_or(Version::ZERO, |rewind| rewind.at),
    };
    let computing = Computing::of(gateway, &target.key.tenant, &request.policy);
    let mut assembled = run_plan(computing, request, settings.clone(), &mut newest).await?;
    if assembled.report.is_without_the_beginning()
        && let Some(own) = inputs::first_instructions(snapshot, effective, at).await?
    {
        let own = Some(own);
        let with_own = run_plan(computing, request, Settings { own, ..settings }, &mut newest).await;
        assembled = if_it_fits(with_own, assembled)?;
    }
    let render = || render(request, target, at, &assembled);
    let (rendered, receipt) = computing.for_bytes(bytes(&newest)).run(render).await?;
    let mut outcomes = assembled.report.outcomes;
    outcomes.extend(outcome::of_history(effective));
    Ok(AssembledContext {
        body: rendered.body,
        outline: rendered.outline,
        names: rendered.names,
        media_parts: media_parts(&assembled.transcript),
        receipt,
        outcomes,
        position_token: snapshot.position_token().await?,
        is_in_rows: snapshot.is_in_rows(),
    })
}

fn render(request: &ContextRequest, target: &Target, at: Version, assembled: &Assembled) -> (Rendered, proto::Receipt) {
    let options = request.options(Some(cache_key(target)));
    let rendered = formats::render(request.format, &assembled.transcript, &options);
    let receipt = receipt::of(request, target, at, assembled, &rendered);
    (rendered, receipt)
}

/// The context with the conversation's own instructions, or the one without them if the newest turn needs their room.
fn if_it_fits(with_own: Result<Assembled, Problem>, without: Assembled) -> Result<Assembled, Problem> {
    match with_own {
        Err(problem) if problem.reason() == Reason::BudgetTooSmall => Ok(without),
        with_own => with_own,
    }
}

/// Selects units, reading older events while they are needed; then completes the plan.
async fn run_plan(
    computing: Computing<'_>,
    request: &ContextRequest,
    settings: Settings<'_>,
    newest: &mut Newest<'_>,
) -> Result<Assembled, Problem> {
    let plan = computing.run(|| Plan::new(settings)).await?.map_err(|error| problem(&error))?;
    let selected = loop {
        let key = newest.snapshot().key();
        let select_newest = || {
            let mut counts = newest.segments().token_counts();
            let events = newest.newest_first().map(|row| {
                let event = with_token_count(decode(key, row)?);
                Ok::<_, Problem>(counts.count(event))
            });
            let extent = plan.extent(request.messages_max);
            select(events, extent, reach(newest.coverage()))
        };
        match computing.for_bytes(bytes(newest)).run(select_newest).await?? {
            Selection::Selected(selected) => break selected,
            Selection::NeedsOlder => newest.read_older().await?,
        }
    };
    let completed = computing.for_bytes(bytes(newest)).run(|| plan.complete(selected)).await?;
    completed.map_err(|no_room| problem(&PlanError::from(no_room)))
}

/// The bytes of the events that were read.
fn bytes(newest: &Newest<'_>) -> usize {
    newest.newest_first().map(|row| row.bytes.len()).sum()
}

fn media_parts(transcript: &Transcript) -> usize {
    let calls = transcript.turns.iter().flat_map(|turn| &turn.calls);
    let results = calls.flat_map(|call| match &call.answer.output {
        ToolOutput::Parts(parts) => parts.as_slice(),
        ToolOutput::Json(_) => &[],
    });
    let parts = transcript.turns.iter().flat_map(|turn| &turn.parts).chain(results);
    parts.filter(|part| matches!(part, Part::Image { .. } | Part::File { .. })).count()
}

/// How far back the events reach.
#[must_use]
pub fn reach(coverage: Coverage) -> Reach {
    match coverage {
        Coverage::Whole => Reach::Beginning,
        Coverage::Bounded => Reach::Limit,
        Coverage::Partial => Reach::Window,
    }
}

/// Counts the tokens of events that were recorded before tokens were counted, or before texts in files were. The clearing
/// threshold does not include them.
fn with_token_count(mut event: RecordedEvent) -> RecordedEvent {
    let tokens = &mut event.event.tokens;
    tokens.own = if *tokens == EventTokens::default() {
        tokens::count_fact(&event.event.fact)
    } else {
        tokens::recount(&event.event.fact, tokens.own)
    };
    event
}

/// The most events that a context can need, and how many the first read fetches.
fn bounds(request: &ContextRequest) -> (Bounds, usize) {
    let messages = request.messages_max.unwrap_or(MessageCount(BUDGETED_MESSAGES_MAX));
    let events = budget::context_tokens(&request.policy.policy) / EVENT_TOKENS_MIN;
    let most = usize::try_from(events).unwrap_or(usize::MAX);
    let bounds = Bounds { events_max: messages.events_max(), bytes_max: CONTEXT_BYTES_MAX };
    let likely = EVENTS_LIKELY.min(EVENTS_PER_MESSAGE_LIKELY * (messages.0 + 1));
    (bounds, likely.min(most))
}

/// A key for the provider's cache: equal for all contexts of a conversation, and not reversible to its id.
fn cache_key(target: &Target) -> String {
    let digest = Sha256::new()
        .chain_update(target.key.tenant.as_str())
        .chain_update([0])
        .chain_update(target.key.conversation.as_str())
        .finalize();
    format!("hansard-{}", hex::encode(digest.get(..16).unwrap_or_default()))
}

fn problem(error: &PlanError) -> Problem {
    let reason = match error {
        PlanError::NoRoom(_) => Reason::BudgetTooSmall,
        PlanError::Inject(_) => Reason::TemplateFailed,
    };
    Problem::new(reason, error.to_string())
}

#[cfg(test)]
mod tests {
    use domain::event::{MessageAppended, Role};
    use domain::{CommitId, Event, EventId, MediaSource, Part, Timestamp, Version};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn events_without_token_counts_are_counted() {
        let file = Part::File {
            source: MediaSource::Url(format!("data:text/csv,{}", "7,8.25 ".repeat(9_000))),
            media_type: None,
            filename: None,
        };
        let fact = Fact::MessageAppended(MessageAppended::new(Role::User, vec![file]));
        let whole = tokens::count_fact(&fact);
        assert!(whole > 2_100);
        for (own, through, expected) in [(0, 0, whole), (2_012, 2_100, whole), (whole, 7, whole)] {
            let event = RecordedEvent {
                version: Version(1),
                commit: CommitId(Uuid::nil()),
                recorded_at: Timestamp(0),
                event: Event {
                    id: EventId(Uuid::nil()),
                    occurred_at: None,
                    metadata: None,
                    tokens: EventTokens { own, through },
                    fact: fact.clone(),
                },
            };
            let counted = with_token_count(event).event.tokens;
            let expected = EventTokens { own: expected, through };
            assert_eq!(counted, expected, "{own}");
        }
    }
}
