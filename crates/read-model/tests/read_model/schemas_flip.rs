//! Switches of the live schema: readers follow, no data is lost, and the previous schema can be dropped.

use domain::{Fact, Lifecycle};
use read_model::projections::conversations::delete_usage;
use read_model::projections::conversations::lease::{self, Checkpoint, Holder};
use read_model::queries::runs_by_day;
use read_model::schemas::{DropOutcome, Flip, FlipOutcome, LiveRows, SchemaBuild, SchemasLock, flip};
use read_model::{Day, DayRange, LIVE_SCHEMA_TTL, ReadModel, ReadModelConfig, SchemaName, conversation, usage_by_day};
use sqlx::{Connection as _, PgConnection};
use tokio::time::{Instant, sleep};

use crate::fixture::{Author, Projection, START, access, execute};
use crate::schemas::{history, made};

async fn take_all(model: &ReadModel, holder: &str) -> Vec<Checkpoint> {
    let holder = Holder(holder.to_owned());
    lease::take_all(model, &holder, lease::LEASE_TTL_MS).await.unwrap()
}

/// A switch from the live schema to the rebuilt one.
async fn flip_with_leases(live: &ReadModel, building: &SchemaBuild) -> Flip {
    Flip {
        from: building.live(),
        from_held: take_all(live, "flip").await,
        to: building.name(),
        to_held: take_all(building.model(), "flip").await,
        live_rows: LiveRows::Equal,
    }
}

/// A system with a rebuilt schema.
struct Rebuilt {
    url: String,
    live: Projection,
    lock: SchemasLock,
    building: SchemaBuild,
}

async fn rebuilt() -> Rebuilt {
    let url = devstack::test::database().await.url;
    let mut live = Projection::at(&url).await;
    let items = history();
    live.apply(items.clone()).await;
    let lock = SchemasLock::take(&live.model).await.unwrap().unwrap();
    let building = made(&lock, &items, 10).await;
    Rebuilt { url, live, lock, building }
}

#[tokio::test]
async fn readers_follow_the_live_schema() {
    let Rebuilt { url, live, building, .. } = rebuilt().await;
    let reader = ReadModel::connect_lazy(&ReadModelConfig::new(&url)).unwrap();
    let id = Author::new("c0").key.conversation;
    let read = async || conversation(&reader, &access("acme"), &id).await.unwrap();
    let before = read().await;
    // Usage that only the previous schema contains: of erased conversations.
    execute(&url, "UPDATE conversations_v1.usage_day SET messages = messages + 5, input_tokens = input_tokens + 50")
        .await;
    execute(&url, "INSERT INTO conversations_v1.run_day (runs, day, outcome, tenant_id, agent_id) VALUES (7, '2023-11-14', 2, 'acme', 'a')").await;
    let day = Day::from_time(START);
    let days = DayRange::new(day, day).unwrap();
    let runs = async || runs_by_day(&reader, &access("acme"), None, days).await;
    let ended = runs().await.unwrap();
    let usage = async || usage_by_day(&reader, &access("acme"), None, days).await;
    let used = usage().await.unwrap();
    let switch = flip_with_leases(&live.model, &building).await;
    assert_eq!(flip(&live.model, &switch).await, Ok(FlipOutcome::Done));
    assert_eq!(reader.live_schema().await, Ok(building.name()));
    assert_eq!(read().await, before);
    // Readers see a change in the new schema after the TTL.
    let change = "UPDATE conversations_v2.conversation SET title = 'new'";
    execute(&url, change).await;
    let deadline = Instant::now() + LIVE_SCHEMA_TTL * 20;
    while read().await.unwrap().title.as_deref() != Some("new") {
        assert!(Instant::now() < deadline, "the reader did not follow");
        sleep(LIVE_SCHEMA_TTL / 10).await;
    }
    assert_eq!((used.is_empty(), usage().await), (false, Ok(used)));
    assert_eq!((ended.is_empty(), runs().await), (false, Ok(ended)));
}

#[tokio::test]
async fn usage_is_deleted_in_all_schemas() {
    let Rebuilt { url, live, building, .. } = rebuilt().await;
    execute(&url, "INSERT INTO conversations_v1.usage_day (tenant_id, agent_id, day, model, messages, input_tokens, output_tokens, cached_tokens, reasoning_tokens) SELECT 'other', agent_id, day, model, 1, 1, 1, 1, 1 FROM conversations_v1.usage_day").await;
    execute(&url, "INSERT INTO conversations_v2.run_day (runs, day, outcome, tenant_id, agent_id) VALUES (1, '2023-11-14', 1, 'other', 'a')").await;
    let held = async || {
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let rows = "SELECT tenant_id FROM conversations_v1.usage_day UNION ALL SELECT tenant_id FROM conversations_v2.usage_day
                    UNION ALL SELECT tenant_id FROM conversations_v2.run_day";
        let mut tenants: Vec<String> = sqlx::query_scalar(rows).fetch_all(&mut connection).await.unwrap();
        tenants.sort();
        tenants.dedup();
        tenants
    };
    assert_eq!(held().await, ["acme", "other"]);
    let switch = flip_with_leases(&live.model, &building).await;
    assert_eq!(flip(&live.model, &switch).await, Ok(FlipOutcome::Done));
    let acme = domain::TenantId::parse("acme").unwrap();
    delete_usage(&live.model, &acme).await.unwrap();
    assert_eq!(held().await, ["other"]);
}

#[tokio::test]
async fn the_previous_schema_is_dropped_after_the_grace() {
    let Rebuilt { url, live, lock, building } = rebuilt().await;
    let id = Author::new("c0").key.conversation;
    let reader = ReadModel::connect_lazy(&ReadModelConfig::new(&url)).unwrap();
    let dropped = async |name: SchemaName| lock.drop_schema(name).await.unwrap();
    assert_eq!(dropped(building.live()).await, DropOutcome::Refused);
    let switch = flip_with_leases(&live.model, &building).await;
    assert_eq!(flip(&live.model, &switch).await, Ok(FlipOutcome::Done));
    // The switch was just now.
    assert_eq!(dropped(SchemaName::FIRST).await, DropOutcome::Refused);
    assert_eq!(dropped(building.name()).await, DropOutcome::Refused);
    let read = async |model: &ReadModel| conversation(model, &access("acme"), &id).await;
    assert!(read(&live.model).await.unwrap().is_some());
    execute(&url, "UPDATE hansard.schema SET left_at = now() - interval '11 seconds' WHERE left_at IS NOT NULL").await;
    assert_eq!(dropped(SchemaName::FIRST).await, DropOutcome::Dropped);
    assert_eq!(dropped(SchemaName::FIRST).await, DropOutcome::Refused);
    assert!(read(&live.model).await.unwrap_err().is_unavailable());
    assert!(read(&reader).await.unwrap().is_some());
}

#[tokio::test]
async fn a_read_of_a_dropped_schema_is_retried_in_the_live_one() {
    let Rebuilt { url, live, building, .. } = rebuilt().await;
    let reader = ReadModel::connect_lazy(&ReadModelConfig::new(&url)).unwrap();
    let id = Author::new("c0").key.conversation;
    let before = conversation(&reader, &access("acme"), &id).await.unwrap();
    let switch = flip_with_leases(&live.model, &building).await;
    assert_eq!(flip(&live.model, &switch).await, Ok(FlipOutcome::Done));
    execute(&url, "DROP SCHEMA conversations_v1 CASCADE").await;
    let after = conversation(&reader, &access("acme"), &id).await.unwrap();
    assert_eq!((before.is_some(), &after), (true, &before));
}

#[tokio::test]
async fn a_switch_fails_after_a_concurrent_write() {
    let Rebuilt { live, building, .. } = rebuilt().await;
    let mut author = Author::new("later");
    let mut switch = flip_with_leases(&live.model, &building).await;
    // The previous holder cannot write; the new one can.
    let mut former = live;
    assert!(former.try_apply(vec![author.begin(90)]).await.is_err());
    former.checkpoint = take_all(&former.model, "thief").await[0];
    assert_eq!(flip(&former.model, &switch).await, Ok(FlipOutcome::Conflict));
    former.apply(vec![author.say(91, "x")]).await;
    switch.from_held = take_all(&former.model, "flip").await;
    assert_eq!(flip(&former.model, &switch).await, Ok(FlipOutcome::Conflict));
    assert_eq!(former.model.live_schema().await, Ok(building.live()));
}

#[tokio::test]
async fn an_erasure_includes_retained_schemas() {
    let Rebuilt { url, live, building, .. } = rebuilt().await;
    let switch = flip_with_leases(&live.model, &building).await;
    assert_eq!(flip(&live.model, &switch).await, Ok(FlipOutcome::Done));
    let mut author = Author::new("c0");
    let mut at = 0;
    // The same commits as in the history, so that the tombstone follows them.
    for round in 0..9 {
        at = round * 6 + 1;
        match round {
            0 => author.begin(at),
            _ => author.say(at, &format!("round {round} of 0")),
        };
    }
    let mut now = Projection::of(building.model().clone()).await;
    now.apply(vec![author.commit(at + 20, vec![Fact::Lifecycle(Lifecycle::ConversationErased)])]).await;
    for schema in ["conversations_v1", "conversations_v2"] {
        let sql = format!(
            "SELECT (SELECT count(*) FROM {schema}.event WHERE conversation_id = 'c0')
                  + (SELECT count(*) FROM {schema}.conversation WHERE conversation_id = 'c0' AND status <> 3)"
        );
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let left: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(&mut connection).await.unwrap();
        assert_eq!(left, 0, "{schema}");
    }
    // The checkpoint of the retained schema is unchanged.
    let kept = live.model.in_schema(SchemaName::FIRST);
    let held = take_all(&kept, "back").await;
    assert_eq!(held[0].sequence, switch.from_held[0].sequence);
}
