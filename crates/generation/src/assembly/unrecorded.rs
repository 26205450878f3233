//! Facts that are not recorded: of a run that continues a conversation, or given by a caller instead of a conversation.

use context::stages::own_instructions::own_instructions;
use context::{Assembled, Plan, Reach, Selection, Settings, select};
use domain::{ClientContext, CommitId, Event, EventId, EventTokens, Fact, RecordedEvent, TenantId, Timestamp, Version};
use history::{Newest, decode};
use prost::Message as _;
use read_model::EventRow;
use uuid::Uuid;
use wire::status::Problem;

use super::{ContextRequest, ModelContext, if_it_fits, media_parts, problem};
use record_access::Gateway;
use record_access::problem::compute_busy;

/// The commit id of facts that are not recorded.
const NO_COMMIT: CommitId = CommitId(Uuid::nil());

/// What the facts follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct After {
    /// The last version of the history.
    pub(super) at: Version,
    /// The last inherited version: the conversation counts tokens from there.
    pub(super) inherited: Version,
}

/// Appends facts to the newest events, with the versions and token counts that the writer will give them.
pub(super) fn push(newest: &mut Newest<'_>, after: After, facts: &[Fact]) -> Result<(), Problem> {
    let key = newest.snapshot().key();
    let last = newest.newest_first().next().map(|row| decode(key, row)).transpose()?;
    let recorded_at = last.as_ref().map_or(Timestamp(0), |last| last.recorded_at);
    let own = last.filter(|last| last.version > after.inherited).map_or(0, |last| last.event.tokens.through);
    // Token counts include hidden events.
    let rewind = newest.segments().latest_rewind().filter(|rewind| rewind.at > after.inherited);
    let through = own.max(rewind.map_or(0, |rewind| rewind.tokens_through));
    for (version, event) in events(after.at, through, facts.iter().cloned()) {
        newest.push_newer(EventRow {
            version,
            commit: NO_COMMIT,
            recorded_at,
            bytes: wire::event::to_proto(&event).encode_to_vec().into(),
        });
    }
    Ok(())
}

/// Assembles and renders a context from facts instead of a conversation, oldest first.
///
/// # Errors
/// The budget is too small; too much work of the tenant waits.
pub async fn assemble_given(
    gateway: &Gateway,
    tenant: &TenantId,
    request: &ContextRequest,
    facts: Vec<Fact>,
) -> Result<ModelContext, Problem> {
    // A model is called next, which takes far longer than to wait for a turn.
    gateway.compute.run(tenant.as_str(), || assemble_facts(request, facts)).await.map_err(compute_busy)?
}

fn assemble_facts(request: &ContextRequest, facts: Vec<Fact>) -> Result<ModelContext, Problem> {
    let settings = Settings {
        policy: &request.policy.policy,
        rules: &request.policy.rules,
        client: &ClientContext::default(),
        instructions: request.instructions.as_deref(),
        summary: None,
        own: None,
        shared: Version::ZERO,
        rewound: Version::ZERO,
    };
    let events: Vec<RecordedEvent> = events(Version::ZERO, 0, facts)
        .map(|(version, event)| RecordedEvent { version, commit: NO_COMMIT, recorded_at: Timestamp(0), event })
        .collect();
    let mut assembled = run_plan(settings.clone(), &events)?;
    if assembled.report.is_without_the_beginning()
        && let Some(own) = own_instructions(events.iter().cloned())
    {
        let own = Some(own);
        assembled = if_it_fits(run_plan(Settings { own, ..settings }, &events), assembled)?;
    }
    let rendered = formats::render(request.format, &assembled.transcript, &request.options(None));
    let media_parts = media_parts(&assembled.transcript);
    Ok(ModelContext { body: rendered.body, names: rendered.names, media_parts })
}

fn run_plan(settings: Settings<'_>, events: &[RecordedEvent]) -> Result<Assembled, Problem> {
    let plan = Plan::new(settings).map_err(|error| problem(&error))?;
    let newest_first = events.iter().rev().cloned().map(Ok::<_, Problem>);
    let Selection::Selected(selected) = select(newest_first, plan.extent(None), Reach::Beginning)? else {
        return Err(record_access::problem::of_contradiction(
            "a list that begins at its beginning needs nothing older".to_owned(),
        ));
    };
    plan.complete(selected).map_err(|no_room| problem(&no_room.into()))
}

/// Events for facts that follow a version and a token count, numbered and counted as the writer does it.
fn events(
    mut version: Version,
    mut through: u64,
    facts: impl IntoIterator<Item = Fact>,
) -> impl Iterator<Item = (Version, Event)> {
    facts.into_iter().enumerate().map(move |(index, fact)| {
        version = version.next();
        let own = tokens::count_fact(&fact);
        through += u64::from(own);
        let event = Event {
            id: EventId::derived(NO_COMMIT, index),
            occurred_at: None,
            metadata: None,
            tokens: EventTokens { own, through },
            fact,
        };
        (version, event)
    })
}
