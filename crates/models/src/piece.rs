//! A piece of a reply.

use formats::{Delta, Reply};

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// What was added; ids and names as the record has them.
    Delta(Delta),
    /// The reply as a whole, after its last delta: the stream's end.
    Finished(Reply),
}
