//! `GET /openai/v1/responses/{id}/input_items`: the input of a response, page by page.

use axum::extract::State;
use domain::Version;
use runtime::http::{HttpProblem, Json, Path, Query};

use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use crate::http::openai::conversations::items::ItemListObject;
use crate::http::openai::conversations::items::list_items::Listing;
use crate::http::openai::conversations::items::list_query::ListItemsQuery;
use crate::http::openai::responses::recorded::{RecordedResponse, open_response};
use http_listener::state::HttpState;

/// List the input items of a response.
///
/// Only the items of its own request: not those of its conversation or of earlier responses.
#[utoipa::path(
    get,
    path = "/openai/v1/responses/{id}/input_items",
    tag = "openai",
    params(
        ("id" = String, Path, description = "The response."),
        ListItemsQuery,
        OpenAiHeaders,
    ),
    responses((status = 200, description = "A page of items.", body = ItemListObject)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn list_input_items(
    State(state): State<HttpState>,
    caller: OpenAiCaller,
    Path(id): Path<String>,
    Query(query): Query<ListItemsQuery>,
) -> Result<Json<ItemListObject>, HttpProblem> {
    let found = RecordedResponse::find(&state, &caller, &id).await?;
    let range = (Version(found.noted.input_from), found.id.started);
    let snapshot = open_response(&state, &caller, &found.target).await?;
    let listing = Listing::of(&snapshot, &query, range).await?;
    listing.read(&snapshot).await.map(Json)
}
