//! Entries of the provider log: metadata of a call, and its bodies, redacted and truncated. Pure, except for the new id.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::{Label, LogId, LoggedBody, ModelCall, Timestamp, Violation};
use models::Exchange;
use redact::{Counts, Rules, redact_text};
use uuid::Uuid;

use super::CallOrigin;

/// The entry of a call. Without rules its bodies are not kept.
///
/// Bodies are redacted before they are truncated: a truncated secret would not match the rules.
///
/// # Errors
/// The outcome is not a valid label.
pub fn entry(
    origin: &CallOrigin,
    exchange: Exchange,
    rules: Option<&Rules>,
) -> Result<ModelCall, Violation> {
    let request = exchange
        .request
        .map(|body| String::from_utf8_lossy(&body).into_owned());
    Ok(ModelCall {
        id: LogId(Uuid::now_v7()),
        run: origin.run,
        purpose: origin.purpose,
        attempt: exchange.attempt,
        server: origin.server.clone(),
        model: origin.model.clone(),
        started_at: timestamp(exchange.started_at),
        first_piece_ms: exchange.first_piece.map(ms),
        took_ms: ms(exchange.took),
        http_status: exchange.http_status,
        outcome: Label::parse(exchange.outcome)?,
        finish_reason: exchange.finish_reason,
        usage: exchange.usage,
        request_bytes: count(exchange.request_bytes),
        reply_bytes: count(exchange.reply_bytes),
        request: redacted(request, rules),
        reply: redacted(exchange.reply, rules),
    })
}

fn redacted(body: Option<String>, rules: Option<&Rules>) -> Option<LoggedBody> {
    let (text, rules) = (body?, rules?);
    // The counts are in the receipts of contexts.
    let redacted = redact_text(&text, rules, &mut Counts::default());
    Some(LoggedBody::of(redacted.unwrap_or(text)))
}

fn timestamp(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

fn ms(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
