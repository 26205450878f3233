//! Parses `nats_url`: server addresses, credentials and TLS files.

use async_nats::{ConnectOptions, ServerAddr};
use percent_encoding::percent_decode_str;

use crate::connection::tls_files::TlsFiles;
use crate::error::Unavailable;

/// Servers, credentials and TLS files.
pub(crate) struct Address {
    /// Without credentials: the client library may log them.
    pub(crate) servers: Vec<ServerAddr>,
    user: Option<User>,
    /// The files that the query parameters name.
    pub(crate) tls: TlsFiles,
}

/// Credentials of an account on the servers.
#[derive(PartialEq, Eq)]
struct User {
    name: String,
    password: Option<String>,
}

impl Address {
    /// Parses URLs with commas between them. The first URL with credentials sets them for all: `nats://user:password@host:port` or
    /// `nats://token@host:port`; reserved characters are percent-encoded, such as `%40`. The first URL with TLS files sets
    /// them for all: `tls://host:port?ca=FILE`.
    pub(crate) fn parse(urls: &str) -> Result<Self, Unavailable> {
        let invalid = Unavailable::new("a server's URL cannot be read");
        let mut address = Self { servers: Vec::new(), user: None, tls: TlsFiles::default() };
        for url in urls.split(',') {
            let server: ServerAddr = url.trim().parse().map_err(|_| invalid)?;
            address.tls.add(&server).map_err(|()| invalid)?;
            if address.user.is_none() {
                address.user = parse_user(&server).map_err(|()| invalid)?;
            }
            address.servers.push(without_credentials(server).ok_or(invalid)?);
        }
        Ok(address)
    }

    /// Connection options with these credentials and TLS files.
    pub(crate) fn options(&self) -> ConnectOptions {
        let options = match &self.user {
            None => ConnectOptions::new(),
            Some(User { name, password: Some(password) }) => {
                ConnectOptions::with_user_and_password(name.clone(), password.clone())
            }
            Some(User { name: token, password: None }) => ConnectOptions::with_token(token.clone()),
        };
        self.tls.apply(options)
    }
}

fn parse_user(server: &ServerAddr) -> Result<Option<User>, ()> {
    let Some(name) = server.username() else {
        return Ok(None);
    };
    Ok(Some(User { name: percent_decoded(name)?, password: server.password().map(percent_decoded).transpose()? }))
}

fn percent_decoded(text: &str) -> Result<String, ()> {
    let percent_decoded = percent_decode_str(text).decode_utf8().map_err(|_| ())?;
    Ok(percent_decoded.into_owned())
}

/// A server's URL without credentials and query.
fn without_credentials(server: ServerAddr) -> Option<ServerAddr> {
    let mut url = server.into_inner();
    url.set_query(None);
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    ServerAddr::from_url(url).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `user` is the name and the password.
    fn check(urls: &str, servers: &[&str], user: Option<(&str, Option<&str>)>) {
        let address = Address::parse(urls).unwrap();
        let seen: Vec<_> = address.servers.iter().map(ServerAddr::as_url_str).collect();
        assert_eq!(seen, servers);
        let seen = address.user.as_ref().map(|user| (user.name.as_str(), user.password.as_deref()));
        assert_eq!(seen, user);
    }

    #[test]
    fn urls_and_their_users() {
        check("nats://a:4222", &["nats://a:4222"], None);
        check("a:4222", &["nats://a:4222"], None);
        check("nats://writer:secret@a:4222", &["nats://a:4222"], Some(("writer", Some("secret"))));
        check("nats://w%40x:p%3Aq%2F%25@a:4222", &["nats://a:4222"], Some(("w@x", Some("p:q/%"))));
        check("tls://token@a:4222", &["tls://a:4222"], Some(("token", None)));
        check(
            "nats://a:4222, nats://u:p@b:4222,nats://v:q@c:4222",
            &["nats://a:4222", "nats://b:4222", "nats://c:4222"],
            Some(("u", Some("p"))),
        );
    }

    #[test]
    fn queries_name_files_for_all() {
        check(
            "tls://a:4222, tls://u:p@b:4222?ca=/ca&cert=/cert&key=/key,tls://c?ca=/other",
            &["tls://a:4222", "tls://b:4222", "tls://c"],
            Some(("u", Some("p"))),
        );
    }

    #[test]
    fn invalid_urls_are_rejected() {
        for urls in [
            "tls://a?roots=/ca",
            "tls://a?cert=/cert",
            "tls://a?key=/key",
            "http://a:4222",
            "nats://u:%ff@a:4222",
            "nats://[",
            "",
        ] {
            assert!(Address::parse(urls).is_err(), "{urls}");
        }
    }
}
