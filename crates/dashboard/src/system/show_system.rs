//! `GET /dashboard/system`: what `hansard status` shows, as far as a gateway may read it.

use axum::extract::State;
use domain::{TenantId, Timestamp};
use futures::future::join_all;
use identity::TenantScope;
use pages::components::{bytes, utc};
use pages::dashboard::system::{LagSample, ParkedRow, SystemPage, TextTable, system};
use read_model::ReadModel;
use read_model::projections::conversations::parking::{self, ParkedConversation};
use read_model::schemas::{self, SchemaInfo, SchemaState};
use runtime::http::HttpProblem;
use system_status::text::{PARTITION_COLUMNS, facts, partition_cells};
use system_status::{Limits, Reader, Status};

use crate::page::Page;
use crate::person::Person;
use http_listener::state::HttpState;

/// Parked conversations of the page.
pub const PARKED_SHOWN_MAX: usize = 100;
/// Tenants of the page.
pub const TENANTS_SHOWN_MAX: usize = 200;

pub(crate) async fn show_system(State(state): State<HttpState>, person: Person) -> Result<Page, HttpProblem> {
    let status = read(&state).await;
    let partitions: Vec<Vec<String>> =
        status.partitions.iter().map(|partition| partition_cells(partition).to_vec()).collect();
    let heads = PARTITION_COLUMNS.map(capitalised);
    let model = &state.gateway.reader.read_model;
    let schemas = schemas(model).await;
    let tenants = tenants(&state, &person);
    let own = person.admin.tenant.tenant();
    let mut parked = parked(model, tenants.is_none().then_some(own)).await;
    let has_more_parked = parked.len() > PARKED_SHOWN_MAX;
    parked.truncate(PARKED_SHOWN_MAX);
    let shown = tenants.as_deref().map(|tenants| tenants.get(..TENANTS_SHOWN_MAX).unwrap_or(tenants));
    let samples = state.lag.list().into_iter().map(|sample| LagSample {
        at: sample.at,
        rows: sample.rows,
        search: sample.search,
    });
    Ok(Page(system(SystemPage {
        person: person.layout(),
        needs: &status.needs,
        warnings: &status.warnings,
        facts: &facts(&status),
        lag: &samples.collect::<Vec<_>>(),
        partitions: TextTable { columns: &heads.each_ref().map(String::as_str), rows: &partitions },
        schemas: TextTable { columns: &["Schema", "State", "Phase", "Size", "Made", "Left"], rows: &schemas },
        parked: &parked,
        has_more_parked,
        tenants: shown,
        has_more_tenants: tenants.as_ref().map(Vec::len) > Some(TENANTS_SHOWN_MAX),
    })))
}

async fn read(state: &HttpState) -> Status {
    let gateway = &state.gateway;
    let (record, registry) = (gateway.reader.record.clone(), gateway.registry.clone());
    let model = &gateway.reader.read_model;
    let shards = model.shards().iter().filter_map(|shard| Some((shard.shard_name()?.to_owned(), shard.clone())));
    let databases = model.databases();
    let mut reader = Reader::of_gateway(record, registry, model.clone()).with_shards(shards.collect());
    for database in &databases {
        reader = reader.with_replicas(database, database.named_replicas());
    }
    Status::from_readings(&reader.read().await, Limits::default())
}

/// `Rows to` for `ROWS TO`.
fn capitalised(head: &str) -> String {
    let mut chars = head.chars();
    let first = chars.next().into_iter();
    first.chain(chars.flat_map(char::to_lowercase)).collect()
}

/// The schemas of the rows of all databases. Those of a database that does not answer are omitted: the page says above that it does not.
async fn schemas(model: &ReadModel) -> Vec<Vec<String>> {
    let databases = model.databases().into_iter();
    let lists = databases.map(|database| async move {
        let schemas = schemas::list(&database).await.unwrap_or_default();
        schemas.iter().map(|one| schema(database.shard_name(), one)).collect::<Vec<_>>()
    });
    join_all(lists).await.concat()
}

fn schema(shard: Option<&str>, schema: &SchemaInfo) -> Vec<String> {
    let state = match schema.state {
        SchemaState::Live => "live",
        SchemaState::Building => "being built",
        SchemaState::Kept => "kept",
    };
    vec![
        shard.map_or_else(|| schema.name.to_string(), |shard| format!("{} in {shard}", schema.name)),
        state.to_owned(),
        schema.phase.as_str().to_owned(),
        bytes(schema.bytes),
        utc(schema.made_at),
        schema.left_at.map_or_else(String::new, |at: Timestamp| utc(at)),
    ]
}

/// Parked conversations of one tenant or of all, more than are shown if there are.
async fn parked(model: &ReadModel, tenant: Option<&TenantId>) -> Vec<ParkedRow> {
    let limit = u32::try_from(PARKED_SHOWN_MAX + 1).unwrap_or(u32::MAX);
    let databases = match tenant {
        Some(tenant) => vec![model.of(tenant)],
        None => model.databases(),
    };
    let lists =
        join_all(databases.iter().map(|database| parking::list_by_reader(database, tenant, limit))).await.into_iter();
    let parked = lists.flat_map(Result::unwrap_or_default);
    let is_shown = |one: &ParkedConversation| tenant.is_none_or(|tenant| one.key.tenant == *tenant);
    parked.filter(is_shown).map(row).collect()
}

fn row(parked: ParkedConversation) -> ParkedRow {
    ParkedRow {
        tenant: parked.key.tenant.as_str().to_owned(),
        conversation: parked.key.conversation.as_str().to_owned(),
        sequence: parked.position.sequence.0,
        reason: parked.reason,
        attempts: parked.attempts,
        commits: parked.commits,
    }
}

/// The tenants that the person may switch to, by id.
fn tenants(state: &HttpState, person: &Person) -> Option<Vec<String>> {
    if person.session.tenant_scope() != TenantScope::All {
        return None;
    }
    let mut tenants: Vec<String> =
        state.gateway.registry.list_tenants().into_iter().map(|tenant| tenant.tenant_id).collect();
    tenants.sort();
    Some(tenants)
}
