//! Rows of the event table as columns, which are read once and inserted again.

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::types::Uuid;
use sqlx::types::time::OffsetDateTime;
use sqlx::{Decode, Postgres, Row as _, Type};

/// Defines [`Columns`] with one field per column, in the order of the table.
macro_rules! columns {
    ($($name:ident: $type:ty,)*) => {
        /// The values of each column; all of the same length.
        #[derive(Debug, Default)]
        pub(super) struct Columns {
            $($name: Vec<$type>,)*
        }

        impl Columns {
            fn from_rows(rows: &[PgRow]) -> anyhow::Result<Self> {
                Ok(Self {
                    $($name: column(rows, stringify!($name))?,)*
                })
            }

            fn split_off(&mut self, at: usize) -> Self {
                Self {
                    $($name: self.$name.split_off(at),)*
                }
            }

            /// One statement, one transaction.
            pub(super) async fn insert(&self, connection: &mut PgConnection) -> anyhow::Result<()> {
                let query = sqlx::query(include_str!("insert.sql"));
                $(let query = query.bind(&self.$name);)*
                query.execute(connection).await?;
                Ok(())
            }
        }
    };
}

columns! {
    version: i64,
    recorded_at: OffsetDateTime,
    occurred_at: Option<OffsetDateTime>,
    input_tokens: Option<i64>,
    output_tokens: Option<i64>,
    cached_tokens: Option<i64>,
    sequence: Option<i64>,
    commit_id: Uuid,
    recorded_nanos: i16,
    commit_index: i16,
    event_count: Option<i16>,
    kind: i16,
    role: Option<i16>,
    tenant_id: String,
    conversation_id: String,
    tool_name: Option<String>,
    call_id: Option<String>,
    model: Option<String>,
    request_digest: Option<Vec<u8>>,
    body: Vec<u8>,
}

impl Columns {
    /// The latest rows, at most `limit`.
    pub(super) async fn read(connection: &mut PgConnection, limit: i64) -> anyhow::Result<Self> {
        let rows = sqlx::query(include_str!("select.sql")).bind(limit);
        Self::from_rows(&rows.fetch_all(connection).await?)
    }

    pub(super) fn len(&self) -> usize {
        self.version.len()
    }

    /// The same rows in batches of `size`.
    pub(super) fn split(mut self, size: usize) -> Vec<Self> {
        let mut batches = Vec::new();
        while self.len() > 0 {
            let rest = self.len().saturating_sub(size);
            batches.push(self.split_off(rest));
        }
        batches
    }

    /// Updates the conversations of the rows, as new events do.
    pub(super) async fn touch(&self, connection: &mut PgConnection) -> anyhow::Result<()> {
        sqlx::query(include_str!("touch.sql"))
            .bind(&self.tenant_id)
            .bind(&self.conversation_id)
            .execute(connection)
            .await?;
        Ok(())
    }
}

fn column<'r, T>(rows: &'r [PgRow], name: &str) -> Result<Vec<T>, sqlx::Error>
where
    T: Decode<'r, Postgres> + Type<Postgres>,
{
    rows.iter().map(|row| row.try_get(name)).collect()
}
