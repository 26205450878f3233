//! Every route of the HTTP listener. A new endpoint is one line here.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use openai_api::completions::request::COMPLETION_BYTES_MAX;
use openai_api::responses::request::RESPONSE_BYTES_MAX;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt as _};
use utoipa_axum::routes;

use super::ai_sdk::follow_ui_chat;
use super::ai_sdk::send_ui_messages::{self, UI_REQUEST_BYTES_MAX};
use super::ai_sdk::stop_ui_chat;
use super::chats::export_chat;
use super::chats::follow_chat;
use super::chats::send_message;
use super::chats::watch_chat;
use super::chats::{change_chat, create_chat, erase_chat, fork_chat, get_chat, list_chats, stop_chat};
use super::openai::completions::create_completion;
use super::openai::conversations::items::{create_items, delete_item, get_item, list_items};
use super::openai::conversations::{
    create_openai_conversation, delete_openai_conversation, get_openai_conversation, update_openai_conversation,
};
use super::openai::errors;
use super::openai::models::{get_model, list_models};
use super::openai::responses::cancel_response;
use super::openai::responses::list_input_items;
use super::openai::responses::{create_response, delete_response, get_response};
use super::search::search_chats;
use super::sessions::{claim_session, issue_session, release_chat};
use super::v1::admin::conversations::approve_calls;
use super::v1::admin::conversations::events::list_events;
use super::v1::admin::conversations::events::watch_conversation;
use super::v1::admin::conversations::{export_conversation, get_conversation, list_conversations};
use super::v1::admin::get_usage;
use super::v1::admin::provider_logs::{get_provider_log, list_provider_logs};
use super::v1::admin::search_tenant;
use super::v1::chat::send_turn;
use super::v1::chat::sessions::list_messages;
use super::v1::chat::sessions::{create_session, list_sessions};
use super::v1::conversations::context::get_context;
use super::v1::conversations::events::append_events::{self, APPEND_BYTES_MAX};
use super::v1::conversations::events::list_recorded_events;
use super::v1::conversations::events::watch_recorded_conversation;
use super::v1::conversations::{create_conversation, get_recorded_conversation, update_conversation};
use super::v1::documents::delete_document;
use super::v1::documents::get_document;
use super::v1::documents::list_namespaces;
use super::v1::documents::list_versions;
use super::v1::documents::put_document;
use super::v1::documents::search_documents;
use super::v1::get_limits;
use super::v1::histories::record_messages;
use super::v1::histories::{get_history, load_history};
use super::v1::search_conversations;
use super::widget::{get_loader, get_widget_file};
use super::{get_health, mcp, openapi};
use http_listener::callers::session_renewal;
use http_listener::rate_limits::{self, Admission, RateLimits};
use http_listener::state::HttpState;
use http_listener::{cors, positions, visitor_quotas};

/// The path of the OpenAPI description.
pub const OPENAPI_PATH: &str = "/openapi.json";

fn endpoints() -> OpenApiRouter<HttpState> {
    OpenApiRouter::with_openapi(openapi::base_description())
        .routes(routes!(get_health::get_health))
        .routes(routes!(get_limits::get_limits))
        .merge(frontends())
        .routes(routes!(create_conversation::create_conversation))
        .routes(routes!(get_recorded_conversation::get_recorded_conversation, update_conversation::update_conversation))
        .routes(
            routes!(append_events::append_events, list_recorded_events::list_recorded_events)
                .layer(body_limit(APPEND_BYTES_MAX)),
        )
        .routes(routes!(watch_recorded_conversation::watch_recorded_conversation))
        .routes(routes!(get_context::get_context))
        .routes(routes!(search_conversations::search_conversations))
        .routes(routes!(get_history::get_history))
        .routes(routes!(load_history::load_history).layer(body_limit(APPEND_BYTES_MAX)))
        .routes(routes!(record_messages::record_messages).layer(body_limit(APPEND_BYTES_MAX)))
        .merge(documents())
        .merge(openai())
        .merge(admin())
        .routes(routes!(get_loader::get_loader))
        .routes(routes!(get_widget_file::get_widget_file))
}

/// The operations of frontends with an agent's public key.
fn frontends() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(create_chat::create_chat, list_chats::list_chats))
        .routes(routes!(get_chat::get_chat, change_chat::change_chat, erase_chat::erase_chat))
        .routes(routes!(search_chats::search_chats))
        .routes(routes!(send_message::send_message))
        .routes(routes!(follow_chat::follow_chat))
        .routes(routes!(watch_chat::watch_chat))
        .routes(routes!(stop_chat::stop_chat))
        .routes(routes!(send_ui_messages::send_ui_messages).layer(body_limit(UI_REQUEST_BYTES_MAX)))
        .routes(routes!(follow_ui_chat::follow_ui_chat))
        .routes(routes!(stop_ui_chat::stop_ui_chat))
        .routes(routes!(send_turn::chat))
        .routes(routes!(create_session::create_session, list_sessions::list_sessions))
        .routes(routes!(list_messages::list_messages))
        .routes(routes!(fork_chat::fork_chat))
        .routes(routes!(export_chat::export_chat))
        .routes(routes!(issue_session::issue_session))
        .routes(routes!(claim_session::claim_session))
        .routes(routes!(release_chat::release_chat))
        .layer(from_fn(visitor_quotas::layer))
}

/// The operations of documents.
fn documents() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(put_document::put_document))
        .routes(routes!(get_document::get_document))
        .routes(routes!(delete_document::delete_document))
        .routes(routes!(search_documents::search_documents))
        .routes(routes!(list_namespaces::list_namespaces))
        .routes(routes!(list_versions::list_versions))
}

/// The operations of administrators.
fn admin() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(list_conversations::list_conversations))
        .routes(routes!(get_conversation::get_conversation))
        .routes(routes!(list_events::list_events))
        .routes(routes!(watch_conversation::watch_conversation))
        .routes(routes!(export_conversation::export_conversation))
        .routes(routes!(approve_calls::approve_calls))
        .routes(routes!(get_usage::get_usage))
        .routes(routes!(list_provider_logs::list_provider_logs))
        .routes(routes!(get_provider_log::get_provider_log))
        .routes(routes!(search_tenant::search_tenant))
}

/// The APIs of OpenAI.
fn openai() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(list_models::list_models))
        .routes(routes!(get_model::get_model))
        .routes(routes!(create_completion::create_completion).layer(body_limit(COMPLETION_BYTES_MAX)))
        .routes(routes!(create_openai_conversation::create_openai_conversation).layer(body_limit(APPEND_BYTES_MAX)))
        .routes(routes!(
            get_openai_conversation::get_openai_conversation,
            update_openai_conversation::update_openai_conversation,
            delete_openai_conversation::delete_openai_conversation
        ))
        .routes(
            routes!(create_items::create_openai_items, list_items::list_openai_items)
                .layer(body_limit(APPEND_BYTES_MAX)),
        )
        .routes(routes!(create_response::create_response).layer(body_limit(RESPONSE_BYTES_MAX)))
        .routes(routes!(get_response::get_response, delete_response::delete_response))
        .routes(routes!(cancel_response::cancel_response))
        .routes(routes!(list_input_items::list_input_items))
        .routes(routes!(get_item::get_openai_item, delete_item::delete_openai_item))
}

/// The bound of a route that accepts larger bodies than others.
fn body_limit(bytes_max: usize) -> DefaultBodyLimit {
    DefaultBodyLimit::max(bytes_max)
}

/// The OpenAPI description.
#[must_use]
pub fn document() -> OpenApi {
    openapi::with_problems(endpoints().into_openapi())
}

/// The endpoints and their description. [`guarded`] adds rate limits and CORS.
///
/// # Errors
/// The description cannot be serialized.
pub fn router(state: HttpState) -> Result<Router, serde_json::Error> {
    let record = state.gateway.reader.record.id();
    let (endpoints, document) = endpoints().split_for_parts();
    let document = bytes::Bytes::from(openapi::with_problems(document).to_json()?);
    let serve_document = get(async move || ([(header::CONTENT_TYPE, "application/json")], document));
    Ok(endpoints
        .route(OPENAPI_PATH, serve_document)
        .merge(mcp::routes(&state))
        .merge(dashboard::routes::routes(&state))
        .layer(from_fn_with_state(record, positions::layer))
        .with_state(state))
}

/// Adds rate limits, CORS, renewed sessions, the errors of the OpenAI APIs, and the headers and errors of pages. Each request counts towards the limit of its service token, if `token_id`
/// returns the token's id, or else of its client's address.
pub fn guarded(
    routes: Router,
    limits: RateLimits,
    token_id: impl Fn(&HeaderMap) -> Option<Arc<str>> + Send + Sync + 'static,
) -> Router {
    let admission = Admission { limits, token_id: Arc::new(token_id) };
    routes
        .layer(from_fn(session_renewal::layer))
        .layer(from_fn_with_state(admission, rate_limits::layer))
        .layer(from_fn(cors::layer))
        .layer(from_fn(errors::layer))
        .layer(from_fn(dashboard::responses::layer))
}
