//! Assembles a context from facts that a caller gives instead of a conversation, with the agent's policy.

use context::stages::own_instructions::own_instructions;
use context::{Assembled, Plan, Reach, Selection, Settings, select};
use domain::{
    ClientContext, CommitId, Event, EventId, EventTokens, Fact, RecordedEvent, Timestamp, Version,
};
use event_log::registry::AgentAccess;
use formats::{CallOutputs, Format, InstructionsRole, Names, RenderOptions, Thoughts};
use uuid::Uuid;
use wire::status::Problem;

use super::{if_it_fits, problem};
use crate::Gateway;
use context::stages::budget;

/// The commit id of given facts.
const NO_COMMIT: CommitId = CommitId(Uuid::nil());

/// Assembles and renders it. Returns the body and the names that the format rewrites.
///
/// # Errors
/// The policy cannot be read; the budget is too small.
pub async fn assemble(
    gateway: &Gateway,
    access: &AgentAccess,
    (format, call_outputs): (Format, CallOutputs),
    facts: Vec<Fact>,
) -> Result<(Vec<u8>, Names), Problem> {
    let (tenant, agent) = (access.tenant.tenant(), &access.agent);
    let policy = gateway
        .policies
        .find(&gateway.registry, tenant, agent, None)
        .await?;
    let client = ClientContext::default();
    let settings = Settings {
        policy: &policy.policy,
        rules: &policy.rules,
        client: &client,
        summary: None,
        own: None,
        shared: Version::ZERO,
        rewound: Version::ZERO,
    };
    let events = recorded(facts);
    let mut assembled = run_plan(settings.clone(), &events)?;
    let is_without = assembled.report.is_without_the_beginning();
    let own = is_without.then(|| own_instructions(events.iter().cloned()));
    let own = own.flatten();
    if own.is_some() {
        let with_own = run_plan(Settings { own, ..settings }, &events);
        assembled = if_it_fits(with_own, assembled)?;
    }
    let tokens = budget::context_tokens(&policy.policy);
    let options = RenderOptions {
        instructions_role: InstructionsRole::System,
        thoughts: Thoughts::Replay,
        call_outputs,
        cache_key: None,
        context_tokens_max: Some(u32::try_from(tokens).unwrap_or(u32::MAX)),
    };
    let rendered = formats::render(format, &assembled.transcript, &options);
    Ok((rendered.body, rendered.names))
}

fn run_plan(settings: Settings<'_>, events: &[RecordedEvent]) -> Result<Assembled, Problem> {
    let plan = Plan::new(settings).map_err(|error| problem(&error))?;
    let newest_first = events.iter().rev().cloned().map(Ok::<_, Problem>);
    let Selection::Selected(selected) = select(newest_first, plan.extent(None), Reach::Beginning)?
    else {
        return Err(crate::problem::of_contradiction(
            "a list that begins at its beginning needs nothing older".to_owned(),
        ));
    };
    plan.complete(selected)
        .map_err(|no_room| problem(&no_room.into()))
}

/// The facts as events, oldest first, with token counts as the writer computes them.
fn recorded(facts: Vec<Fact>) -> Vec<RecordedEvent> {
    let (mut version, mut through) = (Version::ZERO, 0);
    let events = facts.into_iter().enumerate().map(|(index, fact)| {
        version = version.next();
        let own = tokens::count_fact(&fact);
        through += u64::from(own);
        RecordedEvent {
            version,
            commit: NO_COMMIT,
            recorded_at: Timestamp(0),
            event: Event {
                id: EventId::derived(NO_COMMIT, index),
                occurred_at: None,
                metadata: None,
                tokens: EventTokens { own, through },
                fact,
            },
        }
    });
    events.collect()
}
