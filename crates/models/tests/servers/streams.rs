//! Streams as the providers send them.

use models::ServerKind;

/// A thought, two texts, a call of the tool `a_b` in two fragments, and the usage; with keep-alives in between.
pub(crate) fn whole(kind: ServerKind) -> &'static str {
    match kind {
        ServerKind::OpenAiChat => OPEN_AI_CHAT,
        ServerKind::OpenAiResponses => OPEN_AI_RESPONSES,
        ServerKind::Anthropic => ANTHROPIC,
        ServerKind::Ollama => OLLAMA,
        ServerKind::Echo => panic!("echo has no stream"),
    }
}

/// One text, the first piece of a longer reply.
pub(crate) fn first(kind: ServerKind) -> &'static str {
    match kind {
        ServerKind::OpenAiChat => "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n",
        ServerKind::OpenAiResponses => "data: {\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}\n\n",
        ServerKind::Anthropic => ANTHROPIC_FIRST,
        ServerKind::Ollama => "{\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"done\":false}\n",
        ServerKind::Echo => panic!("echo has no stream"),
    }
}

/// An error inside the stream.
pub(crate) fn failure(kind: ServerKind) -> &'static str {
    match kind {
        ServerKind::OpenAiChat => "data: {\"error\":{\"type\":\"server_error\",\"message\":\"secret\"}}\n\n",
        ServerKind::OpenAiResponses => {
            "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"secret\"}}}\n\n"
        }
        ServerKind::Anthropic => {
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"server_error\",\"message\":\"secret\"}}\n\n"
        }
        ServerKind::Ollama => "{\"error\":\"secret\"}\n",
        ServerKind::Echo => panic!("echo has no stream"),
    }
}

/// A keep-alive, which is not a piece.
pub(crate) fn keep_alive(kind: ServerKind) -> &'static str {
    match kind {
        ServerKind::Ollama => "\n",
        ServerKind::OpenAiChat | ServerKind::OpenAiResponses => ": keep-alive\n\n",
        ServerKind::Anthropic => "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        ServerKind::Echo => panic!("echo has no stream"),
    }
}

const OPEN_AI_CHAT: &str = r#": connected

data: {"id":"c1","object":"chat.completion.chunk","model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":"Höm"}}]}

data: {"id":"c1","choices":[{"index":0,"delta":{"content":"Grüße "}}]}

: keep-alive

data: {"id":"c1","choices":[{"index":0,"delta":{"content":"😀"}}]}

data: {"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"a_b","arguments":"{\"x\":"}}]}}]}

data: {"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}

data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"c1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5}}

data: [DONE]

"#;

const OPEN_AI_RESPONSES: &str = r#"event: response.created
data: {"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}

: keep-alive

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"Höm"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Höm"}]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","output_index":1,"delta":"Grüße "}

event: response.output_text.delta
data: {"type":"response.output_text.delta","output_index":1,"delta":"😀"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Grüße 😀","annotations":[]}]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"a_b","arguments":""}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"x\":"}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","output_index":2,"delta":"1}"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"a_b","arguments":"{\"x\":1}","status":"completed"}}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_1","model":"m-1","status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":5}}}

"#;

const ANTHROPIC_FIRST: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","model":"m-1","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}

"#;

const ANTHROPIC: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-1","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Höm"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Grüße "}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"😀"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"call_1","name":"a_b","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"1}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

"#;

const OLLAMA: &str = r#"{"model":"m-1","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"","thinking":"Höm"},"done":false}
{"model":"m-1","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"Grüße "},"done":false}
{"model":"m-1","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"😀"},"done":false}
{"model":"m-1","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","function":{"name":"a_b","arguments":{"x":1}}}]},"done":false}
{"model":"m-1","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":5}
"#;
