//! Plans: every query of a reader uses its index, with default planner settings and enough rows for other plans. Statements of
//! several conversations and of projectors use theirs where the planner's other choices are off.

use read_model::SchemaName;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};

use crate::fixture::Projection;

/// The statement of a query, example arguments, and the index that it must use.
struct Case {
    sql: &'static str,
    /// The placeholder of a template, and its value.
    replacement: (&'static str, &'static str),
    arguments: &'static str,
    index: &'static str,
}

macro_rules! case {
    ($file:literal ($arguments:literal) by $index:literal) => {
        case!($file "" "" ($arguments) by $index)
    };
    ($file:literal $placeholder:literal $value:literal ($arguments:literal) by $index:literal) => {
        Case {
            sql: include_str!(concat!("../../src/queries/", $file, ".sql")),
            replacement: ($placeholder, $value),
            arguments: $arguments,
            index: $index,
        }
    };
}

#[rustfmt::skip]
const CASES: [Case; 52] = [
    case!("list_by_owner" "{owner_id}" "session_id" ("'t1', 'a1', 's9', '{1,2}', 'infinity', '', 50, '-infinity'") by "conversation_by_session"),
    case!("list_by_owner" "{owner_id}" "session_id" ("'t1', 'a1', 's9', '{1}', 'now', 'c7', 50, 'yesterday'") by "conversation_by_session"),
    case!("list_by_owner" "{owner_id}" "user_id" ("'t1', 'a1', 'u1', '{1,2}', 'infinity', '', 50, '-infinity'") by "conversation_by_user"),
    case!("list_by_owner" "{owner_id}" "channel_id" ("'t1', 'a1', 'h25', '{1,2}', 'infinity', '', 50, '-infinity'") by "conversation_by_channel"),
    case!("list_by_agent" ("'t1', 'a1', '{1,2}', 'infinity', '', 50, '-infinity'") by "conversation_by_agent"),
    case!("list_by_agent" ("'t1', 'a1', '{1}', 'now', 'c7', 50, 'yesterday'") by "conversation_by_agent"),
    case!("list_by_tenant" ("'t1', '{1,2}', 'infinity', '', 50, '-infinity'") by "conversation_by_tenant"),
    case!("list_by_tenant" ("'t1', '{2}', 'now', 'c7', 50, 'yesterday'") by "conversation_by_tenant"),
    case!("conversation" ("'t1', 'c5'") by "conversation_pkey"),
    case!("named_conversations" ("'t1', 'a1', 'u1', 'named:x:', 20, 16") by "conversation_by_name"),
    case!("find_commit" ("'t1', 'c5', '00000000-0000-0000-0000-000000000000'") by "event_by_commit"),
    case!("few_events" "{direction}" "ASC" ("'t1', 'c5', 1, 4, 10, NULL") by "event_pkey"),
    case!("few_events" "{direction}" "DESC" ("'t1', 'c5', 1, 4, 10, NULL") by "event_pkey"),
    case!("events" "{direction}" "ASC" ("'t1', 'c5', 1, 4, 10, NULL, 1000") by "event_pkey"),
    case!("events" "{direction}" "DESC" ("'t1', 'c5', 1, 4, 10, NULL, 1000") by "event_pkey"),
    case!("rare_events" "{direction}" "ASC" ("'t1', 'c5', 1, 4, 10, '{2}', 1000") by "event_by_kind"),
    case!("rare_events" "{direction}" "DESC" ("'t1', 'c5', 1, 4, 10, '{2}', 1000") by "event_by_kind"),
    case!("usage_by_tenant" ("'t1', current_date - 365, current_date, 10000") by "usage_day_of_tenant"),
    case!("usage_by_agent" ("'t1', current_date - 365, current_date, 10000, 'a1'") by "usage_day_pkey"),
    case!("runs_by_day" ("'t1', current_date - 365, current_date, 10000, NULL") by "run_day_pkey"),
    case!("runs_by_day" ("'t1', current_date - 365, current_date, 10000, 'a1'") by "run_day_pkey"),
    case!("model_usage_of" ("'t1', current_date, '{1,2,3,4}', '{\"\",a1,k1,o1}'") by "model_usage_pkey"),
    case!("model_usage_by_tenant" ("'t1', current_date - 365, current_date, 10000, NULL") by "model_usage_pkey"),
    case!("model_usage_by_tenant" ("'t1', current_date - 365, current_date, 10000, 'a1'") by "model_usage_pkey"),
    case!("parents_of_forks" ("'t1', '{c5,c7,c9}'") by "conversation_by_fork"),
    case!("lineage" ("'t1', 'c5', 64, 4, 1, 10, NULL, 1000") by "conversation_pkey"),
    case!("lineage" ("'t1', 'c5', 64, 4, 1, 10, '{1}', 1000") by "event_pkey"),
    case!("forks" ("'t1', 'c5', 64, 1000") by "conversation_by_fork"),
    case!("expired_idle" ("'t1', 'a1', '{1,2}', '-infinity', '', 'now', 50") by "conversation_by_agent"),
    case!("expired_empty" ("'t1', 'a1', '', 50") by "conversation_empty"),
    case!("expired_long" ("'t1', 'a1', '{1}', 'infinity', '', 50") by "conversation_by_agent"),
    case!("expired_by_owner" "{owner_id}" "session_id" ("'t1', 'a1', '{1,2}', '', 3, 50, 20") by "conversation_by_session"),
    case!("expired_by_owner" "{owner_id}" "user_id" ("'t1', 'a1', '{1,2}', '', 3, 50, 20") by "conversation_by_user"),
    case!("expired_by_owner" "{owner_id}" "channel_id" ("'t1', 'a1', '{1,2}', '', 3, 50, 20") by "conversation_by_channel"),
    case!("storage_of_tenant" ("'t1', 100000") by "storage_pkey"),
    case!("storage_of_tenant" ("'t1', 100000") by "conversation_empty"),
    case!("storage_of_agent" ("'t1', 'a1', 100000") by "storage_pkey"),
    case!("storage_of_agent" ("'t1', 'a1', 100000") by "conversation_empty"),
    case!("storage_of_owner" "{owner_id}" "user_id" ("'t1', 'a1', 'u1', 20") by "conversation_by_user"),
    case!("storage_of_owner" "{owner_id}" "session_id" ("'t1', 'a1', 's9', 20") by "conversation_by_session"),
    case!("storage_of_owner" "{owner_id}" "channel_id" ("'t1', 'a1', 'h25', 20") by "conversation_by_channel"),
    case!("documents/find" ("'t1', 'c5', E'n5\\u0001', 'k'") by "document_pkey"),
    case!("documents/search" "{scope}" "document.owner" ("'t1', 'a1', 'user:u1', E'n1\\u0001', E'n1\\u0002', 'now', '[]', 10, 0") by "document_by_"),
    case!("documents/search" "{scope}" "document.conversation_id" ("'t1', 'a1', 'c5', E'n1\\u0001', E'n1\\u0002', 'now', '[]', 10, 0") by "document_"),
    case!("documents/namespaces" "{scope}" "document.owner" ("'t1', 'a1', 'user:u1', 'now', '{}', '{}', 16, 10, 0") by "document_by_"),
    case!("documents/expired" ("'t1', 'now', '-infinity', '', 1000") by "document_by_expiry"),
    case!("documents/expired" ("'t1', 'infinity', 'now', 'c5', 1000") by "document_by_expiry"),
    case!("provider_log" ("'t1', '00000000-0000-0000-0000-000000000000'") by "provider_log_pkey"),
    case!("provider_logs" "{filter}" "" ("'t1', 'infinity', '00000000-0000-0000-0000-000000000000', '-infinity', NULL, 50") by "provider_log_by_tenant"),
    case!("provider_logs" "{filter}" "" ("'t1', 'now', '00000000-0000-0000-0000-000000000000', 'yesterday', 'o1', 50") by "provider_log_by_tenant"),
    case!("provider_logs" "{filter}" "AND agent_id = $7" ("'t1', 'infinity', '00000000-0000-0000-0000-000000000000', '-infinity', NULL, 50, 'a1'") by "provider_log_by_agent"),
    case!("provider_logs" "{filter}" "AND conversation_id = $7 AND ($8::text IS NULL OR agent_id = $8)" ("'t1', 'infinity', '00000000-0000-0000-0000-000000000000', '-infinity', NULL, 50, 'c5', NULL") by "provider_log_by_conversation"),
];

/// Statements of several conversations, which [`CASES`] does not contain: with two conversations each.
#[rustfmt::skip]
const SEVERAL: [Case; 5] = [
    case!("events_of_ranges" ("'t1', '{c5,c7}', '{1,1}', '{4,4}', 10, NULL, 1000") by "event_pkey"),
    case!("rare_events_of_ranges" ("'t1', '{c5,c7}', '{1,1}', '{4,4}', 10, '{2}', 1000") by "event_by_kind"),
    case!("conversation_facts" ("'t1', '{c5,c7}', 'm', 'x', 200, 20, 2, 5, 13") by "event_by_kind"),
    case!("conversation_excerpts" ("'t1', '{c5,c7}', 1000, 200, 1, 2") by "event_pkey"),
    case!("search/rewinds" ("'t1', '{c5,c7}', 1000") by "event_"),
];

macro_rules! projection_case {
    ($file:literal ($arguments:literal)) => {
        Case {
            sql: include_str!(concat!("../../src/projections/", $file, ".sql")),
            replacement: ("{columns}", "version, body"),
            arguments: $arguments,
            index: "event_pkey",
        }
    };
}

/// Statements of projectors, with one or two conversations each; the last ones delete.
#[rustfmt::skip]
const PROJECTIONS: [Case; 7] = [
    projection_case!("conversations/verification/events_of" ("'t1', 'c5', 1, 4")),
    projection_case!("conversations/verification/unfounded_events" ("'t1', 'c5', 2, 3, 4, 10")),
    projection_case!("conversations/residue" ("'{t1,t3}', '{c5,c7}'")),
    projection_case!("search/events_of_conversation" ("'t1', 'c5', 0, 10")),
    projection_case!("search/recorded_events" ("'t1', 'a5', 'c5', 0, 1, 10")),
    projection_case!("conversations/erase_event_range" ("'t1', 'c5', 1, 2")),
    projection_case!("conversations/erase_events" ("'{t1,t3}', '{c5,c7}'")),
];

/// The options of connections that restrict the planner.
const RESTRICTED: &str =
    "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off";

/// A connection with our options, except those that restrict the planner.
async fn connect(url: &str) -> PgConnection {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let path = format!("SET search_path = {}", SchemaName::FIRST);
    connection.execute(AssertSqlSafe(path)).await.unwrap();
    for statement in ["SET plan_cache_mode = force_generic_plan", "SET jit = off"] {
        connection.execute(statement).await.unwrap();
    }
    connection
}

/// A reader of `t1`.
async fn reader(url: &str) -> PgConnection {
    let mut connection = connect(url).await;
    for statement in ["SET ROLE hansard_reader", "SET hansard.tenant = 't1'"] {
        connection.execute(statement).await.unwrap();
    }
    connection
}

impl Case {
    fn statement(&self) -> String {
        let (placeholder, value) = self.replacement;
        self.sql.replace(placeholder, value)
    }

    /// The statement of several conversations that is derived from this one, and its arguments; `None`: there is none.
    fn of_several(&self) -> Option<(String, String)> {
        let bounds = self.arguments.strip_prefix("'t1', 'c5', 1, 4, ")?;
        // Those of several conversations count bytes.
        let bounds = bounds.ends_with(", 1000").then_some(bounds)?;
        let of_each = self.statement().replace("conversation_id = $2", "conversation_id = of_ids.id");
        let of_several = include_str!("../../src/queries/of_several.sql");
        Some((of_several.replace("{of_each}", &of_each), format!("'t1', '{{c5,c7}}', 1, 4, {bounds}")))
    }
}

/// The plan with numbers of rows.
async fn plan(reader: &mut PgConnection, statement: &str, arguments: &str) -> String {
    let prepare = format!("DEALLOCATE ALL; PREPARE query AS {statement}");
    reader.execute(AssertSqlSafe(prepare)).await.unwrap();
    let explain = format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF) EXECUTE query ({arguments})");
    let explain = sqlx::raw_sql(AssertSqlSafe(explain));
    let lines: Vec<String> = explain.fetch_all(reader).await.unwrap().iter().map(|row| row.get(0)).collect();
    lines.join("\n")
}

/// A database with the rows of `plans_rows.sql`.
async fn filled() -> String {
    let url = devstack::test::database().await.url;
    drop(Projection::at(&url).await);
    let mut owner = PgConnection::connect(&url).await.unwrap();
    for statement in [include_str!("plans_rows.sql"), "VACUUM ANALYZE"] {
        owner.execute(statement).await.unwrap();
    }
    url
}

/// Runs the statement, and checks that it uses the index.
async fn check(connection: &mut PgConnection, case: &Case, statement: &str, arguments: &str) {
    let plan = plan(connection, statement, arguments).await;
    println!("{}\n{plan}\n", case.index);
    let has_index = plan.contains(case.index) && !plan.contains("Seq Scan");
    assert!(has_index, "{statement}\n{plan}");
}

#[tokio::test]
async fn every_query_has_its_index() {
    let url = filled().await;
    let mut reader = reader(&url).await;
    let mut of_several = 0;
    for case in &CASES {
        let of_one = (case.statement(), case.arguments.to_owned());
        of_several += usize::from(case.of_several().is_some());
        for (statement, arguments) in [of_one].into_iter().chain(case.of_several()) {
            check(&mut reader, case, &statement, &arguments).await;
        }
    }
    assert_eq!(of_several, 4);
}

#[tokio::test]
async fn statements_of_several_conversations_and_of_projectors_can_use_their_indexes() {
    let url = filled().await;
    let mut reader = reader(&url).await;
    reader.execute(RESTRICTED).await.unwrap();
    for case in &SEVERAL {
        check(&mut reader, case, &case.statement(), case.arguments).await;
    }
    let mut projector = connect(&url).await;
    projector.execute(RESTRICTED).await.unwrap();
    for case in &PROJECTIONS {
        check(&mut projector, case, &case.statement(), case.arguments).await;
    }
}
