//! Usage: every message counts exactly once, for its day.

use domain::event::{RunFinished, Usage};
use domain::{AgentId, Fact, Lifecycle, RunId, RunOutcome, Sequence, Timestamp};
use read_model::projections::conversations::Item;
use read_model::projections::conversations::parking::{self, RetryOutcome};
use read_model::queries::{RunsDay, runs_by_day};
use read_model::{Day, DayRange, usage_by_day};

use crate::fixture::{Author, Projection, START, access, execute, message, reply, take};

const DAY: i64 = 86_400_000_000_000;
/// The midnight after [`START`].
const MIDNIGHT: i64 = (START.0 / DAY + 1) * DAY;

fn tokens(input: u64) -> Usage {
    Usage { input_tokens: input, output_tokens: 2 * input, cached_tokens: 3 * input, reasoning_tokens: 4 * input }
}

fn paid(model: &str, input: u64) -> Fact {
    reply(Some(model), Some(tokens(input)))
}

fn author(id: &str, agent: &str) -> Author {
    let mut author = Author::new(id);
    author.created.agent = AgentId::parse(agent).unwrap();
    author
}

/// The usage of `days` days from [`START`], as lines: `day agent model messages input`.
async fn usage(projection: &Projection, tenant: &str, agent: Option<&str>, days: i64) -> Vec<String> {
    let last = Day::from_time(Timestamp(START.0 + (days - 1) * DAY));
    let days = DayRange::new(Day::from_time(START), last).unwrap();
    let agent = agent.map(|agent| AgentId::parse(agent).unwrap());
    let rows = usage_by_day(&projection.model, &access(tenant), agent.as_ref(), days).await;
    let line = |row: read_model::UsageDay| {
        assert_eq!(row.tokens, tokens(row.tokens.input_tokens));
        let model = row.model.as_deref().unwrap_or("-");
        let input = row.tokens.input_tokens;
        format!("{} {} {model} {} {input}", row.day, row.agent, row.messages)
    };
    rows.unwrap().into_iter().map(line).collect()
}

#[tokio::test]
async fn messages_are_summed_by_day_agent_and_model() {
    let mut projection = Projection::new().await;
    let (mut a, mut b, mut c) = (author("a", "sales"), author("b", "support"), author("c", "sales"));
    let begun = vec![a.begin(1), b.begin(2), c.begin(3)];
    projection.apply(begun).await;
    let unpaid = vec![message("x"), reply(Some("m"), None), Fact::Lifecycle(Lifecycle::ConversationArchived)];
    let items = vec![
        a.commit(4, vec![paid("m", 1), paid("m", 10), paid("n", 100)]),
        b.commit(5, vec![paid("m", 1_000)]),
        c.commit(6, vec![paid("m", 10_000)]),
        a.commit(7, unpaid),
        a.commit_at(8, Timestamp(MIDNIGHT - 1), vec![reply(None, Some(tokens(5)))]),
        a.commit_at(9, Timestamp(MIDNIGHT), vec![paid("m", 6)]),
    ];
    projection.apply(items).await;
    projection.apply(vec![c.commit(10, vec![paid("m", 100_000)])]).await;
    let first = [
        "2023-11-14 sales - 1 5",
        "2023-11-14 sales m 4 110011",
        "2023-11-14 sales n 1 100",
        "2023-11-14 support m 1 1000",
    ];
    let second = "2023-11-15 sales m 1 6";
    let check = async |tenant, agent, days, expected: &[&str]| {
        let found = usage(&projection, tenant, agent, days).await;
        assert_eq!(found, expected, "{tenant} {agent:?} {days}");
    };
    check("acme", None, 1, &first).await;
    check("acme", None, 366, &[&first[..], &[second]].concat()).await;
    check("acme", Some("support"), 2, &first[3..]).await;
    check("acme", Some("sales"), 2, &[&first[..3], &[second]].concat()).await;
    check("acme", Some("unknown"), 2, &[]).await;
    check("other", None, 2, &[]).await;
}

fn ended(run: u128, outcome: RunOutcome) -> Fact {
    let run = RunId(uuid::Uuid::from_u128(run));
    Fact::from(RunFinished { run, outcome })
}

#[tokio::test]
async fn ends_of_runs_are_counted_by_day_agent_and_outcome() {
    let mut projection = Projection::new().await;
    let (mut a, mut b) = (author("a", "sales"), author("b", "support"));
    projection.apply(vec![a.begin(1), b.begin(2)]).await;
    let items = vec![
        a.commit(3, vec![ended(1, RunOutcome::Completed), message("x")]),
        b.commit(4, vec![ended(2, RunOutcome::Failed)]),
        a.commit(5, vec![ended(3, RunOutcome::Completed)]),
        a.commit_at(6, Timestamp(MIDNIGHT), vec![ended(4, RunOutcome::Abandoned)]),
    ];
    projection.apply(items).await;
    let stopped = b.commit(7, vec![ended(5, RunOutcome::Stopped)]);
    let erased = b.commit(8, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]);
    projection.apply(vec![stopped, erased]).await;
    let check = async |tenant: &str, agent: Option<&str>, expected: &[&str]| {
        let days = DayRange::new(Day::from_time(START), Day::from_time(Timestamp(MIDNIGHT)));
        let agent = agent.map(|agent| AgentId::parse(agent).unwrap());
        let access = access(tenant);
        let rows = runs_by_day(&projection.model, &access, agent.as_ref(), days.unwrap()).await;
        let line = |row: &RunsDay| {
            let outcome = row.outcome.as_str();
            format!("{} {} {outcome} {}", row.day, row.agent, row.runs)
        };
        let lines: Vec<String> = rows.unwrap().iter().map(line).collect();
        assert_eq!(lines, expected);
    };
    let all = [
        "2023-11-14 sales completed 2",
        "2023-11-14 support stopped 1",
        "2023-11-14 support failed 1",
        "2023-11-15 sales abandoned 1",
    ];
    check("acme", None, &all).await;
    check("acme", Some("support"), &all[1..3]).await;
    check("other", None, &[]).await;
}

#[tokio::test]
async fn a_repeated_batch_is_counted_once() {
    let url = devstack::test::database().await.url;
    let mut projection = Projection::at(&url).await;
    let mut author = author("a", "sales");
    let items = vec![author.begin(1), author.commit(2, vec![paid("m", 7)])];
    projection.apply(items.clone()).await;
    let expected = ["2023-11-14 sales m 1 7"];
    // As after a lost answer.
    projection.checkpoint.sequence = Sequence(0);
    projection.try_apply(items.clone()).await.unwrap_err();
    assert_eq!(usage(&projection, "acme", None, 1).await, expected);
    // As after a manual reset of the checkpoint.
    let reset = "UPDATE conversations_v1.checkpoint SET sequence = 0";
    execute(&url, reset).await;
    projection.apply(items).await;
    assert_eq!(usage(&projection, "acme", None, 1).await, expected);
}

#[tokio::test]
async fn parked_commits_are_counted_when_they_are_written() {
    let mut projection = Projection::new().await;
    let (mut bad, mut good) = (author("bad", "sales"), author("good", "sales"));
    let begun = vec![bad.begin(1), good.begin(2)];
    projection.apply(begun).await;
    let hidden = [bad.commit(3, vec![paid("m", 1)]), bad.commit(5, vec![paid("m", 10)])];
    let items = vec![bad.garbage(3), good.commit(4, vec![paid("m", 100)]), hidden[1].clone()];
    projection.apply(items).await;
    let check = async |items: &[Item], expected, line: &str| {
        let outcome = parking::retry(&projection.model, &bad.key, items).await;
        assert_eq!(outcome, Ok(expected));
        let usage = usage(&projection, "acme", None, 1).await;
        assert_eq!(usage, [format!("2023-11-14 sales m {line}")]);
    };
    check(&[], RetryOutcome::Changed, "1 100").await;
    check(&hidden[..1], RetryOutcome::Partial, "2 101").await;
    check(&hidden[..1], RetryOutcome::Changed, "2 101").await;
    check(&hidden[1..], RetryOutcome::Freed, "3 111").await;
    check(&hidden[1..], RetryOutcome::Changed, "3 111").await;
}

#[tokio::test]
async fn an_erasure_keeps_usage() {
    for batches in [1, 3] {
        let mut projection = Projection::new().await;
        let mut author = author("a", "sales");
        let items = [
            author.begin(1),
            author.commit(2, vec![paid("m", 7)]),
            author.commit(3, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]),
        ];
        for batch in items.chunks(items.len() / batches) {
            projection.apply(batch.to_vec()).await;
        }
        let expected = ["2023-11-14 sales m 1 7"];
        assert_eq!(usage(&projection, "acme", None, 1).await, expected, "{batches}");
    }
}

#[tokio::test]
async fn the_migration_counts_existing_messages() {
    let url = devstack::test::database().await.url;
    let mut projection = Projection::at(&url).await;
    let (mut a, mut b) = (author("a", "sales"), author("b", "support"));
    let begun = vec![a.begin(1), b.begin(2)];
    projection.apply(begun).await;
    let items = vec![
        a.commit(3, vec![paid("m", 1), paid("n", 10), reply(None, Some(tokens(2)))]),
        b.commit(4, vec![paid("m", 100), message("x"), reply(Some("m"), None)]),
        a.commit_at(5, Timestamp(MIDNIGHT - 1), vec![paid("m", 1_000)]),
        a.commit_at(6, Timestamp(MIDNIGHT), vec![paid("m", 10_000)]),
    ];
    projection.apply(items).await;
    let days = DayRange::new(Day::from_time(START), Day::from_time(Timestamp(MIDNIGHT))).unwrap();
    let model = projection.model.clone();
    let usage = async || usage_by_day(&model, &access("acme"), None, days).await.unwrap();
    let mut expected = usage().await;
    assert_eq!(expected.len(), 5);
    // Rows of events do not contain them.
    for row in &mut expected {
        row.tokens.reasoning_tokens = 0;
    }
    let before_migration = "DROP TABLE conversations_v1.usage_day; DELETE FROM hansard.migration WHERE version = 3";
    execute(&url, before_migration).await;
    model.migrate().await.unwrap();
    assert_eq!(usage().await, expected);
}

#[tokio::test]
async fn partitions_share_sums_without_deadlocks() {
    const ROUNDS: u64 = 30;
    let first = Projection::new().await;
    let checkpoint = take(&first.model, 1, "b").await.unwrap();
    let second = Projection { model: first.model.clone(), checkpoint };
    let worker = async |mut projection: Projection, id: &str, models: [&str; 2]| {
        let mut author = author(id, "sales");
        projection.apply(vec![author.begin(1)]).await;
        for sequence in 2..2 + ROUNDS {
            let facts = models.map(|model| paid(model, 1)).to_vec();
            projection.apply(vec![author.commit(sequence, facts)]).await;
        }
        projection
    };
    let workers = (worker(first, "a", ["m", "n"]), worker(second, "b", ["n", "m"]));
    let (projection, _) = tokio::join!(workers.0, workers.1);
    let sum = 2 * ROUNDS;
    let expected = ["m", "n"].map(|model| format!("2023-11-14 sales {model} {sum} {sum}"));
    assert_eq!(usage(&projection, "acme", None, 1).await, expected);
}
