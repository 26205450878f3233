//! What TLS has against a connection, from the error that a caller sees.

use std::error::Error;
use std::io;

/// What TLS says of why there is no connection, such as an unknown CA, where that is the error's cause. Of errors of
/// connections alone: on them, data that cannot be read is always TLS's.
#[must_use]
pub fn problem(error: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        let io = error.downcast_ref::<io::Error>();
        if let Some(io) = io.filter(|io| io.kind() == io::ErrorKind::InvalidData) {
            return Some(io.to_string());
        }
        // An I/O error passes over what it holds when it is asked for its source.
        next = match io.and_then(io::Error::get_ref) {
            Some(held) => Some(held),
            None => error.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use tokio_rustls::rustls;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("around")]
    struct Around(#[source] io::Error);

    fn check(error: &(dyn Error + 'static), expected: Option<&str>) {
        assert_eq!(problem(error).as_deref(), expected);
    }

    #[test]
    fn what_tls_says_is_found_wherever_it_is() {
        let says = || io::Error::new(io::ErrorKind::InvalidData, rustls::Error::DecryptError);
        let words = "cannot decrypt peer's message";
        check(&says(), Some(words));
        check(&Around(says()), Some(words));
        check(&io::Error::other(Around(says())), Some(words));
        check(&Around(io::Error::other(Around(says()))), Some(words));
        check(&Around(io::ErrorKind::TimedOut.into()), None);
        check(&io::Error::other("else"), None);
    }
}
