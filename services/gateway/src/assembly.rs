//! Contexts in a form: reads what the plan asks for, lets pure code make the context, and accounts for it.

pub mod bounds;
mod client;
pub mod listed;
mod order;
mod own_instructions;
mod pending;
mod receipt;
mod summary;

use context::plan::BUDGETED_MESSAGES_MAX;
use context::stages::budget;
use context::{
    Assembled, CONTEXT_KINDS, MessageCount, Plan, PlanError, Reach, Selection, Settings, select,
};
use domain::{EventTokens, Fact, RecordedEvent, Version};
use formats::Names;
use history::{Coverage, Direction, Newest, Query, Snapshot, Target, View, WindowBounds, decode};
use read_model::queries::EventQuery;
use sha2::{Digest as _, Sha256};
use wire::proto::read::v1 as proto;
use wire::status::{Problem, Reason};

pub use order::Order;
use pending::Behind;

use crate::Gateway;
use crate::assembly::bounds::CONTEXT_BYTES_MAX;

/// Events read at first: a context of usual turns needs no second read.
const EVENTS_LIKELY: usize = 256;
/// The fewest tokens of an event that a model reads: no more events than this can be in a budget.
const EVENT_TOKENS_MIN: u64 = 8;

/// A context in a form, and where it was read.
#[derive(Debug)]
pub struct Made {
    /// The rendered context.
    pub body: Vec<u8>,
    /// The call ids and tool names that had to be written otherwise in it.
    pub names: Names,
    /// Its proof.
    pub receipt: proto::Receipt,
    /// The position that was read, as a token for callers.
    pub position_token: String,
    /// Whether the rows held all that was read.
    pub is_in_rows: bool,
}

/// Makes a context.
///
/// # Errors
/// As [`Snapshot::open`]; a version that is not there; no room.
pub async fn make(gateway: &Gateway, target: &Target, order: &Order) -> Result<Made, Problem> {
    make_with(gateway, target, order, &[]).await
}

/// Makes a context of a conversation and facts behind it that are not recorded yet, as if they were.
///
/// # Errors
/// As [`make`].
pub async fn make_with(
    gateway: &Gateway,
    target: &Target,
    order: &Order,
    pending: &[Fact],
) -> Result<Made, Problem> {
    let policy = &order.policy.policy;
    let (bounds, likely) = bounds(order);
    let query = Query {
        to: order.at.unwrap_or(EventQuery::TO_THE_END),
        kinds: &CONTEXT_KINDS,
        ..Query::all(Direction::Backward)
    };
    let first = Newest::first_batch(bounds, likely);
    let opened = Snapshot::open_with(&gateway.reader, target, &query, first);
    let (snapshot, first) = opened.await?;
    let at = order.version(snapshot.position().version)?;
    let effective = snapshot.effective(at).await?;
    let cursor = snapshot.cursor_from(query, View::Effective(&effective), first);
    let mut newest = Newest::read(cursor, bounds, likely).await?;
    let summary = summary::newest(&snapshot, &effective, policy, at).await?;
    let shared = effective.inherited_before(at);
    let behind = Behind {
        at,
        shared: effective.inherited_before(at.next()),
    };
    pending::push(&mut newest, behind, pending)?;
    let client = client::context(&snapshot, policy, shared.next()).await?;
    let rewind = effective.latest_rewind();
    let settings = Settings {
        policy,
        rules: &order.policy.rules,
        client: &client,
        summary,
        own: None,
        shared,
        rewound: rewind.map_or(Version::ZERO, |rewind| rewind.at),
    };
    let mut assembled = assemble(order, settings.clone(), &mut newest).await?;
    if assembled.account.is_without_the_beginning() {
        let own = own_instructions::read(&snapshot, &effective, at).await?;
        if own.is_some() {
            let with_own = Settings { own, ..settings };
            let with_own = assemble(order, with_own, &mut newest).await;
            assembled = where_it_fits(with_own, assembled)?;
        }
    }
    let options = order.options(&cache_key(target));
    let rendered = formats::render(order.format, &assembled.transcript, &options);
    let turns = assembled.transcript.turns.len();
    let mut receipt = receipt::of(&assembled.account, &rendered);
    receipt.turns = u32::try_from(turns).unwrap_or(u32::MAX);
    order.sign(target, at, &mut receipt);
    Ok(Made {
        body: rendered.body,
        names: rendered.names,
        receipt,
        position_token: snapshot.position_token(),
        is_in_rows: snapshot.is_in_rows(),
    })
}

/// The context with the conversation's own instructions; the one without where the newest turn needs the room that they would
/// take.
fn where_it_fits(
    with_own: Result<Assembled, Problem>,
    without: Assembled,
) -> Result<Assembled, Problem> {
    match with_own {
        Err(problem) if problem.reason() == Reason::BudgetTooSmall => Ok(without),
        with_own => with_own,
    }
}

/// Selects, and reads older events as long as it must; then makes the context.
async fn assemble(
    order: &Order,
    settings: Settings<'_>,
    newest: &mut Newest<'_>,
) -> Result<Assembled, Problem> {
    let plan = Plan::new(settings).map_err(|error| refused(&error))?;
    let selected = loop {
        let key = newest.cursor().snapshot().key();
        let mut counts = newest.cursor().segments().token_counts();
        let events = newest.newest_first();
        let events = events.map(|row| {
            let event = counted(decode(key, row)?);
            Ok::<_, Problem>(counts.count(event))
        });
        let extent = plan.extent(order.messages_max);
        match select(events, extent, reach(newest.coverage()))? {
            Selection::Selected(selected) => break selected,
            Selection::NeedsOlder => newest.read_older().await?,
        }
    };
    plan.complete(selected)
        .map_err(|no_room| refused(&PlanError::from(no_room)))
}

/// How far back the events reach that a context is selected from.
pub(crate) fn reach(coverage: Coverage) -> Reach {
    match coverage {
        Coverage::Whole => Reach::Beginning,
        Coverage::Bounded => Reach::Limit,
        Coverage::Partial => Reach::Window,
    }
}

/// Events that are older than the count of tokens, or than that of the texts in their files, are counted as they are read;
/// the line does not know them.
fn counted(mut event: RecordedEvent) -> RecordedEvent {
    let tokens = &mut event.event.tokens;
    tokens.own = if *tokens == EventTokens::default() {
        tokens::of_fact(&event.event.fact)
    } else {
        tokens::recounted(&event.event.fact, tokens.own)
    };
    event
}

/// The most events that a context can need, and how many it is likely to need.
fn bounds(order: &Order) -> (WindowBounds, usize) {
    let messages = order
        .messages_max
        .unwrap_or(MessageCount(BUDGETED_MESSAGES_MAX));
    let most = budget::context_tokens(&order.policy.policy) / EVENT_TOKENS_MIN;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let bounds = WindowBounds {
        events_max: messages.events_max(),
        bytes_max: CONTEXT_BYTES_MAX,
    };
    (bounds, EVENTS_LIKELY.min(most).min(messages.events_max()))
}

/// The same for all contexts of a conversation, and nothing that names it.
fn cache_key(target: &Target) -> String {
    let digest = Sha256::new()
        .chain_update(target.key.tenant.as_str())
        .chain_update([0])
        .chain_update(target.key.conversation.as_str())
        .finalize();
    format!(
        "hansard-{}",
        hex::encode(digest.get(..16).unwrap_or_default())
    )
}

fn refused(error: &PlanError) -> Problem {
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
    fn what_older_events_were_not_counted_for_is_counted_as_they_are_read() {
        let file = Part::File {
            source: MediaSource::Url(format!("data:text/csv,{}", "7,8.25 ".repeat(9_000))),
            media_type: None,
            filename: None,
        };
        let fact = Fact::MessageAppended(MessageAppended::said(Role::User, vec![file]));
        let whole = tokens::of_fact(&fact);
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
            let told = counted(event).event.tokens;
            let expected = EventTokens {
                own: expected,
                through,
            };
            assert_eq!(told, expected, "{own}");
        }
    }
}
