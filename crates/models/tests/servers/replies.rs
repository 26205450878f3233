//! Complete replies in any chunks, and the requests for them.

use std::fmt::Write as _;

use domain::{Fact, JsonText, Part, ToolName};
use formats::Tool;
use formats::{Delta, Format, Names};
use models::{ApiKey, ModelRequest, ModelServers, ModelServersConfig, Piece, ServerKind};
use proptest::prelude::*;

use crate::fake::{FakeServer, Script};
use crate::requests::{KINDS, NAME, all, ask_all, request, servers};
use crate::streams;

/// A reply in one line: its deltas, then its facts.
fn notation(pieces: &[Piece]) -> String {
    let mut line = String::new();
    for piece in pieces {
        match piece {
            Piece::Delta(Delta::Text(text)) => write!(line, "+{text}"),
            Piece::Delta(Delta::Thinking(text)) => write!(line, "~{text}"),
            Piece::Delta(Delta::Refusal(text)) => write!(line, "!{text}"),
            Piece::Delta(Delta::CallBegan { index, call_id, tool_name }) => {
                write!(line, " #{index}:{call_id}:{tool_name}")
            }
            Piece::Delta(Delta::CallInput { index, fragment }) => {
                write!(line, " #{index}<{fragment}")
            }
            Piece::Finished(reply) => write!(line, " = {}", facts(&reply.facts)),
        }
        .unwrap();
    }
    line
}

fn facts(facts: &[Fact]) -> String {
    let notations = facts.iter().map(|fact| match fact {
        Fact::MessageAppended(message) => {
            let usage = message.usage.unwrap();
            let texts = message.parts.iter().filter_map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                _ => None,
            });
            let provider = message.provider.as_ref().unwrap();
            let tokens = (usage.input_tokens, usage.output_tokens);
            format!("{provider} {:?} {tokens:?}", texts.collect::<String>())
        }
        Fact::ToolCalled(called) => {
            let input = called.input.as_str();
            format!("{}:{}{input}", called.call_id, called.tool_name)
        }
        other => panic!("{other:?}"),
    });
    notations.collect::<Vec<_>>().join(" ")
}

fn expected(kind: ServerKind) -> String {
    let input = match kind {
        ServerKind::Ollama => " #0<{\"x\":1}",
        _ => " #0<{\"x\": #0<1}",
    };
    // The text of reasoning is only in the reply, as an item of the provider.
    let thought = match kind {
        ServerKind::OpenAiResponses => "",
        _ => "Höm",
    };
    let provider = kind.provider();
    format!("~{thought}+Grüße +😀 #0:call_1:a_b{input} = {provider} \"Grüße 😀\" (9, 5) call_1:a_b{{\"x\":1}}")
}

async fn ask_notation(servers: &ModelServers) -> String {
    let (pieces, error) = ask_all(servers).await;
    assert_eq!(error, None);
    notation(&pieces)
}

#[tokio::test]
async fn a_reply_is_the_same_split_at_any_byte() {
    for kind in KINDS {
        let stream = streams::whole(kind).as_bytes();
        let cuts = (0..=stream.len()).map(|at| stream.split_at(at)).map(|(head, tail)| Script::stream([head, tail]));
        let server = FakeServer::start(cuts).await;
        let servers = servers(kind, &server, |_| ());
        for at in 0..=stream.len() {
            assert_eq!(ask_notation(&servers).await, expected(kind), "{kind:?} at {at}");
        }
    }
}

#[tokio::test]
async fn a_reply_is_the_same_byte_by_byte() {
    for kind in KINDS {
        let stream = streams::whole(kind).as_bytes();
        let returns = streams::whole(kind).replace('\n', "\r\n");
        let scripts = [stream, returns.as_bytes()].map(|stream| Script::stream(stream.chunks(1)));
        let server = FakeServer::start(scripts).await;
        let servers = servers(kind, &server, |_| ());
        for _ in 0..2 {
            assert_eq!(ask_notation(&servers).await, expected(kind), "{kind:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_chunking_changes_a_reply(
        kind in prop::sample::select(KINDS.to_vec()),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..16),
    ) {
        let stream = streams::whole(kind).as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let script = Script::stream(cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]]));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let received = runtime.block_on(async {
            let server = FakeServer::start([script]).await;
            ask_notation(&servers(kind, &server, |_| ())).await
        });
        prop_assert_eq!(received, expected(kind));
    }
}

#[tokio::test]
async fn recorded_names_are_restored() {
    let recorded = ToolName::parse("mcp.files/read").unwrap();
    let mut names = Names::default();
    let written = names.tool_name(&recorded);
    for kind in KINDS {
        let stream = streams::whole(kind).replace("a_b", &written);
        let server = FakeServer::start([Script::stream([stream.as_bytes()])]).await;
        let servers = servers(kind, &server, |_| ());
        let tools = vec![Tool {
            name: recorded.clone(),
            description: "reads".to_owned(),
            input_schema: JsonText::parse("{}").unwrap(),
            strict: false,
        }];
        let asked = ModelRequest { tools, ..request() };
        let (pieces, _) = all(servers.stream(NAME, asked).await.unwrap()).await;
        let restored = expected(kind).replace("a_b", recorded.as_str());
        assert_eq!(notation(&pieces), restored);
        assert!(server.received()[0].body.contains(&written), "{kind:?}");
    }
}

#[tokio::test]
async fn requests_have_the_path_and_the_headers_of_their_kind() {
    let bearer = "authorization: bearer k1";
    for (kind, path, header) in [
        (ServerKind::OpenAiChat, "/chat/completions", bearer),
        (ServerKind::OpenAiResponses, "/responses", bearer),
        (ServerKind::Anthropic, "/v1/messages", "x-api-key: k1"),
        (ServerKind::Ollama, "/api/chat", bearer),
    ] {
        let server = FakeServer::start([Script::stream([streams::whole(kind).as_bytes()])]).await;
        let servers = servers(kind, &server, |config| {
            config.api_key = Some(ApiKey::new("k1"));
        });
        ask_notation(&servers).await;
        let received = server.received();
        let head = &received[0].head;
        let request_line = format!("post {path} http/1.1");
        for line in [&request_line, header, "content-type: application/json"] {
            assert!(head.lines().any(|received| received == line), "{head}");
        }
        let body: serde_json::Value = serde_json::from_str(&received[0].body).unwrap();
        assert_eq!(body["model"], "m");
        assert_eq!(body["stream"], true);
        assert_eq!(servers.provider(NAME), Some(kind.provider()));
        assert_eq!(servers.format(NAME), Some(kind.format()));
        assert!(!format!("{servers:?}").contains("k1"));
    }
}

#[test]
fn echo_always_exists() {
    let servers = ModelServers::new(&ModelServersConfig::default()).unwrap();
    assert_eq!(servers.names().collect::<Vec<_>>(), ["echo"]);
    assert_eq!(servers.format("echo"), Some(Format::Canonical));
    assert_eq!(servers.provider("echo"), Some("echo"));
    assert_eq!(servers.format("other"), None);
    assert_eq!(servers.provider("other"), None);
}
