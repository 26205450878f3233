//! A piece of a reply.

use formats::{Delta, Reply};

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// An addition to the reply. Ids and names are the recorded ones.
    Delta(Delta),
    /// The whole reply. The last piece.
    Finished(Reply),
}
