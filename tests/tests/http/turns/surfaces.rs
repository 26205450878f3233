//! The surfaces on which a model answers, and their callers.

use serde_json::json;
use tests::eventually::eventually;
use tests::http_client::{Answer, HttpClient};
use wire::proto::operate::v1::Scope;

use super::fixture::TurnFixture;
use crate::fixture::{begin, text};

/// A tool of requests, which their callers run.
pub(crate) const TOOL: &str = "look";

/// A surface that answers, and how it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surface {
    Chat,
    Turn { stream: bool },
    Completion { stream: bool },
    Response { stream: bool },
}

impl Surface {
    pub(crate) const ALL: [Self; 7] = [
        Self::Chat,
        Self::Turn { stream: false },
        Self::Turn { stream: true },
        Self::Completion { stream: false },
        Self::Completion { stream: true },
        Self::Response { stream: false },
        Self::Response { stream: true },
    ];
}

/// A frontend and a back end of one gateway.
pub(crate) struct Callers<'f> {
    pub(crate) fixture: &'f TurnFixture,
    pub(crate) frontend: HttpClient,
    pub(crate) back_end: HttpClient,
}

impl<'f> Callers<'f> {
    /// Of the gateway of this frontend.
    pub(crate) async fn of(fixture: &'f TurnFixture, frontend: HttpClient) -> Self {
        let scopes = [Scope::Append, Scope::Read, Scope::Erase];
        let key = fixture.operator.secret_key(&scopes, &[fixture.agent_id]).await;
        let bearer = format!("Bearer {}", key.secret);
        let back_end = frontend.without("x-api-key").without("x-session-id").with("authorization", &bearer);
        eventually("a gateway that knows the key", || async {
            (back_end.get("/openai/v1/models").await.status == 200).then_some(())
        })
        .await;
        Self { fixture, frontend, back_end }
    }

    /// A conversation for each surface.
    pub(crate) async fn begin(&self) -> Vec<String> {
        let mut conversations = Vec::new();
        for surface in Surface::ALL {
            conversations.push(match surface {
                Surface::Chat | Surface::Turn { .. } => begin(&self.frontend, &json!({})).await,
                Surface::Completion { .. } | Surface::Response { .. } => {
                    text(&self.back_end.post("/openai/v1/conversations", &json!({})).await.ok(200), "id").to_owned()
                }
            });
        }
        conversations
    }

    /// Says a text in a conversation of the surface.
    pub(crate) async fn ask(&self, surface: Surface, conversation: &str, say: &str) -> Answer {
        let agent = self.fixture.agent_id;
        match surface {
            Surface::Chat => {
                self.frontend.post(&format!("/api/chats/{conversation}/messages"), &json!({"content": say})).await
            }
            Surface::Turn { stream } => {
                let body = json!({"message": say, "session_id": conversation, "stream": stream});
                self.frontend.post("/v1/chat", &body).await
            }
            Surface::Completion { stream } => {
                let function = json!({"type": "function", "function": {"name": TOOL}});
                let messages = json!([{"role": "user", "content": say}]);
                let body = json!({"model": agent, "messages": messages, "tools": [function], "stream": stream});
                let client = self.back_end.with("x-hansard-conversation", conversation);
                client.post("/openai/v1/chat/completions", &body).await
            }
            Surface::Response { stream } => {
                let function = json!({"type": "function", "name": TOOL, "parameters": {}});
                let body = json!({
                    "model": agent, "input": say, "tools": [function], "stream": stream, "conversation": conversation,
                });
                self.back_end.post("/openai/v1/responses", &body).await
            }
        }
    }
}
