//! Tests of the whole format: rendering, parsing of histories, whole and streamed replies.

mod histories;
mod rendering;
mod replies;
