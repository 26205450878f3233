//! The Postgres logins: exactly the needed privileges, in a running system.

use std::process::Command;

use domain::{ConversationId, ConversationKey, SweepAccess, TenantId};
use read_model::projections::conversations::overview::overview_by_reader;
use read_model::projections::conversations::parking::{self, ParkedRequest};
use read_model::projections::search::search_overview;
use read_model::schemas::list;
use read_model::{ReadModel, ReadModelConfig, active_runs};
use tests::events::user;
use tests::eventually::eventually;
use tests::stack::{Setup, Stack};
use tests::{logins, program};
use uuid::Uuid;

const READERS: [&str; 2] = ["hansard_gateway", "hansard_writer"];
/// Statements that write, or read beyond the privileges of readers.
const BEYOND_READERS: [&str; 14] = [
    "INSERT INTO conversations_v1.conversation SELECT * FROM conversations_v1.conversation",
    "UPDATE conversations_v1.conversation SET title = 'x'",
    "DELETE FROM conversations_v1.event",
    "TRUNCATE conversations_v1.event",
    "UPDATE hansard.projection SET live_schema = 'conversations_v2'",
    "DELETE FROM hansard.migration",
    "DROP TABLE conversations_v1.event",
    "ALTER TABLE conversations_v1.event DISABLE ROW LEVEL SECURITY",
    "CREATE SCHEMA theirs",
    "CREATE TABLE public.theirs ()",
    "CREATE TEMP TABLE theirs ()",
    "CREATE TABLE conversations_v1.theirs ()",
    "SET ROLE hansard_owner",
    "SELECT * FROM pg_authid",
];
/// What only gateways call: functions that read across tenants, and those that leave requests for projectors.
const GATEWAY_CALLS: [&str; 6] = [
    "SELECT hansard.active_runs('', '', 1)",
    "SELECT hansard.live_projectors()",
    "SELECT hansard.partitions_overview()",
    "SELECT hansard.parked_conversations('', 1)",
    "SELECT hansard.request_parked('acme', 'c', NULL)",
    "SELECT hansard.set_search_agents('{}', '{}', '{}', '{}')",
];
/// Restores the privileges before the migration of these functions, with a gateway's login of another name.
const BEFORE_GRANTS: &str = "
    CREATE ROLE earlier LOGIN;
    GRANT hansard_reader TO earlier;
    GRANT CONNECT ON DATABASE :database TO earlier;
    REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA hansard FROM hansard_gateway;
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA hansard TO hansard_reader;
    DELETE FROM hansard.migration WHERE version = 26";
/// Statements that change privileges.
const ROLES: [&str; 7] = [
    "CREATE ROLE theirs",
    "ALTER ROLE hansard_gateway SUPERUSER",
    "ALTER ROLE hansard_reader BYPASSRLS",
    "GRANT hansard_owner TO hansard_gateway",
    "GRANT hansard_reader TO PUBLIC",
    "DROP ROLE hansard_gateway",
    "SET ROLE postgres",
];

/// The output of psql, or its error.
fn psql(stack: &mut Stack, login: &str, sql: &str) -> Result<String, String> {
    let url = logins::url(stack.servers.database_url(), login);
    let mut psql = Command::new(stack.servers.postgres_mut().tool("psql"));
    psql.args(["--no-psqlrc", "-At", "-v", "ON_ERROR_STOP=1", "-d"]);
    let output = psql.arg(&url).args(["-c", sql]).output().expect("psql");
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

async fn start() -> Stack {
    let setup = Setup::processes(program!()).with_own_postgres();
    let mut stack = setup.prepare().await;
    logins::prepare(&mut stack, &program!()).await;
    Box::pin(stack.start()).await;
    stack
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_have_exactly_the_needed_privileges() {
    let mut stack = start().await;
    let agent = stack.agent("acme", "support").await;
    agent.create("c").await;
    agent.append("c", vec![user("one")]).await;
    agent.wait_for_rows("c", 2).await;
    assert_eq!(agent.context("c", 5).await.messages.len(), 1);
    for login in READERS {
        let seen = psql(&mut stack, login, "SELECT count(*) FROM conversations_v1.event");
        assert_eq!(seen.as_deref(), Ok("0"), "{login} sees rows without a tenant");
        let held = psql(&mut stack, login, "SELECT sum(sequence) > 0 FROM conversations_v1.checkpoint");
        assert_eq!(held.as_deref(), Ok("t"), "{login} waits for rows");
        for sql in BEYOND_READERS.iter().chain(&ROLES) {
            let refused = psql(&mut stack, login, sql);
            assert!(refused.is_err(), "{login}: {sql}");
        }
    }
    for login in ["hansard_projector", "hansard_migrator", "hansard_operator"] {
        for sql in ROLES {
            let refused = psql(&mut stack, login, sql);
            assert!(refused.is_err(), "{login}: {sql}");
        }
    }
    let rights = "SELECT bool_or(rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls OR rolreplication)
        FROM pg_roles WHERE rolname LIKE 'hansard\\_%'";
    assert_eq!(psql(&mut stack, "hansard_gateway", rights).as_deref(), Ok("f"));
    let owners = "SELECT string_agg(DISTINCT nspowner::regrole::text, ',')
        FROM pg_namespace WHERE nspname ~ '^(hansard|conversations_v)'";
    assert_eq!(psql(&mut stack, "hansard_gateway", owners).as_deref(), Ok("hansard_owner"));
}

/// Checks who may call what only gateways call.
fn check_gateway_calls(stack: &mut Stack, may: &[&str], may_not: &[&str]) {
    for call in GATEWAY_CALLS {
        for login in may {
            let called = psql(stack, login, call);
            assert!(called.is_ok(), "{login}: {call}: {called:?}");
        }
        for login in may_not {
            let refused = psql(stack, login, call);
            assert!(refused.is_err(), "{login}: {call}");
        }
        // A connection that reads for a tenant.
        let refused = psql(stack, "hansard_gateway", &format!("SET ROLE hansard_reader; {call}"));
        assert!(refused.is_err(), "{call}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_gateways_call_across_tenants() {
    let setup = Setup::processes(program!()).with_own_postgres();
    let mut stack = setup.prepare().await;
    logins::prepare(&mut stack, &program!()).await;
    check_gateway_calls(&mut stack, &["hansard_gateway", "hansard_projector"], &["hansard_writer"]);
    // An upgrade: logins that are readers keep what they call.
    let url = stack.servers.database_url().to_owned();
    let database = url.split(['/', '?']).nth(3).expect("a database");
    let before = BEFORE_GRANTS.replace(":database", &format!("\"{database}\""));
    psql(&mut stack, "hansard", &before).expect("the earlier privileges");
    let migrator = logins::url(&url, "hansard_migrator");
    let ended = program!().run(["migrate", "--database-url", &migrator], &[]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    check_gateway_calls(&mut stack, &["hansard_gateway", "earlier"], &["hansard_writer"]);
    // A login that is made after the migration gets its grants from the file of roles.
    let revoke = "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA hansard FROM hansard_gateway";
    psql(&mut stack, "hansard", revoke).expect("a login without grants");
    check_gateway_calls(&mut stack, &[], &["hansard_gateway"]);
    logins::prepare(&mut stack, &program!()).await;
    check_gateway_calls(&mut stack, &["hansard_gateway"], &["hansard_writer"]);
}

/// A gateway lists active runs of all tenants, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn the_gateway_login_lists_runs_of_all_tenants() {
    let mut stack = start().await;
    // It ends runs without a generating gateway.
    stack.gateway.stop().await;
    for tenant in ["acme", "other"] {
        let agent = stack.agent(tenant, &format!("{tenant}-bot")).await;
        agent.create("c").await;
        let run = Uuid::now_v7().to_string();
        let request = agent.start_request("c", &run, Vec::new());
        agent.try_start(request).await.expect("a run");
    }
    let url = logins::url(stack.servers.database_url(), "hansard_gateway");
    let model = ReadModel::connect_lazy(&ReadModelConfig::new(url)).expect("a read model");
    let access = SweepAccess::grant();
    let found = eventually("two runs", || async {
        let runs = active_runs(&model, &access, None, 10).await.expect("runs");
        (runs.len() == 2).then_some(runs)
    })
    .await;
    let tenants: Vec<&str> = found.iter().map(|run| run.key.tenant.as_str()).collect();
    assert_eq!(tenants, ["acme", "other"]);
    let rest = active_runs(&model, &access, Some(&found[0].key), 10).await;
    assert_eq!(rest.expect("runs").len(), 1);
}

/// What the System page reads and requests, with the rights of a gateway.
#[tokio::test(flavor = "multi_thread")]
async fn the_gateway_login_reads_the_state_of_the_deployment() {
    let stack = start().await;
    let url = logins::url(stack.servers.database_url(), "hansard_gateway");
    let model = ReadModel::connect_lazy(&ReadModelConfig::new(url)).expect("a read model");
    let overview = eventually("a projector with every partition", || async {
        let overview = overview_by_reader(&model).await.expect("an overview");
        (overview.partitions.len() == 8).then_some(overview)
    })
    .await;
    assert_eq!(overview.projectors.len(), 1);
    search_overview(&model).await.expect("the search");
    assert_eq!(list(&model).await.expect("schemas").len(), 1);
    assert_eq!(parking::list_by_reader(&model, None, 10).await, Ok(vec![]));
    let request = ParkedRequest {
        key: ConversationKey {
            tenant: TenantId::parse("acme").expect("a tenant"),
            conversation: ConversationId::parse("c").expect("a conversation"),
        },
        dropped: None,
    };
    assert_eq!(parking::request(&model, &request).await, Ok(false));
    // Only projectors take requests.
    assert!(parking::take_requests(&model).await.is_err());
}
