//! The TLS error among the causes of a connection error.

use std::error::Error;
use std::io;

/// The message of the TLS error that caused a connection error, such as an unknown CA. For connection errors only: there,
/// [`io::ErrorKind::InvalidData`] always comes from TLS.
#[must_use]
pub fn cause(error: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        let io = error.downcast_ref::<io::Error>();
        if let Some(io) = io.filter(|io| io.kind() == io::ErrorKind::InvalidData) {
            return Some(io.to_string());
        }
        // `source` of an I/O error skips its inner error.
        next = match io.and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
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
    #[error("outer")]
    struct Outer(#[source] io::Error);

    fn check(error: &(dyn Error + 'static), expected: Option<&str>) {
        assert_eq!(cause(error).as_deref(), expected);
    }

    #[test]
    fn a_tls_error_is_found_at_every_depth() {
        let tls = || io::Error::new(io::ErrorKind::InvalidData, rustls::Error::DecryptError);
        let message = "cannot decrypt peer's message";
        check(&tls(), Some(message));
        check(&Outer(tls()), Some(message));
        check(&io::Error::other(Outer(tls())), Some(message));
        check(&Outer(io::Error::other(Outer(tls()))), Some(message));
        check(&Outer(io::ErrorKind::TimedOut.into()), None);
        check(&io::Error::other("else"), None);
    }
}
