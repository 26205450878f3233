//! The OpenAPI description, generated from the endpoints.

use super::openai::errors::{OpenAiError, is_openai};
use runtime::http::{PROBLEM_CONTENT_TYPE, ProblemBody};
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Content, OpenApi, PathItem, Ref, RefOr, ResponseBuilder};
use utoipa::{Modify, OpenApi as _};

/// What the description contains besides the endpoints.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Hansard",
        description = "The verbatim record of conversations with agents, for frontends. Every error is \
                       `application/problem+json` with a stable `code`."
    ),
    components(schemas(ProblemBody, OpenAiError)),
    modifiers(&SecuritySchemes),
    tags(
        (name = "chats", description = "A caller's conversations with the agent of their API key."),
        (name = "ai-sdk", description = "The AI SDK's chat, as its transport sends it."),
        (name = "chat", description = "Turns for programs that know only a message and a session."),
        (name = "sessions", description = "Sessions: issued to callers without a user; users can take them over."),
        (name = "conversations", description = "The record, for back ends that run their own model."),
        (name = "histories", description = "Histories under a back end's own keys, for bots."),
        (name = "documents", description = "JSON values under a namespace and a key, of agents and their owners."),
        (name = "openai", description = "APIs of OpenAI. Every error is in OpenAI's format; its `code` is the same stable code."),
        (name = "admin", description = "What administrators see of their tenant."),
        (name = "widget", description = "The files of the chat widget, for pages of any origin."),
        (name = "service", description = "Health and limits of the service.")
    )
)]
struct BaseDescription;

/// The security schemes.
struct SecuritySchemes;

impl Modify for SecuritySchemes {
    fn modify(&self, document: &mut OpenApi) {
        let header = |name: &str, description: &str| {
            let value = ApiKeyValue::with_description(name, description);
            SecurityScheme::ApiKey(ApiKey::Header(value))
        };
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some("A user's token, or a tenant administrator's."))
            .build();
        let service_token = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("The token of a back end, with the scopes `append` or `read`."))
            .build();
        let components = document.components.get_or_insert_default();
        for (name, scheme) in [
            ("api_key", header("x-api-key", "An agent's public API key.")),
            ("user_token", header("x-user-token", "A user's token, in addition to the API key.")),
            ("bearer", SecurityScheme::Http(bearer)),
            ("service_token", SecurityScheme::Http(service_token)),
        ] {
            components.add_security_scheme(name, scheme);
        }
    }
}

/// The description without endpoints.
pub(super) fn base_description() -> OpenApi {
    BaseDescription::openapi()
}

/// Adds the problem that every endpoint can answer with.
pub(super) fn with_problems(mut document: OpenApi) -> OpenApi {
    for (path, item) in &mut document.paths.paths {
        let (schema, content_type) =
            if is_openai(path) { ("OpenAiError", "application/json") } else { ("Problem", PROBLEM_CONTENT_TYPE) };
        for operation in operations(item) {
            let problem = Content::new(Some(Ref::from_schema_name(schema)));
            let response = ResponseBuilder::new().description("The problem.").content(content_type, problem).build();
            let responses = &mut operation.responses.responses;
            responses.entry("default".to_owned()).or_insert(RefOr::T(response));
        }
    }
    document
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [
        &mut item.get,
        &mut item.put,
        &mut item.post,
        &mut item.delete,
        &mut item.patch,
        &mut item.head,
        &mut item.options,
        &mut item.trace,
    ]
    .into_iter()
    .flatten()
}
