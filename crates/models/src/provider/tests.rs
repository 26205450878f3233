use domain::{JsonText, ToolName};
use formats::Names;

use super::*;
use crate::request::{declare, output_schema};
use formats::{RequestOptions, ToolChoice};
use formats::{TOOLS_MAX, Tool};

fn request(body: &str) -> ModelRequest {
    ModelRequest { model: "m".to_owned(), body: body.into(), ..ModelRequest::default() }
}

fn full(body: &str) -> ModelRequest {
    ModelRequest {
        tools: vec![Tool {
            name: ToolName::parse("a.b").unwrap(),
            description: "d".to_owned(),
            input_schema: JsonText::parse(r#"{"type": "object","x":1.10}"#).unwrap(),
            strict: false,
        }],
        max_output_tokens: Some(9),
        temperature: Some(0.5),
        ..request(body)
    }
}

fn check(provider: Provider, request: &ModelRequest, expected: &str) {
    let mut names = Names::default();
    let outgoing = OutgoingRequest {
        request,
        tools: declare(&request.tools, &mut names).unwrap(),
        output_schema: output_schema(request).unwrap(),
        num_ctx: Some(2_048),
        output_limit: OutputLimit::default(),
    };
    let written =
        provider.write(&outgoing).map_or_else(|error| error.code().to_owned(), |body| String::from_utf8(body).unwrap());
    assert_eq!(written, expected.replace("NAME", &names_as_written(&names)));
}

fn names_as_written(names: &Names) -> String {
    let mut tools = names.tools();
    tools.next().map_or("", |(written, _)| written).to_owned()
}

#[test]
fn chat_completions() {
    let check = |request: &ModelRequest, expected: &str| {
        check(Provider::OpenAiChat, request, expected);
    };
    check(
        &request(r#"{"messages":[{"n":1e400}]}"#),
        r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"n":1e400}]}"#,
    );
    check(
        &full(r#"{"messages":[]}"#),
        r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":9,"temperature":0.5,"tools":[{"type":"function","function":{"name":"NAME","description":"d","parameters":{"type": "object","x":1.10}}}],"messages":[]}"#,
    );
    check(&request("{ }"), r#"{"model":"m","stream":true,"stream_options":{"include_usage":true} }"#);
    for body in ["", "[]", "{", "}", "{]", "null"] {
        check(&request(body), "model_request_unusable");
    }
}

/// A choice of tools, and how a provider writes it.
fn choices() -> Vec<(Provider, ToolChoice, &'static str)> {
    let tool = || ToolChoice::Tool(ToolName::parse("a.b").unwrap());
    let (chat, responses) = (Provider::OpenAiChat, Provider::OpenAiResponses);
    let anthropic = Provider::Anthropic;
    vec![
        (chat, ToolChoice::Auto, r#""auto""#),
        (chat, ToolChoice::Required, r#""required""#),
        (chat, tool(), r#"{"type":"function","function":{"name":"NAME"}}"#),
        (responses, ToolChoice::None, r#""none""#),
        (responses, tool(), r#"{"type":"function","name":"NAME"}"#),
        (anthropic, ToolChoice::Auto, r#"{"type":"auto"}"#),
        (anthropic, ToolChoice::None, r#"{"type":"none"}"#),
        (anthropic, ToolChoice::Required, r#"{"type":"any"}"#),
        (anthropic, tool(), r#"{"type":"tool","name":"NAME"}"#),
    ]
}

/// Checks that a request with options contains a member.
fn check_options(provider: Provider, options: RequestOptions, member: &str) {
    let request = ModelRequest { options, ..full(r#"{"messages":[]}"#) };
    let mut names = Names::default();
    let outgoing = OutgoingRequest {
        request: &request,
        tools: declare(&request.tools, &mut names).unwrap(),
        output_schema: None,
        num_ctx: None,
        output_limit: OutputLimit::default(),
    };
    let written = String::from_utf8(provider.write(&outgoing).unwrap()).unwrap();
    let member = member.replace("NAME", &names_as_written(&names));
    assert!(written.contains(&member), "{member} in {written}");
}

#[test]
fn options_are_written_in_the_terms_of_each_provider() {
    for (provider, choice, expected) in choices() {
        let options = RequestOptions { tool_choice: Some(choice), ..RequestOptions::default() };
        let member = format!(r#""tool_choice":{expected}"#);
        check_options(provider, options, &member);
    }
    let sampled = RequestOptions {
        parallel_tool_calls: Some(false),
        top_p: Some(0.9),
        seed: Some(7),
        stop: vec!["END".to_owned()],
        ..RequestOptions::default()
    };
    for (provider, member) in [
        (Provider::OpenAiChat, r#""top_p":0.9,"seed":7,"stop":["END"]"#),
        (Provider::OpenAiChat, r#""parallel_tool_calls":false"#),
        (Provider::OpenAiResponses, r#""parallel_tool_calls":false,"top_p":0.9"#),
        (Provider::Anthropic, r#""top_p":0.9,"stop_sequences":["END"]"#),
        (Provider::Ollama, r#""top_p":0.9,"seed":7,"stop":["END"]"#),
    ] {
        check_options(provider, sampled.clone(), member);
    }
    for (format, member) in [
        (r#"{"type":"json_object"}"#, r#""text":{"format":{"type":"json_object"}},"reasoning":{"effort":"low"}"#),
        (
            r#"{"type":"json_schema","json_schema":{"name":"n","schema":{}}}"#,
            r#""text":{"format":{"name":"n","schema":{},"type":"json_schema"}}"#,
        ),
    ] {
        let formed = RequestOptions {
            response_format: JsonText::parse(format).ok(),
            reasoning_effort: Some("low".to_owned()),
            ..RequestOptions::default()
        };
        check_options(Provider::OpenAiResponses, formed, member);
    }
}

#[test]
fn older_servers_have_another_limit() {
    let request = full("{}");
    let outgoing = OutgoingRequest {
        request: &request,
        tools: Vec::new(),
        output_schema: None,
        num_ctx: None,
        output_limit: OutputLimit::MaxTokens,
    };
    let written = String::from_utf8(Provider::OpenAiChat.write(&outgoing).unwrap()).unwrap();
    assert!(written.contains(r#""max_tokens":9"#), "{written}");
    assert!(!written.contains("max_completion_tokens"), "{written}");
}

#[test]
fn responses() {
    check(
        Provider::OpenAiResponses,
        &full(r#"{"instructions":"i","input":[]}"#),
        r#"{"model":"m","stream":true,"store":false,"max_output_tokens":9,"temperature":0.5,"tools":[{"type":"function","name":"NAME","description":"d","parameters":{"type": "object","x":1.10},"strict":false}],"instructions":"i","input":[]}"#,
    );
}

#[test]
fn anthropic_messages() {
    let check = |request: &ModelRequest, expected: &str| check(Provider::Anthropic, request, expected);
    check(
        &request(r#"{"system":[],"messages":[]}"#),
        r#"{"model":"m","max_tokens":4096,"stream":true,"system":[],"messages":[]}"#,
    );
    check(
        &full(r#"{"messages":[]}"#),
        r#"{"model":"m","max_tokens":9,"stream":true,"temperature":0.5,"tools":[{"name":"NAME","description":"d","input_schema":{"type": "object","x":1.10}}],"messages":[]}"#,
    );
}

/// The provider rejects calls and results in a request that defines no tools.
#[test]
fn anthropic_requests_declare_called_tools_when_none_may_be_called() {
    let check = |request: &ModelRequest, expected: &str| check(Provider::Anthropic, request, expected);
    let called = |names: &[&str]| {
        let calls: Vec<String> = names
            .iter()
            .map(|name| format!(r#"{{"type":"tool_use","id":"1","name":"{name}","input":{{"n":1e400}}}}"#))
            .collect();
        format!(
            r#"{{"messages":[{{"role":"user","content":"name"}},{{"role":"assistant","content":[{{"type":"text","text":"a"}},{{"type":"server_tool_use","name":"web"}},{}]}}]}}"#,
            calls.join(",")
        )
    };
    let head = r#"{"model":"m","max_tokens":4096,"stream":true"#;
    let body = called(&["b", "a\\u0062", "b"]);
    let tools = r#""tools":[{"name":"ab","input_schema":{"type":"object"}},{"name":"b","input_schema":{"type":"object"}}],"tool_choice":{"type":"none"}"#;
    check(&request(&body), &format!("{head},{tools},{}", body.strip_prefix('{').unwrap()));
    let given = full(&called(&["b"]));
    let mut names = Names::default();
    let outgoing = OutgoingRequest {
        request: &given,
        tools: declare(&given.tools, &mut names).unwrap(),
        output_schema: None,
        num_ctx: None,
        output_limit: OutputLimit::default(),
    };
    let written = String::from_utf8(Provider::Anthropic.write(&outgoing).unwrap()).unwrap();
    assert!(!written.contains("tool_choice"), "{written}");
    for count in [TOOLS_MAX, TOOLS_MAX + 1] {
        let names: Vec<String> = (0..count).map(|number| format!("t{number:03}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let many = request(&called(&names));
        let outgoing = OutgoingRequest {
            request: &many,
            tools: Vec::new(),
            output_schema: None,
            num_ctx: None,
            output_limit: OutputLimit::default(),
        };
        let written = String::from_utf8(Provider::Anthropic.write(&outgoing).unwrap()).unwrap();
        let declared = written.matches("input_schema").count();
        assert_eq!(declared, TOOLS_MAX, "{count}");
    }
}

#[test]
fn ollama_has_one_list_of_options() {
    let check = |request: &ModelRequest, expected: &str| check(Provider::Ollama, request, expected);
    check(
        &request(r#"{"truncate":false,"messages":[{"n":1e400}]}"#),
        r#"{"model":"m","stream":true,"truncate":false,"options":{"num_ctx":2048},"messages":[{"n":1e400}]}"#,
    );
    check(
        &full(r#"{"truncate":false,"options":{"num_ctx":512},"messages":[]}"#),
        r#"{"model":"m","stream":true,"truncate":false,"options":{"num_ctx":512,"num_predict":9,"temperature":0.5},"tools":[{"type":"function","function":{"name":"NAME","description":"d","parameters":{"type": "object","x":1.10}}}],"messages":[]}"#,
    );
    check(&request("{}"), "model_request_unusable");
}

#[test]
fn keys_are_sent_in_the_header_of_their_provider_and_are_sensitive() {
    let check = |provider: Provider, name: &str, expected: &str| {
        let key = ApiKey::new("k1");
        let headers = provider.headers(Some(&key)).unwrap();
        assert_eq!(headers[name], expected);
        assert!(headers[name].is_sensitive());
        assert!(provider.headers(None).unwrap().get(name).is_none());
        assert!(provider.headers(Some(&ApiKey::new("\n"))).is_none());
    };
    check(Provider::OpenAiChat, "authorization", "Bearer k1");
    check(Provider::OpenAiResponses, "authorization", "Bearer k1");
    check(Provider::Ollama, "authorization", "Bearer k1");
    check(Provider::Anthropic, "x-api-key", "k1");
    let headers = Provider::Anthropic.headers(None).unwrap();
    assert_eq!(headers["anthropic-version"], "2023-06-01");
}

#[test]
fn urls_of_requests() {
    let check = |provider: Provider, base: Option<&str>, expected: &str| {
        let config = ModelServerConfig { base_url: base.map(str::to_owned), ..ModelServerConfig::default() };
        assert_eq!(provider.url(&config), expected);
    };
    let local = Some("http://a:1/v1/");
    check(Provider::OpenAiChat, local, "http://a:1/v1/chat/completions");
    check(Provider::OpenAiResponses, local, "http://a:1/v1/responses");
    check(Provider::Anthropic, None, "https://api.anthropic.com/v1/messages");
    check(Provider::Ollama, None, "http://127.0.0.1:11434/api/chat");
}

#[test]
fn every_server_gets_the_schema_of_the_reply_in_its_own_form() {
    let request = |body: &str| ModelRequest {
        output_schema: Some(JsonText::parse(r#"{"type": "object","x":1.10}"#).unwrap()),
        ..request(body)
    };
    let chat = request(r#"{"messages":[]}"#);
    check(
        Provider::OpenAiChat,
        &chat,
        r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type": "object","x":1.10},"strict":false}},"messages":[]}"#,
    );
    check(
        Provider::OpenAiResponses,
        &request(r#"{"input":[]}"#),
        r#"{"model":"m","stream":true,"store":false,"text":{"format":{"type":"json_schema","name":"answer","schema":{"type": "object","x":1.10},"strict":false}},"input":[]}"#,
    );
    check(
        Provider::Anthropic,
        &chat,
        r#"{"model":"m","max_tokens":4096,"stream":true,"output_config":{"format":{"type":"json_schema","schema":{"type": "object","x":1.10}}},"messages":[]}"#,
    );
    check(
        Provider::Ollama,
        &chat,
        r#"{"model":"m","stream":true,"truncate":false,"options":{"num_ctx":2048},"format":{"type": "object","x":1.10},"messages":[]}"#,
    );
}
