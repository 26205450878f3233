//! `/v1/admin/provider-logs`.

pub mod get_provider_log;
pub mod list_provider_logs;

use api_json::provider_log::ProviderLogBody;
use read_model::queries::ProviderLogRow;

fn body(row: &ProviderLogRow) -> ProviderLogBody {
    ProviderLogBody::new(&row.agent, &row.conversation, &row.call, row.kept_until)
}
