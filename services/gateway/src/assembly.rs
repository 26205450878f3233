//! Contexts in a form: reads what the plan asks for, lets pure code make the context, and accounts for it.

mod client;
pub mod listed;
mod order;
mod own_instructions;
mod pending;
mod receipt;
mod summary;

use context::plan::BUDGETED_MESSAGES_MAX;
use context::stages::budget;
use context::stages::pass_over::Moved;
use context::{
    Assembled, CONTEXT_KINDS, MessageCount, Plan, PlanError, Selection, Settings, select,
};
use domain::passed_over::Span;
use domain::{EventTokens, Fact, RecordedEvent, Version};
use formats::Names;
use read_model::queries::EventQuery;
use sha2::{Digest as _, Sha256};
use wire::proto::read::v1 as proto;
use wire::status::{Problem, Reason};

pub use order::Order;
use pending::Behind;

use crate::Gateway;
use crate::lineage::TokensBehind;
use crate::recent::{Recent, Wanted};
use crate::request::Target;
use crate::rpc::CONTEXT_BYTES_MAX;
use crate::window::{self, WindowBounds};

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
    /// What was read.
    pub recent: Recent,
}

/// Makes a context.
///
/// # Errors
/// As [`Recent::read`]; a version that is not there; no room.
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
    let mut recent = Recent::read(gateway, target, wanted(order)).await?;
    let at = order.version(recent.place.version)?;
    let summary = summary::newest(gateway, target, &recent, (&order.policy.policy, at)).await?;
    let shared = recent.lineage.shared(at);
    let before = Behind {
        at,
        shared: recent.lineage.shared(at.next()),
    };
    pending::push(&mut recent, &target.key, before, pending)?;
    let client = client::context(gateway, target, (&order.policy.policy, shared.next())).await?;
    let behind = recent.lineage.tokens(gateway).await?;
    let settings = Settings {
        policy: &order.policy.policy,
        rules: &order.policy.rules,
        client: &client,
        summary,
        own: None,
        shared,
        rewound: recent
            .passed
            .spans()
            .first()
            .map_or(Version::ZERO, |span| span.at),
    };
    let reading = Reading {
        gateway,
        target,
        order,
        behind: &behind,
    };
    let mut assembled = reading.assemble(settings.clone(), &mut recent).await?;
    if assembled.account.is_without_the_beginning() {
        let own = own_instructions::read(gateway, target, (&recent, at)).await?;
        if own.is_some() {
            let with_own = Settings { own, ..settings };
            let with_own = reading.assemble(with_own, &mut recent).await;
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
        recent,
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

/// What a context is made from, but for its settings.
struct Reading<'a> {
    gateway: &'a Gateway,
    target: &'a Target,
    order: &'a Order,
    behind: &'a TokensBehind,
}

impl Reading<'_> {
    /// Selects, and reads older events as long as it must; then makes the context.
    async fn assemble(
        &self,
        settings: Settings<'_>,
        recent: &mut Recent,
    ) -> Result<Assembled, Problem> {
        let plan = Plan::new(settings).map_err(|error| refused(&error))?;
        let selected = loop {
            let events = recent.window.newest_first();
            let mut moved = Moved::past(&recent.passed);
            let events = events.map(|row| {
                let event = window::recorded(&self.target.key, row)?;
                let event = self.behind.add(counted(event));
                let through = |span: &Span| self.behind.through(span.at, span.tokens_through);
                Ok::<_, Problem>(moved.up(event, through))
            });
            match select(events, plan.extent(self.order.messages_max), recent.reach())? {
                Selection::Selected(selected) => break selected,
                Selection::NeedsOlder => recent.read_older(self.gateway, self.target).await?,
            }
        };
        plan.complete(selected)
            .map_err(|no_room| refused(&PlanError::from(no_room)))
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

fn wanted(order: &Order) -> Wanted {
    let messages = order
        .messages_max
        .unwrap_or(MessageCount(BUDGETED_MESSAGES_MAX));
    let most = budget::context_tokens(&order.policy.policy) / EVENT_TOKENS_MIN;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    Wanted {
        kinds: &CONTEXT_KINDS,
        likely: EVENTS_LIKELY.min(most).min(messages.events_max()),
        to: order.at.unwrap_or(EventQuery::TO_THE_END),
        bounds: WindowBounds {
            events_max: messages.events_max(),
            bytes_max: CONTEXT_BYTES_MAX,
        },
    }
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
