//! Runs statements of transactions, with their arguments and the numbers of rows.

use domain::{ConversationId, ConversationKey, Partition, TenantId};
use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::{Arguments as _, Encode, Postgres, SqlSafeStr, Type};

/// The arguments of a statement, in order.
macro_rules! arguments {
    ($($value:expr),+ $(,)?) => {{
        let arguments = ::sqlx::postgres::PgArguments::default();
        $(let arguments = $crate::arguments::bind(arguments, $value);)+
        arguments
    }};
}
pub(crate) use arguments;

/// Runs one statement. Returns the number of affected rows.
pub(crate) async fn execute(
    connection: &mut PgConnection,
    sql: impl SqlSafeStr,
    arguments: PgArguments,
) -> Result<u64, sqlx::Error> {
    let done = sqlx::query_with(sql, arguments).execute(connection).await?;
    Ok(done.rows_affected())
}

/// Adds an argument whose encoding cannot fail: a number, a text, a byte string, a time, or an array of these.
pub(crate) fn bind<'q, T>(mut arguments: PgArguments, value: T) -> PgArguments
where
    T: Encode<'q, Postgres> + Type<Postgres>,
{
    // Only a value over 2 GiB fails. The statement then lacks an argument, and Postgres rejects it.
    let _ = arguments.add(value);
    arguments
}

/// The tenant and the id of a conversation, as two arguments.
pub(crate) fn bind_key(key: &ConversationKey) -> PgArguments {
    arguments![key.tenant.as_str(), key.conversation.as_str()]
}

/// The tenants and the ids of conversations, as two arrays.
pub(crate) fn bind_keys<'k>(keys: impl IntoIterator<Item = (&'k TenantId, &'k ConversationId)>) -> PgArguments {
    let texts = |(tenant, id): (&'k TenantId, &'k ConversationId)| (tenant.as_str(), id.as_str());
    let (tenants, ids): (Vec<&str>, Vec<&str>) = keys.into_iter().map(texts).unzip();
    arguments![tenants, ids]
}

/// The parts of a key, for [`bind_keys`].
pub(crate) fn key_parts(key: &ConversationKey) -> (&TenantId, &ConversationId) {
    (&key.tenant, &key.conversation)
}

/// The number as a `bigint`, at most `i64::MAX`.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The number in a column that never contains a negative one.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// The partition in a column that was written from one.
pub(crate) fn partition_of(number: i32) -> Partition {
    Partition(u16::try_from(number).unwrap_or(u16::MAX))
}
