//! The pointer moves: readers follow it by themselves, nothing is lost on the way, and what is left can be dropped.

use domain::{Fact, Lifecycle};
use read_model::projections::conversations::forget_usage;
use read_model::projections::conversations::lease::{self, Checkpoint, Holder};
use read_model::schemas::{Building, Dropped, Flip, Flipped, SchemasLock, flip};
use read_model::{
    Day, DayRange, LOOK_INTERVAL, ReadModel, ReadModelConfig, SchemaName, conversation,
    usage_by_day,
};
use sqlx::{Connection as _, PgConnection};
use tokio::time::{Instant, sleep};

use crate::fixture::{Author, Projection, START, access};
use crate::schemas::{history, made};

async fn seized(model: &ReadModel, holder: &str) -> Vec<Checkpoint> {
    let holder = Holder(holder.to_owned());
    lease::seize(model, &holder, lease::LEASE_TTL_MS)
        .await
        .unwrap()
}

/// A flip from the live schema to one that stands where it does.
async fn seized_flip(live: &ReadModel, building: &Building) -> Flip {
    Flip {
        from: building.live(),
        from_held: seized(live, "flip").await,
        to: building.name(),
        to_held: seized(building.model(), "flip").await,
    }
}

/// A system whose schema was made again.
struct Rebuilt {
    url: String,
    live: Projection,
    lock: SchemasLock,
    building: Building,
}

async fn rebuilt() -> Rebuilt {
    let url = devstack::test::database().await.url;
    let mut live = Projection::at(&url).await;
    let items = history();
    live.apply(items.clone()).await;
    let lock = SchemasLock::take(&live.model).await.unwrap().unwrap();
    let building = made(&lock, &items, 10).await;
    Rebuilt {
        url,
        live,
        lock,
        building,
    }
}

async fn run(url: &str, sql: &'static str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
}

#[tokio::test]
async fn readers_follow_by_themselves() {
    let Rebuilt {
        url,
        live,
        building,
        ..
    } = rebuilt().await;
    let reader = ReadModel::connect_lazy(&ReadModelConfig::new(&url)).unwrap();
    let id = Author::new("c0").key.conversation;
    let read = async || conversation(&reader, &access("acme"), &id).await.unwrap();
    let before = read().await;
    // What only the left one counts: conversations that were erased since.
    run(&url, "UPDATE conversations_v1.usage_day SET messages = messages + 5, input_tokens = input_tokens + 50").await;
    let day = Day::of(START);
    let days = DayRange::new(day, day).unwrap();
    let usage = async || usage_by_day(&reader, &access("acme"), None, days).await;
    let used = usage().await.unwrap();
    let switch = seized_flip(&live.model, &building).await;
    assert_eq!(flip(&live.model, &switch).await, Ok(Flipped::Done));
    assert_eq!(reader.live_schema().await, Ok(building.name()));
    assert_eq!(read().await, before);
    // A change that only the new one has is seen once the pointer was looked at.
    run(
        &url,
        "UPDATE conversations_v2.conversation SET title = 'new'",
    )
    .await;
    let deadline = Instant::now() + LOOK_INTERVAL * 20;
    while read().await.unwrap().title.as_deref() != Some("new") {
        assert!(Instant::now() < deadline, "never looked");
        sleep(LOOK_INTERVAL / 10).await;
    }
    assert_eq!((used.is_empty(), usage().await), (false, Ok(used)));
}

#[tokio::test]
async fn a_forgotten_tenants_usage_does_not_come_back_with_a_former_schema() {
    let Rebuilt {
        url,
        live,
        building,
        ..
    } = rebuilt().await;
    run(&url, "INSERT INTO conversations_v1.usage_day (tenant_id, agent_id, day, model, messages, input_tokens, output_tokens, cached_tokens, reasoning_tokens) SELECT 'other', agent_id, day, model, 1, 1, 1, 1, 1 FROM conversations_v1.usage_day").await;
    let held = async || {
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let rows = "SELECT tenant_id FROM conversations_v1.usage_day UNION ALL SELECT tenant_id FROM conversations_v2.usage_day";
        let mut tenants: Vec<String> = sqlx::query_scalar(rows)
            .fetch_all(&mut connection)
            .await
            .unwrap();
        tenants.sort();
        tenants.dedup();
        tenants
    };
    assert_eq!(held().await, ["acme", "other"]);
    let switch = seized_flip(&live.model, &building).await;
    assert_eq!(flip(&live.model, &switch).await, Ok(Flipped::Done));
    let acme = domain::TenantId::parse("acme").unwrap();
    forget_usage(&live.model, &acme).await.unwrap();
    assert_eq!(held().await, ["other"]);
}

#[tokio::test]
async fn what_was_left_goes_after_its_grace() {
    let Rebuilt {
        url,
        live,
        lock,
        building,
    } = rebuilt().await;
    let id = Author::new("c0").key.conversation;
    let reader = ReadModel::connect_lazy(&ReadModelConfig::new(&url)).unwrap();
    let dropped = async |name: SchemaName| lock.drop_schema(name).await.unwrap();
    assert_eq!(dropped(building.live()).await, Dropped::Refused);
    let switch = seized_flip(&live.model, &building).await;
    assert_eq!(flip(&live.model, &switch).await, Ok(Flipped::Done));
    // It was left just now.
    assert_eq!(dropped(SchemaName::FIRST).await, Dropped::Refused);
    assert_eq!(dropped(building.name()).await, Dropped::Refused);
    let read = async |model: &ReadModel| conversation(model, &access("acme"), &id).await;
    assert!(read(&live.model).await.unwrap().is_some());
    run(&url, "UPDATE hansard.schema SET left_at = now() - interval '11 seconds' WHERE left_at IS NOT NULL").await;
    assert_eq!(dropped(SchemaName::FIRST).await, Dropped::Gone);
    assert_eq!(dropped(SchemaName::FIRST).await, Dropped::Refused);
    assert!(read(&live.model).await.unwrap_err().is_unavailable());
    assert!(read(&reader).await.unwrap().is_some());
}

#[tokio::test]
async fn a_reader_of_a_dropped_schema_finds_the_live_one_in_the_same_read() {
    let Rebuilt {
        url,
        live,
        building,
        ..
    } = rebuilt().await;
    let reader = ReadModel::connect_lazy(&ReadModelConfig::new(&url)).unwrap();
    let id = Author::new("c0").key.conversation;
    let before = conversation(&reader, &access("acme"), &id).await.unwrap();
    let switch = seized_flip(&live.model, &building).await;
    assert_eq!(flip(&live.model, &switch).await, Ok(Flipped::Done));
    run(&url, "DROP SCHEMA conversations_v1 CASCADE").await;
    let after = conversation(&reader, &access("acme"), &id).await.unwrap();
    assert_eq!((before.is_some(), &after), (true, &before));
}

#[tokio::test]
async fn what_has_moved_on_is_not_switched() {
    let Rebuilt { live, building, .. } = rebuilt().await;
    let mut author = Author::new("later");
    let mut switch = seized_flip(&live.model, &building).await;
    // The former holder writes nothing any more; whoever takes it over does.
    let mut former = live;
    assert!(former.try_apply(vec![author.begin(90)]).await.is_err());
    former.checkpoint = seized(&former.model, "thief").await[0];
    assert_eq!(flip(&former.model, &switch).await, Ok(Flipped::Overtaken));
    former.apply(vec![author.say(91, "x")]).await;
    switch.from_held = seized(&former.model, "flip").await;
    assert_eq!(flip(&former.model, &switch).await, Ok(Flipped::Overtaken));
    assert_eq!(former.model.live_schema().await, Ok(building.live()));
}

#[tokio::test]
async fn an_erasure_reaches_what_is_kept() {
    let Rebuilt {
        url,
        live,
        building,
        ..
    } = rebuilt().await;
    let switch = seized_flip(&live.model, &building).await;
    assert_eq!(flip(&live.model, &switch).await, Ok(Flipped::Done));
    let mut author = Author::new("c0");
    let mut at = 0;
    // The same commits as the history has, so that the tombstone goes on from them.
    for round in 0..9 {
        at = round * 6 + 1;
        match round {
            0 => author.begin(at),
            _ => author.say(at, &format!("round {round} of 0")),
        };
    }
    let mut now = Projection::of(building.model().clone()).await;
    now.apply(vec![author.commit(
        at + 20,
        vec![Fact::Lifecycle(Lifecycle::ConversationErased)],
    )])
    .await;
    for schema in ["conversations_v1", "conversations_v2"] {
        let sql = format!(
            "SELECT (SELECT count(*) FROM {schema}.event WHERE conversation_id = 'c0')
                  + (SELECT count(*) FROM {schema}.conversation WHERE conversation_id = 'c0' AND status <> 3)"
        );
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let left: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(left, 0, "{schema}");
    }
    // What is kept is at its own place all the same, and can go on from there.
    let kept = live.model.in_schema(SchemaName::FIRST);
    let held = seized(&kept, "back").await;
    assert_eq!(held[0].sequence, switch.from_held[0].sequence);
}
