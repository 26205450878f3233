//! The value of `--model-server`.

use std::str::FromStr;

use models::ServerKind;

/// A model server, as `KIND=URL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelServer {
    pub(super) kind: ServerKind,
    pub(super) base_url: String,
}

impl FromStr for ModelServer {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, base_url) = text
            .split_once('=')
            .ok_or("must be KIND=URL, such as openai_chat=http://127.0.0.1:8080/v1")?;
        let kind = match kind {
            "openai_chat" => ServerKind::OpenAiChat,
            "openai_responses" => ServerKind::OpenAiResponses,
            "anthropic" => ServerKind::Anthropic,
            "ollama" => ServerKind::Ollama,
            _ => return Err("the kind must be openai_chat, openai_responses, anthropic or ollama"),
        };
        Ok(Self {
            kind,
            base_url: base_url.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_kind_and_a_url() {
        let check = |text: &str, expected: Option<ServerKind>| {
            let server: Option<ModelServer> = text.parse().ok();
            assert_eq!(server.map(|server| server.kind), expected, "{text}");
        };
        check("openai_chat=http://a/v1?b=c", Some(ServerKind::OpenAiChat));
        check(
            "openai_responses=https://a",
            Some(ServerKind::OpenAiResponses),
        );
        check("anthropic=http://a", Some(ServerKind::Anthropic));
        check("ollama=http://a", Some(ServerKind::Ollama));
        check("echo=http://a", None);
        check("http://a", None);
    }
}
