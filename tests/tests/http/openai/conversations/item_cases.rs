//! Items of every type.

use serde_json::{Value, json};

/// An item as a client sends it, and what is different when it comes back, except the id if it has none.
type Case = (Value, Value);

pub(super) fn cases() -> Vec<Case> {
    [messages(), calls(), others()].concat()
}

fn messages() -> Vec<Case> {
    let text = |kind: &str| json!({"type": kind, "text": "é\u{0}"});
    let output = json!({"type": "output_text", "text": "é\u{0}", "annotations": [], "logprobs": []});
    vec![
        (
            json!({"role": "user", "content": "é\u{0}"}),
            json!({"type": "message", "status": "completed", "content": [text("input_text")]}),
        ),
        (
            json!({"type": "message", "role": "assistant", "content": "é\u{0}", "phase": "commentary"}),
            json!({"status": "completed", "content": [output]}),
        ),
        (
            json!({"type": "message", "id": "msg_own", "role": "assistant", "status": "incomplete", "more": {"a": [1.0, null]}, "content": [
                {"type": "output_text", "text": "a", "annotations": [{"type": "url_citation", "start_index": 0, "end_index": 1, "title": "t", "url": "https://h"}],
                 "logprobs": [{"token": "a", "bytes": [97], "logprob": -0.5, "top_logprobs": []}]},
                {"type": "output_text", "text": "b", "annotations": [], "logprobs": []},
                {"type": "refusal", "refusal": "no"},
                {"type": "reasoning_text", "text": "hm"}
            ]}),
            json!({}),
        ),
        (json!({"type": "message", "role": "system", "content": [text("input_text")]}), json!({"status": "completed"})),
        (
            json!({"type": "message", "role": "developer", "content": "", "status": null}),
            json!({"status": "completed", "content": []}),
        ),
        (
            json!({"type": "message", "role": "tool", "content": "x"}),
            json!({"status": "completed", "content": [{"type": "input_text", "text": "x"}]}),
        ),
        (
            json!({"type": "message", "role": "user", "status": "completed", "content": [
                {"type": "input_text", "text": ""},
                {"type": "text", "text": "t"},
                {"type": "input_image", "image_url": "https://h/i.png", "file_id": null, "detail": "high"},
                {"type": "input_image", "file_id": "file_1", "detail": "auto"},
                {"type": "input_file", "file_data": "AAAA", "filename": "a.pdf"},
                {"type": "input_file", "file_url": "https://h/a.pdf"},
                {"type": "input_audio", "input_audio": {"data": "AA", "format": "mp3"}}
            ]}),
            json!({}),
        ),
    ]
}

fn calls() -> Vec<Case> {
    vec![
        (
            json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": "e"}),
            json!({}),
        ),
        (
            json!({"type": "function_call", "call_id": "a", "name": "look", "arguments": "{\"q\": 1.0}"}),
            json!({"status": "completed"}),
        ),
        (
            json!({"type": "function_call", "call_id": "b", "name": "look", "arguments": "{bad", "async": true, "status": "incomplete", "namespace": "n"}),
            json!({}),
        ),
        (
            json!({"type": "function_call_output", "call_id": "a", "output": "{\"n\": 1e400}"}),
            json!({"status": "completed"}),
        ),
        (
            json!({"type": "function_call_output", "call_id": "b", "output": [
                {"type": "input_text", "text": "one", "more": 1},
                {"type": "input_image", "image_url": "https://h/i.png", "detail": "low"}
            ]}),
            json!({"status": "completed"}),
        ),
        (
            json!({"type": "function_call_output", "call_id": "none", "output": "orphan"}),
            json!({"status": "completed"}),
        ),
    ]
}

fn others() -> Vec<Case> {
    vec![
        (json!({"type": "custom_tool_call", "call_id": "c", "name": "n", "input": "i"}), json!({})),
        (json!({"type": "custom_tool_call_output", "call_id": "c", "output": "o"}), json!({})),
        (
            json!({"type": "mcp_call", "id": "mcp_1", "arguments": "{}", "name": "n", "server_label": "s", "output": null}),
            json!({}),
        ),
        (
            json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}),
            json!({}),
        ),
        (json!({"type": "compaction", "encrypted_content": "e"}), json!({})),
        (json!({"type": "tool_search_call", "arguments": {}}), json!({"status": "completed", "execution": "server"})),
        (
            json!({"type": "tool_search_output", "call_id": "c", "tools": []}),
            json!({"status": "completed", "execution": "client"}),
        ),
        (json!({"type": "never_seen", "a": {"b": [1, 2.50, "x"]}}), json!({})),
    ]
}
