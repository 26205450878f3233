//! The table of pages: method, path, who may see it, handler. A new page is one line.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{self, MethodRouter};
use identity::Role;

use super::conversations::context::{compare_policies, download_body, show_context, verify_receipt};
use super::conversations::erase::{erase_conversation, show_erasure_plan};
use super::conversations::events::{download_event, show_event};
use super::conversations::{
    archive, change_title, erasure_receipt, export_conversation, restore, show_conversation, watch_conversation,
};
use super::guard::{Access, FORM_BYTES_MAX, Guard};
use super::settings::agents::keys::{change_origins, create_key, list_keys, revoke_key, rotate_key};
use super::settings::agents::policy::{preview_policy, save_policy, show_policy};
use super::settings::agents::webhooks::{rotate_secret, show_webhooks};
use super::settings::agents::{save_settings, show_settings};
use super::settings::list_agents;
use super::settings::signing_keys::{add_signing_key, list_signing_keys, retire_signing_key};
use super::sign_in::provider::{finish_sign_in, start_sign_in};
use super::sign_in::{link, show_sign_in};
use super::system::parked::{drop_commit, retry};
use super::system::{show_system, switch_tenant};
use super::usage::{download_runs, download_tokens, show_usage};
use super::{assets, guard, list_conversations, save_view, search_texts, show_audit_log, sign_out};
use http_listener::state::HttpState;

/// A page.
#[derive(Debug)]
pub struct Route {
    /// The method: GET shows, POST changes.
    pub method: Method,
    /// The path, with parameters in braces.
    pub path: &'static str,
    /// Who may see it.
    pub access: Access,
    handler: MethodRouter<HttpState>,
}

/// Every page. The access matrix of the tests has a row for each.
#[must_use]
pub fn table() -> Vec<Route> {
    use Access::{Public, Role as Needs};
    vec![
        get("/dashboard/assets/{hash}/{name}", Public, assets::get_asset),
        get("/dashboard/sign-in", Public, show_sign_in::show_sign_in),
        get("/dashboard/sign-in/provider", Public, start_sign_in::start_sign_in),
        get("/dashboard/sign-in/callback", Public, finish_sign_in::finish_sign_in),
        get("/dashboard/sign-in/link", Public, link::show_link),
        post("/dashboard/sign-in/link", Public, link::use_link),
        post("/dashboard/sign-out", Needs(Role::Viewer), sign_out::sign_out),
        post("/dashboard/views", Needs(Role::Support), save_view::save_view),
        get("/dashboard/audit", Needs(Role::Administrator), show_audit_log::show_audit_log),
        get("/dashboard", Needs(Role::Viewer), list_conversations::list_conversations),
        get("/dashboard/search", Needs(Role::Viewer), search_texts::search_texts),
    ]
    .into_iter()
    .chain(transcript_pages())
    .chain(context_pages())
    .chain(support_pages())
    .chain(usage_pages())
    .chain(system_pages())
    .chain(agent_pages())
    .chain(key_pages())
    .collect()
}

/// The pages that show one conversation.
fn transcript_pages() -> Vec<Route> {
    let read = Access::Role(Role::Viewer);
    vec![
        get("/dashboard/conversations/{id}", read, show_conversation::show_conversation),
        get("/dashboard/conversations/{id}/stream", read, watch_conversation::watch_conversation),
        get("/dashboard/conversations/{id}/events/{version}", read, show_event::show_event),
        get("/dashboard/conversations/{id}/events/{version}/download", read, download_event::download_event),
    ]
}

/// The pages of what a model read.
fn context_pages() -> Vec<Route> {
    let read = Access::Role(Role::Viewer);
    vec![
        get("/dashboard/conversations/{id}/context", read, show_context::show_context),
        post("/dashboard/conversations/{id}/context", read, compare_policies::compare_policies),
        get("/dashboard/conversations/{id}/context/body", read, download_body::download_body),
        post("/dashboard/conversations/{id}/context/verify", read, verify_receipt::verify_receipt),
    ]
}

/// The pages that export, change or erase one conversation.
fn support_pages() -> Vec<Route> {
    let change = Access::Role(Role::Support);
    vec![
        get("/dashboard/conversations/{id}/export", change, export_conversation::export_conversation),
        post("/dashboard/conversations/{id}/title", change, change_title::change_title),
        post("/dashboard/conversations/{id}/archive", change, archive::archive),
        post("/dashboard/conversations/{id}/restore", change, restore::restore),
        get("/dashboard/conversations/{id}/erase", change, show_erasure_plan::show_erasure_plan),
        post("/dashboard/conversations/{id}/erase", change, erase_conversation::erase_conversation),
        get("/dashboard/conversations/{id}/erasure", change, erasure_receipt::show_receipt),
    ]
}

/// Tokens and runs of the tenant.
fn usage_pages() -> Vec<Route> {
    let read = Access::Role(Role::Viewer);
    vec![
        get("/dashboard/usage", read, show_usage::show_usage),
        get("/dashboard/usage/download", read, download_tokens::download_tokens),
        get("/dashboard/usage/runs", read, download_runs::download_runs),
    ]
}

/// The state of the deployment, and the tenants.
fn system_pages() -> Vec<Route> {
    let operate = Access::Role(Role::Operator);
    vec![
        get("/dashboard/system", operate, show_system::show_system),
        post("/dashboard/system/parked/retry", operate, retry::retry),
        post("/dashboard/system/parked/drop", operate, drop_commit::drop_commit),
        post("/dashboard/system/tenant", operate, switch_tenant::switch_tenant),
    ]
}

/// The pages of agents' settings.
fn agent_pages() -> Vec<Route> {
    let change = Access::Role(Role::Administrator);
    vec![
        get("/dashboard/settings", change, list_agents::list_agents),
        get("/dashboard/settings/agents/{agent}", change, show_settings::show_settings),
        post("/dashboard/settings/agents/{agent}", change, save_settings::save_settings),
        get("/dashboard/settings/agents/{agent}/policy", change, show_policy::show_policy),
        post("/dashboard/settings/agents/{agent}/policy", change, save_policy::save_policy),
        post("/dashboard/settings/agents/{agent}/policy/preview", change, preview_policy::preview_policy),
        get("/dashboard/settings/agents/{agent}/webhooks", change, show_webhooks::show_webhooks),
        post("/dashboard/settings/agents/{agent}/webhooks/secret", change, rotate_secret::rotate_secret),
    ]
}

/// The pages of API keys and signing keys.
fn key_pages() -> Vec<Route> {
    let change = Access::Role(Role::Administrator);
    vec![
        get("/dashboard/settings/agents/{agent}/keys", change, list_keys::list_keys),
        post("/dashboard/settings/agents/{agent}/keys", change, create_key::create_key),
        post("/dashboard/settings/agents/{agent}/keys/{key}/origins", change, change_origins::change_origins),
        post("/dashboard/settings/agents/{agent}/keys/{key}/rotate", change, rotate_key::rotate_key),
        post("/dashboard/settings/agents/{agent}/keys/{key}/revoke", change, revoke_key::revoke_key),
        get("/dashboard/settings/signing-keys", change, list_signing_keys::list_signing_keys),
        post("/dashboard/settings/signing-keys", change, add_signing_key::add_signing_key),
        post("/dashboard/settings/signing-keys/retire", change, retire_signing_key::retire_signing_key),
    ]
}

/// The routes of the table, each behind its guard.
pub fn routes(state: &HttpState) -> Router<HttpState> {
    let router = table().into_iter().fold(Router::new(), |router, route| {
        let guard = Guard { state: state.clone(), access: route.access };
        let guarded = from_fn_with_state(guard, guard::layer);
        router.route(route.path, route.handler.route_layer(guarded))
    });
    router.layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
}

fn get<H, T>(path: &'static str, access: Access, handler: H) -> Route
where
    H: Handler<T, HttpState>,
    T: 'static,
{
    Route { method: Method::GET, path, access, handler: routing::get(handler) }
}

fn post<H, T>(path: &'static str, access: Access, handler: H) -> Route
where
    H: Handler<T, HttpState>,
    T: 'static,
{
    Route { method: Method::POST, path, access, handler: routing::post(handler) }
}
