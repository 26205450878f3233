//! Whole replies: what comes of them, however they are cut, and what is sent to get them.

use std::fmt::Write as _;

use domain::{Fact, JsonText, Part, ToolName};
use formats::{Delta, Format, Names};
use models::{ApiKey, ModelRequest, ModelServers, ModelServersConfig, Piece, ServerKind, Tool};
use proptest::prelude::*;

use crate::asking::{KINDS, NAME, all, ask, request, servers};
use crate::fake::{FakeServer, Script};
use crate::streams;

/// A reply in one line: its deltas, then its facts.
fn told(pieces: &[Piece]) -> String {
    let mut told = String::new();
    for piece in pieces {
        match piece {
            Piece::Delta(Delta::Text(text)) => write!(told, "+{text}"),
            Piece::Delta(Delta::Thinking(text)) => write!(told, "~{text}"),
            Piece::Delta(Delta::Refusal(text)) => write!(told, "!{text}"),
            Piece::Delta(Delta::CallBegan {
                index,
                call_id,
                tool_name,
            }) => write!(told, " #{index}:{call_id}:{tool_name}"),
            Piece::Delta(Delta::CallInput { index, fragment }) => {
                write!(told, " #{index}<{fragment}")
            }
            Piece::Finished(reply) => write!(told, " = {}", facts(&reply.facts)),
        }
        .unwrap();
    }
    told
}

fn facts(facts: &[Fact]) -> String {
    let told = facts.iter().map(|fact| match fact {
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
    told.collect::<Vec<_>>().join(" ")
}

fn expected(kind: ServerKind) -> String {
    let input = match kind {
        ServerKind::Ollama => " #0<{\"x\":1}",
        _ => " #0<{\"x\": #0<1}",
    };
    let provider = kind.provider();
    format!(
        "~Höm+Grüße +😀 #0:call_1:a_b{input} = {provider} \"Grüße 😀\" (9, 5) call_1:a_b{{\"x\":1}}"
    )
}

async fn told_of(servers: &ModelServers) -> String {
    let (pieces, error) = all(ask(servers).await.unwrap()).await;
    assert_eq!(error, None);
    told(&pieces)
}

#[tokio::test]
async fn a_reply_is_the_same_cut_at_any_byte() {
    for kind in KINDS {
        let stream = streams::whole(kind).as_bytes();
        let cuts = (0..=stream.len()).map(|at| stream.split_at(at));
        let cuts = cuts.map(|(head, tail)| Script::stream([head, tail]));
        let server = FakeServer::start(cuts).await;
        let servers = servers(kind, &server, |_| ());
        for at in 0..=stream.len() {
            assert_eq!(told_of(&servers).await, expected(kind), "{kind:?} at {at}");
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
            assert_eq!(told_of(&servers).await, expected(kind), "{kind:?}");
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
        let told = runtime.block_on(async {
            let server = FakeServer::start([script]).await;
            told_of(&servers(kind, &server, |_| ())).await
        });
        prop_assert_eq!(told, expected(kind));
    }
}

#[tokio::test]
async fn names_lead_back_to_the_record() {
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
        }];
        let asked = ModelRequest { tools, ..request() };
        let (pieces, _) = all(servers.stream(NAME, asked).await.unwrap()).await;
        let restored = expected(kind).replace("a_b", recorded.as_str());
        assert_eq!(told(&pieces), restored);
        assert!(server.received()[0].body.contains(&written), "{kind:?}");
    }
}

#[tokio::test]
async fn requests_go_where_they_belong() {
    for (kind, path, header) in [
        (
            ServerKind::OpenAiChat,
            "/chat/completions",
            "authorization: bearer k1",
        ),
        (
            ServerKind::OpenAiResponses,
            "/responses",
            "authorization: bearer k1",
        ),
        (ServerKind::Anthropic, "/v1/messages", "x-api-key: k1"),
        (ServerKind::Ollama, "/api/chat", "authorization: bearer k1"),
    ] {
        let server = FakeServer::start([Script::stream([streams::whole(kind).as_bytes()])]).await;
        let servers = servers(kind, &server, |config| {
            config.api_key = Some(ApiKey::new("k1"));
        });
        told_of(&servers).await;
        let received = server.received();
        let head = &received[0].head;
        assert!(
            head.starts_with(&format!("post {path} http/1.1\r\n")),
            "{head}"
        );
        assert!(head.contains(&format!("\r\n{header}\r\n")), "{head}");
        assert!(
            head.contains("\r\ncontent-type: application/json\r\n"),
            "{head}"
        );
        let body: serde_json::Value = serde_json::from_str(&received[0].body).unwrap();
        assert_eq!(
            (&body["model"], &body["stream"]),
            (&"m".into(), &true.into())
        );
        assert_eq!(servers.provider(NAME), Some(kind.provider()));
        assert_eq!(servers.format(NAME), Some(kind.format()));
        assert!(!format!("{servers:?}").contains("k1"));
    }
}

#[test]
fn echo_is_always_there() {
    let servers = ModelServers::new(&ModelServersConfig::default()).unwrap();
    assert_eq!(servers.names().collect::<Vec<_>>(), ["echo"]);
    assert_eq!(servers.format("echo"), Some(Format::Canonical));
    assert_eq!(servers.provider("echo"), Some("echo"));
    assert_eq!(servers.format("other"), None);
    assert_eq!(servers.provider("other"), None);
}
