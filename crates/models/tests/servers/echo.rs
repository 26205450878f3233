//! The built-in model.

use std::time::{Duration, Instant};

use context::{Transcript, Turn};
use domain::event::{Role, Usage};
use domain::{Fact, Part, Version};
use formats::{Delta, canonical};
use models::{ECHO, ModelError, ModelRequest, ModelServerConfig, ModelServers, ModelServersConfig, Piece};

use crate::requests::all;

fn servers(change: impl FnOnce(&mut ModelServerConfig)) -> ModelServers {
    let mut config = ModelServerConfig::default();
    change(&mut config);
    ModelServers::new(&ModelServersConfig([(ECHO.to_owned(), config)].into())).unwrap()
}

fn request(messages: &[(Role, &str)]) -> ModelRequest {
    let turns = (1..).zip(messages).map(|(version, (role, text))| Turn {
        version: Version(version),
        role: *role,
        parts: vec![Part::Text((*text).to_owned())],
        author: None,
        provider: None,
        written: context::Written::BehindThis,
        calls: Vec::new(),
    });
    let transcript = Transcript {
        instructions: vec!["Be brief.".to_owned()],
        turns: turns.collect(),
        closing: Some("It is noon.".to_owned()),
        ..Transcript::default()
    };
    ModelRequest { model: "echo".to_owned(), body: canonical::render(&transcript).body, ..ModelRequest::default() }
}

async fn check(request: ModelRequest, words: &[&str], finish_reason: &str, tokens: (u64, u64)) {
    for _ in 0..2 {
        let pieces = servers(|_| ()).stream(ECHO, request.clone()).await.unwrap();
        let (mut pieces, error) = all(pieces).await;
        assert_eq!(error, None);
        let Some(Piece::Finished(reply)) = pieces.pop() else {
            panic!("{pieces:?}");
        };
        let deltas = words.iter().map(|word| Delta::Text((*word).to_owned()));
        assert_eq!(pieces, deltas.map(Piece::Delta).collect::<Vec<_>>());
        let [Fact::MessageAppended(message)] = reply.facts.as_slice() else {
            panic!("{reply:?}");
        };
        let text = (!words.is_empty()).then(|| Part::Text(words.concat()));
        assert_eq!(message.parts, Vec::from_iter(text));
        assert_eq!(message.finish_reason.as_ref().unwrap().as_str(), finish_reason);
        assert_eq!(message.provider.as_ref().unwrap().as_str(), ECHO);
        let (input_tokens, output_tokens) = tokens;
        let usage = Usage { input_tokens, output_tokens, ..Usage::default() };
        assert_eq!(message.usage, Some(usage));
    }
}

#[tokio::test]
async fn the_last_user_message_is_returned() {
    let messages =
        [(Role::User, "one"), (Role::Assistant, "two"), (Role::User, "three  fo\u{fc}r"), (Role::Assistant, "five")];
    let words = ["echo: ", "three  ", "fo\u{fc}r"];
    check(request(&messages), &words, "stop", (10, 3)).await;
    check(request(&[]), &["echo: "], "stop", (5, 1)).await;
    for (max, given, reason) in [(3, 3, "stop"), (2, 2, "length"), (0, 0, "length")] {
        let limited = ModelRequest { max_output_tokens: Some(max), ..request(&messages) };
        check(limited, &words[..given], reason, (10, u64::from(max))).await;
    }
}

#[tokio::test]
async fn words_can_be_delayed() {
    let servers = servers(|config| config.echo_word_delay_ms = 20);
    let began_at = Instant::now();
    let mut pieces = servers.stream(ECHO, request(&[(Role::User, "a")])).await.unwrap();
    let mut deltas = 0;
    loop {
        // A caller that cancels the call repeatedly loses nothing.
        let next = tokio::time::timeout(Duration::from_millis(3), pieces.next()).await;
        match next {
            Ok(Some(Ok(Piece::Delta(_)))) => deltas += 1,
            Ok(_) => break,
            Err(_) => {}
        }
    }
    assert_eq!(deltas, 2);
    assert!(began_at.elapsed() >= Duration::from_millis(40));
}

#[tokio::test]
async fn contexts_in_another_format_are_rejected() {
    let servers = servers(|_| ());
    let asked = ModelRequest { body: br#"{"messages":[]}"#.to_vec(), ..request(&[]) };
    let refused = servers.stream(ECHO, asked).await.unwrap_err();
    assert!(matches!(refused, ModelError::Unusable { .. }), "{refused:?}");
    let unknown = servers.stream("other", request(&[])).await.unwrap_err();
    assert_eq!(unknown, ModelError::UnknownServer);
}
