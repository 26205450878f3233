//! Every route of the HTTP door. A new endpoint is one line here.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::header;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt as _};
use utoipa_axum::routes;

use super::chats::{
    change_chat, create_chat, erase_chat, export_chat, fork_chat, get_chat, list_chats,
};
use super::limits::RateLimits;
use super::sessions::{claim_session, issue_session, release_chat};
use super::state::HttpState;
use super::talk::ai_sdk::send_ui_messages::UI_REQUEST_BYTES_MAX;
use super::talk::ai_sdk::{follow_ui_chat, send_ui_messages, stop_ui_chat};
use super::talk::session::{chat, create_session, list_messages, list_sessions};
use super::talk::{approve_calls, follow_chat, send_message, stop_chat};
use super::{admin, cors, get_health, get_limits, limits, openapi, positions, session_renewal};

/// The description of every endpoint, in its own format.
pub const OPENAPI_PATH: &str = "/openapi.json";

fn endpoints() -> OpenApiRouter<HttpState> {
    OpenApiRouter::with_openapi(openapi::described())
        .routes(routes!(get_health::get_health))
        .routes(routes!(get_limits::get_limits))
        .routes(routes!(create_chat::create_chat, list_chats::list_chats))
        .routes(routes!(
            get_chat::get_chat,
            change_chat::change_chat,
            erase_chat::erase_chat
        ))
        .routes(routes!(send_message::send_message))
        .routes(routes!(follow_chat::follow_chat))
        .routes(routes!(stop_chat::stop_chat))
        .routes(routes!(send_ui_messages::send_ui_messages).layer(larger(UI_REQUEST_BYTES_MAX)))
        .routes(routes!(follow_ui_chat::follow_ui_chat))
        .routes(routes!(stop_ui_chat::stop_ui_chat))
        .routes(routes!(chat::chat))
        .routes(routes!(
            create_session::create_session,
            list_sessions::list_sessions
        ))
        .routes(routes!(list_messages::list_messages))
        .routes(routes!(fork_chat::fork_chat))
        .routes(routes!(export_chat::export_chat))
        .routes(routes!(issue_session::issue_session))
        .routes(routes!(claim_session::claim_session))
        .routes(routes!(release_chat::release_chat))
        .routes(routes!(admin::list_conversations::list_conversations))
        .routes(routes!(admin::get_conversation::get_conversation))
        .routes(routes!(admin::list_events::list_events))
        .routes(routes!(approve_calls::approve_calls))
        .routes(routes!(admin::get_usage::get_usage))
        .routes(routes!(admin::list_provider_logs::list_provider_logs))
        .routes(routes!(admin::get_provider_log::get_provider_log))
}

/// The bound of a route whose bodies may be larger than others'.
fn larger(bytes_max: usize) -> DefaultBodyLimit {
    DefaultBodyLimit::max(bytes_max)
}

/// The description of the door.
#[must_use]
pub fn document() -> OpenApi {
    openapi::with_problems(endpoints().into_openapi())
}

/// The endpoints and their description; put [`guarded`] around them.
///
/// # Errors
/// The description cannot be written.
pub fn router(state: HttpState) -> Result<Router, serde_json::Error> {
    let record = state.gateway.reader.record.id();
    let (endpoints, document) = endpoints().split_for_parts();
    let document = bytes::Bytes::from(openapi::with_problems(document).to_json()?);
    let serve_document =
        get(async move || ([(header::CONTENT_TYPE, "application/json")], document));
    Ok(endpoints
        .route(OPENAPI_PATH, serve_document)
        .layer(from_fn_with_state(record, positions::layer))
        .with_state(state))
}

/// Routes under rates and origins: each request is counted of its client's address, preflights are answered, and answers
/// tell what was judged, and carry sessions that were renewed.
pub fn guarded(routes: Router, limits: RateLimits) -> Router {
    routes
        .layer(from_fn(session_renewal::layer))
        .layer(from_fn_with_state(limits, limits::layer))
        .layer(from_fn(cors::layer))
}
