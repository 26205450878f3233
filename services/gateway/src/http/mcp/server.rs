//! The server of the protocol: answers one message for the caller that `guard` found.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, ErrorData, Implementation, InitializeRequestParams,
    InitializeResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    SubscriptionFilter,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};

use super::caller::McpCaller;
use super::tools::{ToolContext, ToolName};
use super::{resources, subscriptions};
use conversations::positions::RequestScope;
use http_listener::state::HttpState;

/// The revisions that the server speaks.
static REVISIONS: [ProtocolVersion; 2] = [ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

const INSTRUCTIONS: &str = "Hansard stores conversations. At the start of a request call fetch_chat_history with the \
     conversation_id to rebuild the context; at its end call record_interaction once. A new conversation begins with \
     create_conversation; list_conversations finds earlier ones.";

/// The server of one request.
pub(super) struct McpServer {
    state: HttpState,
}

impl McpServer {
    pub(super) fn new(state: HttpState) -> Self {
        Self { state }
    }

    fn tools<'a>(&'a self, caller: &'a McpCaller) -> ToolContext<'a> {
        ToolContext { state: &self.state, caller }
    }
}

/// What `guard` stored with a request.
struct Admitted {
    caller: Arc<McpCaller>,
    positions: RequestScope,
    /// The client's address.
    address: Option<IpAddr>,
}

impl Admitted {
    fn of(context: &RequestContext<RoleServer>, state: &HttpState) -> Result<Self, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let stored = parts.and_then(|parts| {
            Some(Self {
                caller: Arc::clone(parts.extensions.get::<Arc<McpCaller>>()?),
                positions: parts.extensions.get::<RequestScope>()?.clone(),
                address: state.limits.address_of(&parts.extensions, &parts.headers),
            })
        });
        stored.ok_or_else(|| ErrorData::internal_error("the request has no caller", None))
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_resources_subscribe().build();
        let name = Implementation::new("hansard", crate::VERSION);
        ServerConfig::new(capabilities).with_server_info(name.with_title("Hansard")).with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&REVISIONS)
    }

    /// The revision with a handshake has no subscriptions: they need a session.
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        if let Some(resources) = &mut result.capabilities.resources {
            resources.subscribe = None;
        }
        Ok(result)
    }

    /// The tools that the caller's token may use.
    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // All tools are on the first page, so no cursor was ever issued.
        if request.and_then(|request| request.cursor).is_some() {
            return Err(resources::unknown_cursor());
        }
        let admitted = Admitted::of(&context, &self.state)?;
        let tools =
            ToolName::ALL.into_iter().filter(|tool| tool.is_for(&admitted.caller)).map(ToolName::definition).collect();
        let listed = ListToolsResult::with_all_items(tools);
        Ok(listed.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = ToolName::parse(&request.name) else {
            let message = "unknown tool: call tools/list for the names of the tools";
            return Err(ErrorData::invalid_params(message, None));
        };
        let admitted = Admitted::of(&context, &self.state)?;
        let tools = self.tools(&admitted.caller);
        let arguments = request.arguments.unwrap_or_default();
        // Boxed: the futures of all tools together are large.
        let call = Box::pin(tool.call(tools, arguments));
        Ok(admitted.positions.within(call).await.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let admitted = Admitted::of(&context, &self.state)?;
        let cursor = request.and_then(|request| request.cursor);
        let tools = self.tools(&admitted.caller);
        let listing = Box::pin(resources::list(tools, cursor));
        admitted.positions.within(listing).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        if request.and_then(|request| request.cursor).is_some() {
            return Err(resources::unknown_cursor());
        }
        Ok(resources::templates())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(subscriptions::accepted(requested))
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let admitted = Admitted::of(subscription.request_context(), &self.state)?;
        let tools = ToolContext { state: &self.state, caller: &admitted.caller };
        let listening = Box::pin(subscriptions::listen(tools, admitted.address, subscription.sink()));
        tokio::select! {
            ended = admitted.positions.within(listening) => ended,
            () = subscription.cancelled() => Ok(()),
        }
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let admitted = Admitted::of(&context, &self.state)?;
        let tools = self.tools(&admitted.caller);
        let reading = Box::pin(resources::read(tools, &request.uri));
        Ok(admitted.positions.within(reading).await?.into())
    }
}
