//! Usage at its bounds.

use domain::event::Usage;
use read_model::{Day, DayRange, USAGE_ROWS_MAX, usage_by_day};
use sqlx::{Connection as _, PgConnection};

use crate::fixture::{Author, Projection, START, access, reply};

#[tokio::test]
async fn sums_saturate() {
    let mut projection = Projection::new().await;
    let mut author = Author::new("a");
    projection.apply(vec![author.begin(1)]).await;
    let most = |input_tokens| Usage { input_tokens, ..Usage::default() };
    for (sequence, input, expected) in [(2, u64::MAX, i64::MAX), (3, 1, i64::MAX), (4, u64::MAX, i64::MAX)] {
        let facts = vec![reply(None, Some(most(input))), reply(None, Some(most(input)))];
        let applied = projection.apply(vec![author.commit(sequence, facts)]).await;
        assert_eq!(applied.parked, []);
        let days = DayRange::new(Day::from_time(START), Day::from_time(START)).unwrap();
        let rows = usage_by_day(&projection.model, &access("acme"), None, days).await.unwrap();
        assert_eq!(rows[0].tokens.input_tokens, u64::try_from(expected).unwrap());
        assert_eq!(rows[0].messages, 2 * (sequence - 1));
    }
}

#[tokio::test]
async fn a_read_of_usage_is_bounded() {
    let url = devstack::test::database().await.url;
    let projection = Projection::at(&url).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let days = DayRange::new(Day::from_time(START), Day::from_time(START)).unwrap();
    let mut from = 0;
    for rows in [USAGE_ROWS_MAX, USAGE_ROWS_MAX + 1] {
        let insert = "INSERT INTO conversations_v1.usage_day (
                messages, input_tokens, output_tokens, cached_tokens, reasoning_tokens, day, tenant_id, agent_id, model
            )
            SELECT 1, 1, 1, 1, 1, '2023-11-14', 'acme', 'a' || n, 'm'
            FROM generate_series($1::bigint, $2::bigint) AS n";
        let insert = sqlx::query(insert).bind(from).bind(i64::from(rows) - 1);
        insert.execute(&mut connection).await.unwrap();
        from = i64::from(rows);
        let found = usage_by_day(&projection.model, &access("acme"), None, days).await;
        let most = usize::try_from(USAGE_ROWS_MAX).unwrap();
        assert_eq!(found.unwrap().len(), most, "{rows}");
    }
}
