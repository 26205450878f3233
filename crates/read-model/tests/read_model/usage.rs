//! Usage: every message once, on its day, whatever happens to its batch.

use domain::event::Usage;
use domain::{AgentId, Fact, Lifecycle, Sequence, Timestamp};
use read_model::projections::conversations::Item;
use read_model::projections::conversations::parking::{self, Retried};
use read_model::{Day, DayRange, usage_by_day};
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::fixture::{Author, Projection, START, access, message, reply, take};

const DAY: i64 = 86_400_000_000_000;
/// The midnight after the start.
const MIDNIGHT: i64 = (START.0 / DAY + 1) * DAY;

fn tokens(input: u64) -> Usage {
    Usage {
        input_tokens: input,
        output_tokens: 2 * input,
        cached_tokens: 3 * input,
        reasoning_tokens: 4 * input,
    }
}

fn paid(model: &str, input: u64) -> Fact {
    reply(Some(model), Some(tokens(input)))
}

fn author(id: &str, agent: &str) -> Author {
    let mut author = Author::new(id);
    author.created.agent = AgentId::parse(agent).unwrap();
    author
}

/// What of the days from the start's on is read, a line a row: `day agent model messages input`.
async fn usage(
    projection: &Projection,
    tenant: &str,
    agent: Option<&str>,
    days: i64,
) -> Vec<String> {
    let last = Day::of(Timestamp(START.0 + (days - 1) * DAY));
    let days = DayRange::new(Day::of(START), last).unwrap();
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
    let (mut a, mut b, mut c) = (
        author("a", "sales"),
        author("b", "support"),
        author("c", "sales"),
    );
    let begun = vec![a.begin(1), b.begin(2), c.begin(3)];
    projection.apply(begun).await;
    let unpaid = vec![
        message("x"),
        reply(Some("m"), None),
        Fact::Lifecycle(Lifecycle::ConversationArchived),
    ];
    let items = vec![
        a.commit(4, vec![paid("m", 1), paid("m", 10), paid("n", 100)]),
        b.commit(5, vec![paid("m", 1_000)]),
        c.commit(6, vec![paid("m", 10_000)]),
        a.commit(7, unpaid),
        a.commit_at(
            8,
            Timestamp(MIDNIGHT - 1),
            vec![reply(None, Some(tokens(5)))],
        ),
        a.commit_at(9, Timestamp(MIDNIGHT), vec![paid("m", 6)]),
    ];
    projection.apply(items).await;
    projection
        .apply(vec![c.commit(10, vec![paid("m", 100_000)])])
        .await;
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

#[tokio::test]
async fn a_batch_that_comes_again_is_not_counted_again() {
    let url = devstack::test::database().await.url;
    let mut projection = Projection::at(&url).await;
    let mut author = author("a", "sales");
    let items = vec![author.begin(1), author.commit(2, vec![paid("m", 7)])];
    projection.apply(items.clone()).await;
    let expected = ["2023-11-14 sales m 1 7"];
    // As after an answer that was lost.
    projection.checkpoint.sequence = Sequence(0);
    projection.try_apply(items.clone()).await.unwrap_err();
    assert_eq!(usage(&projection, "acme", None, 1).await, expected);
    // As after a checkpoint that was set back by hand.
    let mut connection = PgConnection::connect(&url).await.unwrap();
    connection
        .execute("UPDATE conversations_v1.checkpoint SET sequence = 0")
        .await
        .unwrap();
    projection.apply(items).await;
    assert_eq!(usage(&projection, "acme", None, 1).await, expected);
}

#[tokio::test]
async fn what_was_parked_is_counted_when_it_is_written() {
    let mut projection = Projection::new().await;
    let (mut bad, mut good) = (author("bad", "sales"), author("good", "sales"));
    let begun = vec![bad.begin(1), good.begin(2)];
    projection.apply(begun).await;
    let hidden = [
        bad.commit(3, vec![paid("m", 1)]),
        bad.commit(5, vec![paid("m", 10)]),
    ];
    let items = vec![
        bad.garbage(3),
        good.commit(4, vec![paid("m", 100)]),
        hidden[1].clone(),
    ];
    projection.apply(items).await;
    let model = projection.model.clone();
    let retry = async |items: &[Item]| parking::retry(&model, &bad.key, items).await.unwrap();
    let check = async |retried: Retried, expected, line: &str| {
        assert_eq!(retried, expected);
        assert_eq!(usage(&projection, "acme", None, 1).await, [line]);
    };
    check(
        retry(&[]).await,
        Retried::Changed,
        "2023-11-14 sales m 1 100",
    )
    .await;
    check(
        retry(&hidden[..1]).await,
        Retried::MoreWaits,
        "2023-11-14 sales m 2 101",
    )
    .await;
    check(
        retry(&hidden[..1]).await,
        Retried::Changed,
        "2023-11-14 sales m 2 101",
    )
    .await;
    check(
        retry(&hidden[1..]).await,
        Retried::Freed,
        "2023-11-14 sales m 3 111",
    )
    .await;
    check(
        retry(&hidden[1..]).await,
        Retried::Changed,
        "2023-11-14 sales m 3 111",
    )
    .await;
}

#[tokio::test]
async fn an_erasure_takes_nothing_away() {
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
        assert_eq!(
            usage(&projection, "acme", None, 1).await,
            expected,
            "{batches}"
        );
    }
}

#[tokio::test]
async fn what_was_projected_before_there_was_usage_is_counted_by_its_migration() {
    let url = devstack::test::database().await.url;
    let mut projection = Projection::at(&url).await;
    let (mut a, mut b) = (author("a", "sales"), author("b", "support"));
    let begun = vec![a.begin(1), b.begin(2)];
    projection.apply(begun).await;
    let items = vec![
        a.commit(
            3,
            vec![paid("m", 1), paid("n", 10), reply(None, Some(tokens(2)))],
        ),
        b.commit(
            4,
            vec![paid("m", 100), message("x"), reply(Some("m"), None)],
        ),
        a.commit_at(5, Timestamp(MIDNIGHT - 1), vec![paid("m", 1_000)]),
        a.commit_at(6, Timestamp(MIDNIGHT), vec![paid("m", 10_000)]),
    ];
    projection.apply(items).await;
    let days = DayRange::new(Day::of(START), Day::of(Timestamp(MIDNIGHT))).unwrap();
    let model = projection.model.clone();
    let usage = async || {
        usage_by_day(&model, &access("acme"), None, days)
            .await
            .unwrap()
    };
    let mut expected = usage().await;
    assert_eq!(expected.len(), 5);
    // Rows of events do not tell them.
    for row in &mut expected {
        row.tokens.reasoning_tokens = 0;
    }
    let mut connection = PgConnection::connect(&url).await.unwrap();
    connection
        .execute("DROP TABLE conversations_v1.usage_day; DELETE FROM hansard.migration WHERE version = 3")
        .await
        .unwrap();
    model.migrate().await.unwrap();
    assert_eq!(usage().await, expected);
}

#[tokio::test]
async fn partitions_that_share_sums_do_not_stop_each_other() {
    const ROUNDS: u64 = 30;
    let first = Projection::new().await;
    let checkpoint = take(&first.model, 1, "b").await.unwrap();
    let second = Projection {
        model: first.model.clone(),
        checkpoint,
    };
    let lane = async |mut projection: Projection, id: &str, models: [&str; 2]| {
        let mut author = author(id, "sales");
        projection.apply(vec![author.begin(1)]).await;
        for sequence in 2..2 + ROUNDS {
            let facts = models.map(|model| paid(model, 1)).to_vec();
            projection.apply(vec![author.commit(sequence, facts)]).await;
        }
        projection
    };
    let lanes = (lane(first, "a", ["m", "n"]), lane(second, "b", ["n", "m"]));
    let (projection, _) = tokio::join!(lanes.0, lanes.1);
    let sum = 2 * ROUNDS;
    let expected = ["m", "n"].map(|model| format!("2023-11-14 sales {model} {sum} {sum}"));
    assert_eq!(usage(&projection, "acme", None, 1).await, expected);
}
