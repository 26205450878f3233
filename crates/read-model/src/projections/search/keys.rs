//! The keys of tenants' terms. Postgres makes them: 244 random bits of two UUIDs.

use std::collections::{BTreeSet, HashMap};

use domain::TenantId;
use search::TermKey;
use sqlx::Row as _;
use sqlx::postgres::PgConnection;

use crate::arguments::arguments;
use crate::error::ReadModelError;
use crate::term_key::key_of;

/// The keys of tenants; a tenant without one gets one.
pub(super) async fn term_keys(
    connection: &mut PgConnection,
    tenants: BTreeSet<TenantId>,
) -> Result<HashMap<TenantId, TermKey>, ReadModelError> {
    let ids: Vec<&str> = tenants.iter().map(TenantId::as_str).collect();
    let read = async |connection: &mut PgConnection| {
        let sql = include_str!("term_keys.sql");
        let query = sqlx::query_with(sql, arguments![ids.as_slice()]);
        query.fetch_all(connection).await
    };
    let mut rows = read(&mut *connection).await?;
    if rows.len() < tenants.len() {
        let sql = include_str!("make_term_keys.sql");
        let query = sqlx::query_with(sql, arguments![ids.as_slice()]);
        query.execute(&mut *connection).await?;
        rows = read(connection).await?;
    }
    let keys = rows.iter().map(|row| {
        let tenant: &str = row.try_get(0)?;
        let corrupt = || ReadModelError::corrupt("tenant", tenant, "tenant_id");
        let tenant = TenantId::parse(tenant).map_err(|_| corrupt())?;
        Ok((tenant, key_of(row, 1)?))
    });
    keys.collect()
}
