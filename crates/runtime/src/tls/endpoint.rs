//! Where a gRPC service is, and whom its callers trust: a URL says both.

use std::path::{Path, PathBuf};

use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use super::pem::{self, PemError};

/// A URL is no address of a service.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// It has another form.
    #[error("is no address of a service: write http://host:port, or https://host:port?ca=FILE")]
    Url,
    /// It asks for files in a way that has no meaning.
    #[error(
        "names {0}: only https:// takes files, and they are ca, cert and key, the last two together"
    )]
    Parameter(String),
    /// A file does not hold what it is named for.
    #[error("names a file that cannot be used: {0}")]
    File(PemError),
    /// The files do not fit each other.
    #[error("names files that cannot be used together")]
    Unfit(#[source] tonic::transport::Error),
}

/// How the service at a URL is reached: `http://host:port`, or `https://host:port` for TLS, where the query may name files in PEM
/// form: `ca`, whose certificates are trusted in place of the system's, and `cert` with `key`, which are shown to a service that
/// asks for them. The files are read here, and not again.
///
/// # Errors
/// [`EndpointError`], to read on after the name of the setting.
pub fn endpoint(url: &str) -> Result<Endpoint, EndpointError> {
    let (url, query) = url.split_once('?').unwrap_or((url, ""));
    let endpoint = Endpoint::from_shared(url.to_owned()).map_err(|_| EndpointError::Url)?;
    let files = Files::in_query(query)?;
    match endpoint.uri().scheme_str() {
        Some("https") => {
            let tls = files.client().map_err(EndpointError::File)?;
            endpoint.tls_config(tls).map_err(EndpointError::Unfit)
        }
        Some("http") => match files.ca.or(files.identity.map(|(cert, _)| cert)) {
            Some(file) => Err(EndpointError::Parameter(file.display().to_string())),
            None => Ok(endpoint),
        },
        _ => Err(EndpointError::Url),
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Files {
    ca: Option<PathBuf>,
    identity: Option<(PathBuf, PathBuf)>,
}

impl Files {
    fn in_query(query: &str) -> Result<Self, EndpointError> {
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

    /// Each file is also read for its mistakes: the transport would not name it.
    fn client(&self) -> Result<ClientTlsConfig, PemError> {
        let tls = match &self.ca {
            Some(ca) => {
                pem::certificates(ca)?;
                ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem::read(ca)?))
            }
            None => ClientTlsConfig::new().with_native_roots(),
        };
        match &self.identity {
            Some((cert, key)) => Ok(tls.identity(identity(cert, key)?)),
            None => Ok(tls),
        }
    }
}

fn identity(cert: &Path, key: &Path) -> Result<Identity, PemError> {
    pem::certificates(cert)?;
    pem::key(key)?;
    Ok(Identity::from_pem(pem::read(cert)?, pem::read(key)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: Result<(), &str>) {
        let outcome = endpoint(url).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(outcome, expected.map_err(str::to_owned), "{url}");
    }

    #[test]
    fn what_is_an_address() {
        let form =
            Err("is no address of a service: write http://host:port, or https://host:port?ca=FILE");
        let takes =
            "only https:// takes files, and they are ca, cert and key, the last two together";
        let names = |what: &str| format!("names {what}: {takes}");
        check("http://127.0.0.1:7301", Ok(()));
        check("http://writer:7301/", Ok(()));
        check("ftp://writer:7301", form);
        check("writer:7301", form);
        check("writer", form);
        check("", form);
        check("http://writer:7301?ca=/ca", Err(&names("/ca")));
        check("https://writer:7301?roots=/ca", Err(&names("roots")));
        check(
            "https://writer:7301?cert=/a",
            Err(&names("cert without key")),
        );
        check(
            "https://writer:7301?key=/a",
            Err(&names("key without cert")),
        );
        let missing =
            "names a file that cannot be used: /nowhere/ca.pem cannot be read: entity not found";
        check("https://writer:7301?ca=/nowhere%2Fca.pem", Err(missing));
        check(
            "https://writer:7301?ca=/dev/null",
            Err("names a file that cannot be used: /dev/null holds no certificate in PEM form"),
        );
    }

    #[test]
    fn a_query_names_files() {
        let files = Files::in_query("cert=%2Fa%20b&ca=/c&key=/k").unwrap();
        let identity = Some(("/a b".into(), "/k".into()));
        let ca = Some("/c".into());
        assert_eq!(files, Files { ca, identity });
    }
}
