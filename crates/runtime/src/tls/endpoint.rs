//! The URL of a gRPC service: its address, and the TLS files of its clients.

use std::path::PathBuf;

use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use super::pem::{self, PemError};

/// Maximum number of URLs in a list.
pub const ENDPOINTS_MAX: usize = 16;

/// A URL cannot be used as the address of a service.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The URL has another form.
    #[error("is not a service address: write http://host:port, or https://host:port?ca=FILE")]
    Url,
    /// A list has too many URLs.
    #[error("has {0} URLs, but at most {ENDPOINTS_MAX} are used: remove some")]
    Count(usize),
    /// A query parameter cannot be used.
    #[error("has {0}: only https:// URLs accept files: ca, and cert together with key")]
    Parameter(String),
    /// A file has the wrong content.
    #[error("names a file that cannot be used: {0}")]
    File(PemError),
    /// The key does not match the certificate.
    #[error("names files that cannot be used together")]
    Mismatch(#[source] tonic::transport::Error),
}

/// The endpoint of a URL: `http://host:port`, or `https://host:port` for TLS. The query of an https URL may name PEM files:
/// `ca` replaces the CAs of the system; `cert` and `key` are the client certificate. The files are read once.
///
/// # Errors
/// [`EndpointError`]; its message follows the name of the setting.
pub fn endpoint(url: &str) -> Result<Endpoint, EndpointError> {
    let (url, query) = url.split_once('?').unwrap_or((url, ""));
    let endpoint = Endpoint::from_shared(url.to_owned()).map_err(|_| EndpointError::Url)?;
    let files = Files::from_query(query)?;
    match endpoint.uri().scheme_str() {
        Some("https") => {
            let tls = files.client().map_err(EndpointError::File)?;
            endpoint.tls_config(tls).map_err(EndpointError::Mismatch)
        }
        Some("http") => match files.ca.or(files.identity.map(|(cert, _)| cert)) {
            Some(file) => Err(EndpointError::Parameter(file.display().to_string())),
            None => Ok(endpoint),
        },
        _ => Err(EndpointError::Url),
    }
}

/// The endpoints of URLs that are separated by commas; 1 to [`ENDPOINTS_MAX`], each as [`endpoint`] reads it.
///
/// # Errors
/// As [`endpoint`].
pub fn endpoints(urls: &str) -> Result<Vec<Endpoint>, EndpointError> {
    let count = urls.split(',').count();
    if count > ENDPOINTS_MAX {
        return Err(EndpointError::Count(count));
    }
    urls.split(',').map(|url| endpoint(url.trim())).collect()
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Files {
    ca: Option<PathBuf>,
    identity: Option<(PathBuf, PathBuf)>,
}

impl Files {
    fn from_query(query: &str) -> Result<Self, EndpointError> {
        let (mut ca, mut cert, mut key) = (None, None, None);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let file = match &*name {
                "ca" => &mut ca,
                "cert" => &mut cert,
                "key" => &mut key,
                _ => return Err(EndpointError::Parameter(name.into_owned())),
            };
            *file = Some(PathBuf::from(&*value));
        }
        let identity = match (cert, key) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            (Some(_), None) => return Err(EndpointError::Parameter("cert without key".to_owned())),
            (None, Some(_)) => return Err(EndpointError::Parameter("key without cert".to_owned())),
        };
        Ok(Self { ca, identity })
    }

    /// Each file is parsed here, since the errors of the transport do not name the file.
    fn client(&self) -> Result<ClientTlsConfig, PemError> {
        let tls = match &self.ca {
            Some(ca) => {
                pem::certificates(ca)?;
                ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem::read(ca)?))
            }
            None => ClientTlsConfig::new().with_native_roots(),
        };
        let Some((cert, key)) = &self.identity else {
            return Ok(tls);
        };
        pem::certificates(cert)?;
        pem::key(key)?;
        Ok(tls.identity(Identity::from_pem(pem::read(cert)?, pem::read(key)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: Result<(), &str>) {
        let outcome = endpoint(url).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(outcome, expected.map_err(str::to_owned), "{url}");
    }

    #[test]
    fn urls_are_checked() {
        let form = Err("is not a service address: write http://host:port, or https://host:port?ca=FILE");
        let rule = "only https:// URLs accept files: ca, and cert together with key";
        let has = |what: &str| format!("has {what}: {rule}");
        check("http://127.0.0.1:7301", Ok(()));
        check("http://writer:7301/", Ok(()));
        check("ftp://writer:7301", form);
        check("writer:7301", form);
        check("writer", form);
        check("", form);
        check("http://writer:7301?ca=/ca", Err(&has("/ca")));
        check("https://writer:7301?roots=/ca", Err(&has("roots")));
        check("https://writer:7301?cert=/a", Err(&has("cert without key")));
        check("https://writer:7301?key=/a", Err(&has("key without cert")));
        let missing = "names a file that cannot be used: /nowhere/ca.pem cannot be read: entity not found";
        check("https://writer:7301?ca=/nowhere%2Fca.pem", Err(missing));
        check(
            "https://writer:7301?ca=/dev/null",
            Err("names a file that cannot be used: /dev/null has no certificate in PEM format"),
        );
    }

    #[test]
    fn a_list_has_urls_between_commas() {
        let check = |urls: &str, expected: Result<&[&str], &str>| {
            let outcome = endpoints(urls).map(|all| all.iter().map(|one| one.uri().to_string()).collect());
            let expected = expected.map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>());
            assert_eq!(outcome.map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{urls}");
        };
        let form = Err("is not a service address: write http://host:port, or https://host:port?ca=FILE");
        check("http://a:1", Ok(&["http://a:1/"]));
        check("http://a:1, http://b:2", Ok(&["http://a:1/", "http://b:2/"]));
        check("http://a:1,", form);
        check("", form);
        check(&["http://a:1"; ENDPOINTS_MAX].join(","), Ok(&["http://a:1/"; ENDPOINTS_MAX]));
        let rule = "has 17 URLs, but at most 16 are used: remove some";
        check(&["http://a:1"; ENDPOINTS_MAX + 1].join(","), Err(rule));
    }

    #[test]
    fn a_query_names_files() {
        let files = Files::from_query("cert=%2Fa%20b&ca=/c&key=/k").unwrap();
        let identity = Some(("/a b".into(), "/k".into()));
        let ca = Some("/c".into());
        assert_eq!(files, Files { ca, identity });
    }
}
