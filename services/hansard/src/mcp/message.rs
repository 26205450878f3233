//! A message of JSON-RPC: what the relay reads of it, and the errors that the relay answers by itself.

use serde_json::{Value, json};

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL_ERROR: i32 = -32603;
/// The member of `_meta` with the revision, in the stateless revisions.
const REVISION: &str = "io.modelcontextprotocol/protocolVersion";
/// The member of `_meta` with what the client supports, in the stateless revisions.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The stateless revision.
const STATELESS: &str = "2026-07-28";
/// The method of a stream of notifications, in the stateless revisions.
const LISTEN: &str = "subscriptions/listen";
/// The id of the request for a stream that serves a subscription.
const LISTEN_ID: &str = "hansard mcp";

/// A message from the host.
#[derive(Debug)]
pub(super) struct Message {
    json: Value,
    text: Vec<u8>,
}

impl Message {
    /// Parses a line.
    ///
    /// # Errors
    /// The error to answer.
    pub(super) fn parse(line: &[u8]) -> Result<Self, Value> {
        let json: Value = serde_json::from_slice(line)
            .map_err(|_| error(None, PARSE_ERROR, "the line is not valid JSON: send one message a line"))?;
        if !json.is_object() {
            let why = "the line is not an object: send one message a line";
            return Err(error(None, INVALID_REQUEST, why));
        }
        let text = line.to_vec();
        Ok(Self { json, text })
    }

    /// The request for a stream of notifications about one resource.
    pub(super) fn listen(uri: &str) -> Self {
        let json = json!({
            "jsonrpc": "2.0", "id": LISTEN_ID, "method": LISTEN,
            "params": {
                "notifications": {"resourceSubscriptions": [uri]},
                "_meta": {REVISION: STATELESS, CAPABILITIES: {}},
            },
        });
        let text = json.to_string().into_bytes();
        Self { json, text }
    }

    /// The bytes of the message.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The method; `None`: an answer.
    pub(super) fn method(&self) -> Option<&str> {
        self.json.get("method")?.as_str()
    }

    /// The tool or the resource of a request.
    pub(super) fn name(&self) -> Option<&str> {
        let params = self.json.get("params")?;
        params.get("name").or(params.get("uri"))?.as_str()
    }

    /// The revision that the message itself names.
    pub(super) fn revision(&self) -> Option<&str> {
        self.json.get("params")?.get("_meta")?.get(REVISION)?.as_str()
    }

    /// Whether the host stops waiting for an answer.
    pub(super) fn is_cancellation(&self) -> bool {
        self.method() == Some("notifications/cancelled")
    }

    /// The id of the request that is cancelled.
    pub(super) fn cancelled_id(&self) -> String {
        let id = self.json.get("params").and_then(|params| params.get("requestId"));
        id.map(Value::to_string).unwrap_or_default()
    }

    /// The id; empty for a notification.
    pub(super) fn id_text(&self) -> String {
        self.json.get("id").map(Value::to_string).unwrap_or_default()
    }

    /// Whether the host requests a stream of notifications.
    pub(super) fn is_listen(&self) -> bool {
        self.method() == Some(LISTEN)
    }

    /// Whether the gateway negotiates a revision in its answer.
    pub(super) fn is_initialize(&self) -> bool {
        self.method() == Some("initialize")
    }

    /// Whether an answer answers this request.
    pub(super) fn is_answered_by(&self, answer: &Value) -> bool {
        answer.get("method").is_none() && answer.get("id") == self.json.get("id")
    }

    /// The answer with this result; `None` for a notification.
    pub(super) fn done(&self) -> Option<Value> {
        let id = self.json.get("id")?;
        Some(json!({"jsonrpc": "2.0", "id": id, "result": {}}))
    }

    /// The answer with the error of another answer; `None` for a notification.
    pub(super) fn failed_as(&self, answer: &Value) -> Option<Value> {
        let id = self.json.get("id")?;
        let error = answer.get("error")?;
        Some(json!({"jsonrpc": "2.0", "id": id, "error": error}))
    }

    /// The error that answers an invalid request; `None` for a notification.
    pub(super) fn invalid(&self, message: &str) -> Option<Value> {
        let id = self.json.get("id")?;
        Some(error(Some(id), INVALID_PARAMS, message))
    }

    /// The error that answers the request; `None` for a notification.
    pub(super) fn failed(&self, message: &str) -> Option<Value> {
        let id = self.json.get("id")?;
        Some(error(Some(id), INTERNAL_ERROR, message))
    }
}

/// The error for a line above the bound.
pub(super) fn too_long() -> Value {
    error(None, INVALID_REQUEST, "the message is larger than 4 MiB: send shorter texts")
}

fn error(id: Option<&Value>, code: i32, message: &str) -> Value {
    let mut answer = json!({"jsonrpc": "2.0", "error": {"code": code, "message": message}});
    if let (Some(id), Some(members)) = (id, answer.as_object_mut()) {
        members.insert("id".to_owned(), id.clone());
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_headers_need_is_read() {
        let line = json!({
            "jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": {"name": "t", "_meta": {REVISION: "2026-07-28"}},
        });
        let message = Message::parse(line.to_string().as_bytes()).unwrap();
        assert_eq!(message.method(), Some("tools/call"));
        assert_eq!((message.name(), message.revision()), (Some("t"), Some("2026-07-28")));
        assert_eq!(message.failed("why").unwrap()["id"], 7);
        for line in ["", "{", "[]", "1"] {
            assert!(Message::parse(line.as_bytes()).is_err(), "{line}");
        }
        let notification = Message::parse(br#"{"method":"notifications/initialized"}"#).unwrap();
        assert_eq!(notification.failed("why"), None);
        let cancelled = br#"{"method":"notifications/cancelled","params":{"requestId":"a"}}"#;
        let cancelled = Message::parse(cancelled).unwrap();
        assert!(cancelled.is_cancellation());
        assert_eq!(cancelled.cancelled_id(), "\"a\"");
    }
}
