//! Reads what the page of a context shows: the context, the one before it, one by another policy, and the events.

use context::{CONTEXT_KINDS, Policy};
use domain::event::Role;
use domain::{EventKind, Fact, RecordedEvent, Version, ViolationReason};
use formats::Format;
use history::{Bounds, Direction, Page as Events, Target, decode};
use pages::dashboard::context::{ContextForm, ContextPage, Difference, Verification, context};
use pages::dashboard::transcript::path;
use runtime::http::HttpProblem;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::assemble_context_request::Policy as RequestedPolicy;
use wire::status::Problem;

use super::ContextQuery;
use super::values::{self, NewColumn};
use crate::conversations::{DashboardAction, record};
use crate::page::Page;
use crate::person::Person;
use conversations::assembly::{self, AssembledContext, ContextRequest};
use conversations::open::read_fenced;
use http_listener::state::HttpState;

/// Events that are listed with their outcome.
const EVENTS: Bounds = Bounds { events_max: 200, bytes_max: 2 * 1024 * 1024 };
/// Messages that are searched for the previous answer.
const ANSWERS: Bounds = Bounds { events_max: 50, bytes_max: 1024 * 1024 };
/// The full name of a receipt's message.
pub(super) const RECEIPT: &str = "hansard.read.v1.Receipt";

/// The page of a context.
pub(super) async fn inspect(
    state: &HttpState,
    person: &Person,
    id: &str,
    query: ContextQuery,
) -> Result<Page, HttpProblem> {
    inspect_with(state, person, id, query, None).await
}

/// The page of a context, with the verification of a receipt.
pub(super) async fn inspect_with(
    state: &HttpState,
    person: &Person,
    id: &str,
    query: ContextQuery,
    verification: Option<Verification>,
) -> Result<Page, HttpProblem> {
    let format = format_of(&query)?;
    let target = person.admin.target(state, id).await?;
    let (target, conversation) = read_fenced(state, target).await?;
    let action = DashboardAction::Viewed;
    record(state, person, action, &conversation.id, "context").await?;
    let newest = conversation.head.version;
    let version = query.version.map_or(newest, Version);
    let sent = assemble_at(state, &target, Some(version.0), format, None).await?;
    let requested = match query.before {
        Some(before) => Some(Version(before)),
        None => previous_answer(state, &target, version).await?,
    };
    let before = requested.filter(|version| *version > Version::ZERO && *version <= newest);
    let previous = previous(state, &target, before, format).await;
    let (other, other_error) = other(state, &target, version, &query).await;
    let (events, has_older_events) = events(state, &target, version).await?;
    let url = format!("{}/context/body?version={version}&format={format}", path(id));
    let column = values::column(NewColumn {
        id: "sent",
        heading: format!("As sent, in the format {format}"),
        body_url: Some(url),
        assembled: &sent,
        previous: previous.as_ref().map(|(version, context)| (*version, context)),
    });
    let difference = previous.as_ref().map(|(version, context)| {
        let [before, after] = [&context.body, &sent.body].map(|body| String::from_utf8_lossy(body));
        (*version, Difference::between(&before, &after))
    });
    let receipt = wire::json::of(RECEIPT, &sent.receipt).map(|json| json.to_string());
    let formats: Vec<&str> = Format::ALL.iter().map(|format| format.as_str()).collect();
    Ok(Page(context(ContextPage {
        person: person.layout(),
        conversation: conversation.id.as_str(),
        form: ContextForm {
            version,
            newest,
            format: format.as_str(),
            formats: &formats,
            before: query.before.map(Version),
            budget: query.budget,
            policy: &query.policy,
        },
        sent: &column,
        other: other.as_ref(),
        other_error: other_error.as_deref(),
        events: &values::events(&events, &sent.outcomes),
        has_older_events,
        difference: difference.as_ref().map(|(version, difference)| (*version, difference)),
        receipt: &receipt.unwrap_or_default(),
        verification: verification.as_ref(),
    })))
}

/// The context at an earlier version, if it can be assembled.
async fn previous(
    state: &HttpState,
    target: &Target,
    before: Option<Version>,
    format: Format,
) -> Option<(Version, AssembledContext)> {
    let before = before?;
    let context = assemble_at(state, target, Some(before.0), format, None).await;
    Some((before, context.ok()?))
}

/// The format of a query.
pub(super) fn format_of(query: &ContextQuery) -> Result<Format, HttpProblem> {
    if query.format.is_empty() {
        return Ok(Format::OpenAiChat);
    }
    Format::parse(&query.format).ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.as_str()).collect();
        let detail = format!("`format` is unknown: use {}", names.join(", "));
        HttpProblem::of_field(ViolationReason::Malformed, "format", detail)
    })
}

/// The context at a version, as the gateway answers it to agents. `version` absent: the newest; `policy` absent: the agent's.
pub(crate) async fn assemble_at(
    state: &HttpState,
    target: &Target,
    version: Option<u64>,
    format: Format,
    policy: Option<String>,
) -> Result<AssembledContext, HttpProblem> {
    let request = proto::AssembleContextRequest {
        at_version: version.unwrap_or_default(),
        format: format.number(),
        policy: policy.map(RequestedPolicy::PolicyJson),
        with_outcomes: true,
        ..proto::AssembleContextRequest::default()
    };
    assemble(state, target, request).await
}

/// The context of a request that has a format.
pub(super) async fn assemble(
    state: &HttpState,
    target: &Target,
    request: proto::AssembleContextRequest,
) -> Result<AssembledContext, HttpProblem> {
    let gateway = &state.gateway;
    let request = ContextRequest::from_proto(gateway, target, request).await?.ok_or_else(|| {
        HttpProblem::of_field(ViolationReason::Missing, "format", "a context needs a format".to_owned())
    })?;
    assembly::assemble(gateway, target, &request, &[]).await.map_err(HttpProblem::from)
}

/// The column of another policy or budget, or why there is none.
async fn other(
    state: &HttpState,
    target: &Target,
    version: Version,
    query: &ContextQuery,
) -> (Option<pages::dashboard::context::ContextColumn>, Option<String>) {
    if query.policy.trim().is_empty() && query.budget.is_none() {
        return (None, None);
    }
    let assembled = async {
        let format = format_of(query)?;
        let policy = other_policy(state, target, query).await?;
        assemble_at(state, target, Some(version.0), format, Some(policy)).await
    };
    match assembled.await {
        Ok(assembled) => {
            let column = values::column(NewColumn {
                id: "other",
                heading: "By the other policy".to_owned(),
                body_url: None,
                assembled: &assembled,
                previous: None,
            });
            (Some(column), None)
        }
        Err(problem) => (None, Some(format!("The other policy: {}", problem.detail))),
    }
}

/// The other policy as JSON: the given one or the agent's, with the given budget.
async fn other_policy(state: &HttpState, target: &Target, query: &ContextQuery) -> Result<String, HttpProblem> {
    let gateway = &state.gateway;
    let json = query.policy.trim();
    let given = (!json.is_empty()).then(|| RequestedPolicy::PolicyJson(json.to_owned()));
    let (tenant, agent) = (&target.key.tenant, &target.access.agent);
    let mut policy: Policy = gateway.policies.find(&gateway.registry, tenant, agent, given).await?.policy.clone();
    if query.budget.is_some() {
        policy.budget.context_tokens_max = query.budget;
    }
    Ok(policy.to_json())
}

/// The version that the model read before its previous answer; `None`: there is no earlier answer nearby.
async fn previous_answer(state: &HttpState, target: &Target, version: Version) -> Result<Option<Version>, HttpProblem> {
    let query = history::Range {
        to: version,
        kinds: &[EventKind::MessageAppended],
        ..history::Range::all(Direction::Backward)
    };
    let (events, _) = read(state, target, query, ANSWERS).await?;
    let answers = events.iter().filter(|event| {
        let fact = &event.event.fact;
        matches!(fact, Fact::MessageAppended(message) if message.role == Role::Assistant)
    });
    let mut before = answers.map(|answer| Version(answer.version.0.saturating_sub(1)));
    Ok(before.next())
}

/// The newest events that models read up to a version, oldest first, and whether there are older ones.
async fn events(
    state: &HttpState,
    target: &Target,
    version: Version,
) -> Result<(Vec<RecordedEvent>, bool), HttpProblem> {
    let query = history::Range { to: version, kinds: &CONTEXT_KINDS, ..history::Range::all(Direction::Backward) };
    let (mut events, has_older) = read(state, target, query, EVENTS).await?;
    events.reverse();
    Ok((events, has_older))
}

async fn read(
    state: &HttpState,
    target: &Target,
    query: history::Range<'_>,
    bounds: Bounds,
) -> Result<(Vec<RecordedEvent>, bool), HttpProblem> {
    let page = Events::recorded(&state.gateway.reader, target, query, bounds).await?;
    let events: Result<Vec<RecordedEvent>, Problem> = page.events.iter().map(|row| decode(&target.key, row)).collect();
    Ok((events?, page.next.is_some()))
}
