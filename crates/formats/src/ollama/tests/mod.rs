//! The format's whole: what is written, what is read back, and replies whole and in pieces.

mod histories;
mod rendering;
mod replies;
