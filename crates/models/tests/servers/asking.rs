//! How the tests ask, and what they get.

use models::{
    ModelError, ModelRequest, ModelServerConfig, ModelServers, ModelServersConfig, Piece,
    ReplyPieces, ServerKind,
};

use crate::fake::FakeServer;

/// The name of the server that is asked.
pub(crate) const NAME: &str = "fake";

/// Every kind that is spoken to over HTTP.
pub(crate) const KINDS: [ServerKind; 4] = [
    ServerKind::OpenAiChat,
    ServerKind::OpenAiResponses,
    ServerKind::Anthropic,
    ServerKind::Ollama,
];

/// Servers with a single one beside `echo`.
pub(crate) fn servers(
    kind: ServerKind,
    server: &FakeServer,
    change: impl FnOnce(&mut ModelServerConfig),
) -> ModelServers {
    let mut config = ModelServerConfig {
        kind,
        base_url: Some(server.url()),
        ..ModelServerConfig::default()
    };
    change(&mut config);
    ModelServers::new(&ModelServersConfig([(NAME.to_owned(), config)].into())).unwrap()
}

/// A request with a body that every kind takes.
pub(crate) fn request() -> ModelRequest {
    ModelRequest {
        model: "m".to_owned(),
        body: br#"{"messages":[]}"#.to_vec(),
        ..ModelRequest::default()
    }
}

pub(crate) async fn ask(servers: &ModelServers) -> Result<ReplyPieces, ModelError> {
    servers.stream(NAME, request()).await
}

/// All pieces, and what ended them if not the reply's own end.
pub(crate) async fn all(mut pieces: ReplyPieces) -> (Vec<Piece>, Option<ModelError>) {
    let mut got = Vec::new();
    while let Some(piece) = pieces.next().await {
        match piece {
            Ok(piece) => got.push(piece),
            Err(error) => {
                assert_eq!(pieces.next().await, None);
                return (got, Some(error));
            }
        }
    }
    assert_eq!(pieces.next().await, None);
    (got, None)
}

/// How asking ends: the number of deltas, and `finished` or the code of the failure.
pub(crate) async fn ending(servers: &ModelServers) -> (usize, &'static str) {
    let (pieces, error) = match ask(servers).await {
        Ok(pieces) => all(pieces).await,
        Err(error) => (Vec::new(), Some(error)),
    };
    let is_delta = |piece: &&Piece| matches!(piece, Piece::Delta(_));
    let deltas = pieces.iter().filter(is_delta).count();
    (deltas, error.map_or("finished", |error| error.code()))
}
