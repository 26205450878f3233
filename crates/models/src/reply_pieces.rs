//! The stream of pieces that callers read.

use runtime::fair::FairPermit;
use tracing::Instrument as _;

use crate::echo::Echo;
use crate::error::ModelError;
use crate::piece::Piece;
use crate::reply_reader::ReplyReader;
use crate::request_metrics::RequestMetrics;

/// A reply in pieces: deltas, then one [`Piece::Finished`] or one error. Dropping it ends the request.
#[derive(Debug)]
pub struct ReplyPieces {
    /// The source of the pieces with its permit, until the last piece.
    open: Option<(Source, FairPermit)>,
    /// The first piece, which was read before the caller asks for it.
    first: Option<Piece>,
    metrics: RequestMetrics,
}

#[derive(Debug)]
pub(crate) enum Source {
    Remote(Box<ReplyReader>),
    Echo(Echo),
}

impl ReplyPieces {
    /// Creates a reply. `first` is its first piece if it was already read.
    pub(crate) fn new(source: Source, first: Option<Piece>, permit: FairPermit, mut metrics: RequestMetrics) -> Self {
        if first.is_some() {
            metrics.record_first();
        }
        Self { open: Some((source, permit)), first, metrics }
    }

    /// The next piece; `None` after the last. Cancellation-safe.
    ///
    /// # Errors
    /// [`ModelError`]; the reply ends with it.
    pub async fn next(&mut self) -> Option<Result<Piece, ModelError>> {
        let (source, _) = self.open.as_mut()?;
        let piece = if let Some(first) = self.first.take() {
            Ok(first)
        } else {
            let span = self.metrics.span().clone();
            source.next().instrument(span).await
        };
        self.metrics.record(&piece);
        if !matches!(piece, Ok(Piece::Delta(_))) {
            self.open = None;
        }
        Some(piece)
    }
}

impl Source {
    async fn next(&mut self) -> Result<Piece, ModelError> {
        match self {
            Self::Remote(reader) => reader.next().await,
            Self::Echo(echo) => echo.next().await,
        }
    }
}
