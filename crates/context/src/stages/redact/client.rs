//! Redacts the client context: a page's address may contain a token.

use domain::{ClientContext, JsonText};
use redact::Redactor;

use super::{Redactions, redact_text};

/// Redacts the client context, before templates use it.
#[must_use]
pub fn redact_client(client: &mut ClientContext, redactor: &Redactor<'_>) -> Redactions {
    let mut found = Redactions::default();
    let texts =
        [&mut client.page_url, &mut client.referrer, &mut client.user_agent, &mut client.locale, &mut client.timezone];
    for text in texts.into_iter().flatten() {
        found.merge(&redact_text(text, redactor));
    }
    if let Some(metadata) = &mut client.custom_metadata {
        let mut text = metadata.as_str().to_owned();
        let redacted = redact_text(&mut text, redactor);
        if redacted.total() > 0 {
            *metadata = JsonText::recorded(text);
        }
        found.merge(&redacted);
    }
    found
}
