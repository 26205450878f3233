//! Requests of the tests, and their replies.

use models::{
    ModelError, ModelRequest, ModelServerConfig, ModelServers, ModelServersConfig, Piece, ReplyPieces, ServerKind,
};

use crate::fake::FakeServer;

/// The name of the server.
pub(crate) const NAME: &str = "fake";

/// Every kind with an HTTP API.
pub(crate) const KINDS: [ServerKind; 4] =
    [ServerKind::OpenAiChat, ServerKind::OpenAiResponses, ServerKind::Anthropic, ServerKind::Ollama];

/// Model servers with one server in addition to `echo`.
pub(crate) fn servers(
    kind: ServerKind,
    server: &FakeServer,
    change: impl FnOnce(&mut ModelServerConfig),
) -> ModelServers {
    let mut config = ModelServerConfig { kind, base_url: Some(server.url()), ..ModelServerConfig::default() };
    change(&mut config);
    ModelServers::new(&ModelServersConfig([(NAME.to_owned(), config)].into())).unwrap()
}

/// A request with a body that every kind accepts.
pub(crate) fn request() -> ModelRequest {
    ModelRequest { model: "m".to_owned(), body: br#"{"messages":[]}"#.to_vec(), ..ModelRequest::default() }
}

pub(crate) async fn ask(servers: &ModelServers) -> Result<ReplyPieces, ModelError> {
    servers.stream(NAME, request()).await
}

/// All pieces, and the error that ended them.
pub(crate) async fn all(mut pieces: ReplyPieces) -> (Vec<Piece>, Option<ModelError>) {
    let (mut received, mut failure) = (Vec::new(), None);
    while let Some(piece) = pieces.next().await {
        match piece {
            Ok(piece) => received.push(piece),
            Err(error) => failure = Some(error),
        }
    }
    assert_eq!(pieces.next().await, None);
    (received, failure)
}

/// Sends a request: all pieces, and the error that ended them.
pub(crate) async fn ask_all(servers: &ModelServers) -> (Vec<Piece>, Option<ModelError>) {
    match ask(servers).await {
        Ok(pieces) => all(pieces).await,
        Err(error) => (Vec::new(), Some(error)),
    }
}

/// Sends a request: the number of deltas, and `finished` or the code of the error.
pub(crate) async fn ending(servers: &ModelServers) -> (usize, &'static str) {
    let (pieces, error) = ask_all(servers).await;
    let is_delta = |piece: &&Piece| matches!(piece, Piece::Delta(_));
    let deltas = pieces.iter().filter(is_delta).count();
    (deltas, error.map_or("finished", |error| error.code()))
}
