//! Two databases: the rows of one tenant are in a shard, those of all others in the first database.

use devstack::PostgresServer;
use read_model::{REPLICA_LAG_MS_MAX, ReadModelConfig, ShardConfig};
use serde_json::Value;
use tests::agent::Agent;
use tests::client::Caller;
use tests::dashboard::Browser;
use tests::errors::Failure;
use tests::events::{assistant, user};
use tests::eventually::eventually;
use tests::node::Node;
use tests::program;
use tests::settings::Role;
use tests::shards::{self, SHARD, shard};
use tests::stack::{Setup, Stack};
use tonic::Code;
use wire::proto::event::v1::ForkPoint;
use wire::proto::operate::v1::DashboardRole;
use wire::proto::read::v1 as read;
use wire::proto::read::v1::list_conversations_request::Filter;

use crate::operator_cli::OperatorCli;

/// The tenant in the shard.
const SHARDED: &str = "big";
const OTHER: &str = "small";
const DATABASE: &str = "shard";
const DATABASE_URL: &str = "HANSARD_READ_MODEL__DATABASE_URL";

/// A stack with a shard on a server of its own.
struct Sharded {
    stack: Stack,
    // Roles stop before their servers.
    projector: Node,
    server: PostgresServer,
    big: Agent,
    small: Agent,
}

impl Sharded {
    /// Starts everything. Boxed, because the future is large.
    async fn start() -> Box<Self> {
        let server = devstack::test::postgres().await;
        server.create_database(DATABASE).await.unwrap();
        let shard = shard(&server.database_url(DATABASE), &[SHARDED]);
        let (stack, projector) = shards::start(shard).await;
        let big = stack.agent(SHARDED, "big-bot").await;
        let small = stack.agent(OTHER, "small-bot").await;
        Box::new(Self { stack, projector, server, big, small })
    }

    fn url(&self) -> String {
        self.server.database_url(DATABASE)
    }

    /// The operator's commands with the database of the shard.
    fn cli_of_shard(&self) -> OperatorCli {
        OperatorCli::with(&self.stack, &[(DATABASE_URL, &self.url())])
    }

    /// Records the same conversations for both tenants, and waits for their rows.
    async fn fill(&self) {
        for agent in [&self.big, &self.small] {
            agent.create("c").await;
            agent.append("c", vec![user("one"), assistant("two")]).await;
            let mut fork = agent.create_request("fork");
            fork.forked_from = Some(ForkPoint { conversation_id: "c".to_owned(), version: 2, depth: 0 });
            agent.try_create(fork).await.unwrap();
            agent.wait_for_rows("fork", 1).await;
        }
    }
}

async fn listed(agent: &Agent) -> Result<Vec<String>, Failure> {
    let request = agent.conversations_request(Filter::WholeAgent(read::WholeAgent {}));
    let page = agent.try_conversations(request).await.map_err(Failure::from)?;
    let mut ids: Vec<String> = page.conversations.into_iter().map(|one| one.conversation_id).collect();
    ids.sort();
    Ok(ids)
}

/// The tenants with rows in a database, by `hansard verify`, which finds no difference.
async fn verified(cli: &OperatorCli, arguments: &str) -> (u64, u64) {
    let line = format!("verify --json {arguments}");
    let lines = cli.json(&line, 0).await;
    let summary = &lines.last().unwrap()["summary"];
    let count = |name: &str| summary[name].as_u64().unwrap();
    (count("conversations"), count("events"))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_tenant_has_its_rows_in_one_database() {
    let sharded = Sharded::start().await;
    sharded.fill().await;
    let (first, shard) = (OperatorCli::at(&sharded.stack), sharded.cli_of_shard());
    for agent in [&sharded.big, &sharded.small] {
        assert_eq!(listed(agent).await.unwrap(), ["c", "fork"]);
        let events = agent.events(agent.list_request("fork")).await;
        assert_eq!(events.len(), 3, "two inherited ones and its own start");
    }
    // The audit of registry changes adds conversations for each tenant, but none to both databases.
    let in_shard = verified(&shard, "").await;
    let in_first = verified(&first, "").await;
    assert_eq!(verified(&shard, &format!("--tenant {SHARDED}")).await, in_shard);
    assert_eq!(verified(&first, &format!("--tenant {OTHER}")).await, in_first);
    for sampled in ["--sample 100%", "--conversations-at-once 1"] {
        assert_eq!(verified(&shard, sampled).await, in_shard, "{sampled}");
        assert_eq!(verified(&first, sampled).await, in_first, "{sampled}");
    }
    for (cli, conversations) in [(&shard, in_shard.0), (&first, in_first.0)] {
        assert_eq!(verified(cli, "--digests").await.0, conversations);
    }
    let elsewhere = format!("the rows of tenant {SHARDED} are in shard eu: give its URL with --database-url");
    first.check(&format!("verify --tenant {SHARDED}"), 2, &elsewhere).await;
    let elsewhere = format!("the rows of tenant {OTHER} are in the first database: give its URL");
    shard.check(&format!("verify --tenant {OTHER}"), 2, &elsewhere).await;
    for cli in [&first, &shard] {
        cli.check("rebuild conversations", 0, "").await;
    }
    assert_eq!(verified(&shard, "").await, in_shard);
    assert_eq!(verified(&first, "").await, in_first);
    check_erasure(&sharded, &first, &shard).await;
}

/// An operator's erasure waits for the rows of the tenant's own database.
async fn check_erasure(sharded: &Sharded, first: &OperatorCli, shard: &OperatorCli) {
    let line = format!("erase conversation c fork --tenant {SHARDED} --json");
    first.check(&line, 2, "are in shard eu").await;
    assert_eq!(listed(&sharded.big).await.unwrap(), ["c", "fork"], "nothing is erased");
    let status = async |arguments: &str| {
        let status = first.until(&format!("status --no-roles --json {arguments}"), 0).await;
        serde_json::from_str::<Value>(&status.stdout).unwrap()
    };
    let unexplained = |status: &Value| {
        let partitions = status["partitions"].as_array().unwrap().iter();
        let holes: Vec<Value> =
            partitions.filter(|one| one["holes"] != 0).map(|one| one["holesUnexplained"].clone()).collect();
        holes
    };
    let erased = shard.json(&line, 0).await;
    // The first database does not know what the erasure removed.
    let status_of_first = status("").await;
    assert!(unexplained(&status_of_first).contains(&Value::Null));
    assert_eq!(status_of_first["shards"], Value::Array(Vec::new()));
    let warnings = status_of_first["warnings"].to_string();
    assert!(warnings.contains("the rows of 1 tenants are in shards"), "{warnings}");
    // In arguments of the tests, `@` is their folder.
    let url = sharded.url().replace("hansard@", "");
    let shard_url = format!("--shard-url {url}&user=hansard");
    let of_both = status(&shard_url).await;
    let warnings = of_both["warnings"].to_string();
    assert!(!warnings.contains("shards"), "{warnings}");
    let holes = unexplained(&of_both);
    assert!(!holes.is_empty() && holes.iter().all(|hole| hole == 0), "{holes:?}");
    let shard_status = &of_both["shards"][0];
    assert_eq!(shard_status["name"], SHARD);
    let rows = shard_status["partitions"].as_array().unwrap().iter();
    let lags = rows.map(|rows| rows["lagSequences"].as_u64().unwrap());
    assert_eq!(lags.sum::<u64>(), 0, "{shard_status}");
    assert_eq!(erased[0]["signed"]["receipt"]["rows"], "gone", "{erased:?}");
    assert_eq!(listed(&sharded.big).await.unwrap(), Vec::<String>::new());
    assert_eq!(listed(&sharded.small).await.unwrap(), ["c", "fork"]);
}

/// Reads are fenced by the checkpoints of the tenant's own database.
#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_projector_of_a_shard_delays_only_its_lists() {
    let mut sharded = Sharded::start().await;
    sharded.fill().await;
    sharded.projector.stop().await;
    for agent in [&sharded.big, &sharded.small] {
        agent.create("new").await;
        agent.append("new", vec![user("hello")]).await;
        // The un-projected commits come from the record.
        assert_eq!(agent.version("new").await, 2);
    }
    sharded.small.wait_for_rows("new", 2).await;
    assert_eq!(listed(&sharded.small).await.unwrap(), ["c", "fork", "new"]);
    assert_eq!(listed(&sharded.big).await.unwrap(), ["c", "fork"]);
    sharded.projector.start().await;
    sharded.big.wait_for_rows("new", 2).await;
    assert_eq!(listed(&sharded.big).await.unwrap(), ["c", "fork", "new"]);
}

/// A person who sees the System page, of a tenant in the first database.
async fn operator(stack: &Stack) -> Browser {
    let role = DashboardRole::Operator;
    Browser::signed_in(stack.http_client(), &stack.operator().await, OTHER, role).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unavailable_shard_fails_only_its_tenants() {
    let mut sharded = Sharded::start().await;
    sharded.fill().await;
    let browser = operator(&sharded.stack).await;
    let shown = async || browser.get("/dashboard/system").await.text();
    let page = shown().await;
    for text in ["eu: migration", "conversations_v1 in eu", "Healthy"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    sharded.server.kill();
    let page = shown().await;
    assert!(page.contains("shard eu does not answer"), "{page}");
    let failure = listed(&sharded.big).await.unwrap_err();
    assert_eq!(failure.code, Code::Unavailable, "{failure:?}");
    assert_eq!(failure.reason, "READ_MODEL_UNAVAILABLE");
    assert_eq!(failure.message, "shard eu of the read model is unavailable: try again");
    let context = sharded.big.try_get(sharded.big.read_target("c")).await;
    let failure = Failure::from(context.unwrap_err());
    assert!(failure.message.contains("shard eu"), "{failure:?}");
    // Appends need no rows, and other tenants notice nothing.
    for agent in [&sharded.big, &sharded.small] {
        agent.append("c", vec![user("three")]).await;
    }
    sharded.small.wait_for_rows("c", 4).await;
    assert_eq!(listed(&sharded.small).await.unwrap(), ["c", "fork"]);
    sharded.server.restart().await.unwrap();
    sharded.big.wait_for_rows("c", 4).await;
    // The server lost its last transactions, which are repeated.
    sharded.big.wait_for_rows("fork", 1).await;
    assert_eq!(listed(&sharded.big).await.unwrap(), ["c", "fork"]);
}

/// A role without the list reads nothing of the tenant, instead of an empty database.
#[tokio::test(flavor = "multi_thread")]
async fn a_role_with_another_list_reads_nothing() {
    let sharded = Sharded::start().await;
    sharded.fill().await;
    let mut gateway = sharded.stack.another(Role::Gateway);
    gateway.settings.gateway.read_model.primary.shards.clear();
    gateway.start().await;
    let token = sharded.stack.token().await;
    let caller = Caller::new(&sharded.stack.writer.grpc_url(), &gateway.grpc_url(), token);
    let big = Agent::new(caller.clone(), sharded.big.id());
    let failure = listed(&big).await.unwrap_err();
    assert_eq!(failure.reason, "READ_MODEL_UNAVAILABLE", "{failure:?}");
    let read = big.try_get(big.read_target("c")).await;
    assert_eq!(Failure::from(read.unwrap_err()).reason, "READ_MODEL_UNAVAILABLE");
    let small = Agent::new(caller, sharded.small.id());
    assert_eq!(listed(&small).await.unwrap(), ["c", "fork"]);
}

/// A gateway reads rows of the tenants of a shard from the replica of the shard, and from its primary when that is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_shard_has_replicas_of_its_own() {
    let sharded = Sharded::start().await;
    sharded.fill().await;
    let mut standby = devstack::test::standby(&sharded.server).await;
    let mut gateway = sharded.stack.another(Role::Gateway);
    let read_model = &mut gateway.settings.gateway.read_model;
    // The test does not wait for the bound.
    read_model.replica_lag_ms_max = REPLICA_LAG_MS_MAX;
    read_model.primary.shards[0].replica_urls = vec![standby.database_url(DATABASE)];
    gateway.start().await;
    let token = sharded.stack.token().await;
    let caller = Caller::new(&sharded.stack.writer.grpc_url(), &gateway.grpc_url(), token);
    let [big, small] = [&sharded.big, &sharded.small].map(|agent| Agent::new(caller.clone(), agent.id()));

    devstack::test::pause_replay(&sharded.server, &standby).await;
    for agent in [&sharded.big, &sharded.small] {
        agent.create("later").await;
        agent.wait_for_rows("later", 1).await;
    }
    assert_eq!(listed(&small).await.unwrap(), ["c", "fork", "later"]);
    // The gateway reads the primary until it has measured the replica.
    eventually("a list of the replica", || async { (listed(&big).await.unwrap() == ["c", "fork"]).then_some(()) })
        .await;
    // What the replica lacks comes from the primary and the record.
    assert_eq!(big.version("later").await, 1);
    standby.kill();
    assert_eq!(listed(&big).await.unwrap(), ["c", "fork", "later"]);
}

/// Starts a projector with these shards, which does not accept them.
async fn check_rejected(stack: &Stack, shard: &str, shards: &[ShardConfig], error: &str) {
    let mut settings = stack.another(Role::Projector).settings.clone();
    settings.projector.read_model.shards = shards.to_vec();
    shard.clone_into(&mut settings.projector.shard);
    let variables = settings.variables_of(Role::Projector);
    let ended = program!().run(["projector"], &variables).await;
    let output = format!("{}{}", ended.stdout, ended.stderr);
    assert!(output.contains(error), "{output}");
    assert!(ended.code.is_some_and(|code| code != 0), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn assignments_that_contradict_the_rows_are_rejected() {
    let sharded = Sharded::start().await;
    sharded.fill().await;
    let (stack, url) = (&sharded.stack, sharded.url());
    let of = |tenants: &[&str]| vec![shard(&url, tenants)];
    let has_commits = format!("tenant {OTHER} has commits already");
    check_rejected(stack, "", &of(&[SHARDED, OTHER]), &has_commits).await;
    let moved = format!("the rows of tenant {SHARDED} are in shard eu");
    check_rejected(stack, "", &[], &moved).await;
    check_rejected(stack, "eu", &of(&["new"]), &moved).await;
    let renamed = vec![ShardConfig { name: "us".to_owned(), ..shard(&url, &[SHARDED]) }];
    let other = "the database is shard eu, but read_model.shards has it as shard us";
    check_rejected(stack, "us", &renamed, other).await;
    let unknown = "read_model.shards has no such shard";
    check_rejected(stack, "us", &of(&[SHARDED]), unknown).await;
    let twice = of(&[SHARDED, SHARDED]);
    let listed_twice = format!("lists tenant {SHARDED} in shards eu and eu: list it once");
    check_rejected(stack, "eu", &twice, &listed_twice).await;
    // Everything continues as before.
    sharded.big.append("c", vec![user("three")]).await;
    sharded.big.wait_for_rows("c", 4).await;
    assert_eq!(listed(&sharded.big).await.unwrap(), ["c", "fork"]);
}

/// A tenant is added before its first commit: first to the first database, then to the shard.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_tenant_is_added_to_a_shard_that_has_rows() {
    let mut sharded = Sharded::start().await;
    sharded.fill().await;
    let more = vec![shard(&sharded.url(), &[SHARDED, "next"])];
    shards::set(&mut sharded.stack, &more);
    shards::set_of(&mut sharded.projector, &more);
    sharded.projector.stop().await;
    sharded.projector.launch().await;
    let model = read_model::ReadModel::connect_lazy(&ReadModelConfig::new(sharded.url())).unwrap();
    let next = domain::TenantId::parse("next").unwrap();
    let tenants = read_model::shards::tenants(&model).await.unwrap();
    assert!(!tenants.contains(&next), "the first database does not list it yet");
    for node in [&mut sharded.stack.projector, &mut sharded.stack.gateway] {
        node.stop().await;
        node.start().await;
    }
    eventually("an assigned tenant", || async {
        let tenants = read_model::shards::tenants(&model).await.unwrap();
        tenants.contains(&next).then_some(())
    })
    .await;
    let agent = sharded.stack.agent("next", "next-bot").await;
    agent.create("c").await;
    agent.wait_for_rows("c", 1).await;
    assert_eq!(listed(&agent).await.unwrap(), ["c"]);
    let in_shard = verified(&sharded.cli_of_shard(), "--tenant next").await;
    assert!(in_shard.0 >= 1, "{in_shard:?}");
}

/// The rows of others would be mixed with those of the shard.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_with_rows_is_no_new_shard() {
    let (mut stack, other) = tokio::join!(Setup::tasks().start(), Setup::tasks().start());
    let agent = other.any_agent().await;
    agent.create("c").await;
    agent.wait_for_rows("c", 1).await;
    let url = other.servers.database_url();
    let shards = vec![shard(url, &["new"])];
    shards::set_of(&mut stack.projector, &shards);
    stack.projector.stop().await;
    stack.projector.start().await;
    let in_use = "the database of shard eu has rows already: give the shard a new database";
    check_rejected(&stack, "eu", &shards, in_use).await;
    assert_eq!(listed(&agent).await.unwrap(), ["c"]);
}
