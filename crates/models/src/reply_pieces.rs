//! A reply in pieces, as callers see it.

use tracing::Instrument as _;

use crate::echo::Echo;
use crate::error::ModelError;
use crate::fair::FairPlace;
use crate::meter::Watch;
use crate::piece::Piece;
use crate::reading::Reading;

/// A reply in pieces: deltas, then one [`Piece::Finished`] or one error. Dropping it ends the request.
#[derive(Debug)]
pub struct ReplyPieces {
    open: Option<Open>,
    /// What came before the caller asked for it: the first piece.
    first: Option<Piece>,
    watch: Watch,
}

/// What a reply holds while it comes.
#[derive(Debug)]
struct Open {
    source: Source,
    _permit: FairPlace,
}

#[derive(Debug)]
pub(crate) enum Source {
    Remote(Box<Reading>),
    Echo(Echo),
}

impl ReplyPieces {
    /// The rest of a reply whose first piece has come.
    pub(crate) fn new(
        source: Source,
        first: Option<Piece>,
        permit: FairPlace,
        mut watch: Watch,
    ) -> Self {
        if first.is_some() {
            watch.note_first();
        }
        let open = Open {
            source,
            _permit: permit,
        };
        Self {
            open: Some(open),
            first,
            watch,
        }
    }

    /// The next piece; none after the last. Nothing is lost when the future is dropped: the next call goes on.
    ///
    /// # Errors
    /// [`ModelError`]; the reply ends with it.
    pub async fn next(&mut self) -> Option<Result<Piece, ModelError>> {
        let open = self.open.as_mut()?;
        let piece = if let Some(first) = self.first.take() {
            Ok(first)
        } else {
            let span = self.watch.span().clone();
            open.source.next().instrument(span).await
        };
        self.watch.note(&piece);
        if !matches!(piece, Ok(Piece::Delta(_))) {
            self.open = None;
        }
        Some(piece)
    }
}

impl Source {
    async fn next(&mut self) -> Result<Piece, ModelError> {
        match self {
            Self::Remote(reading) => reading.next().await,
            Self::Echo(echo) => echo.next().await,
        }
    }
}
