//! Checks the TLS files that the database URL names, before the first connection. The driver does not name the file when it
//! fails, and it ignores a file without a certificate.

use std::fs;

use crate::error::ReadModelError;

/// The PEM label that a file must contain, by URL parameter.
const FILES: [(&[&str], &str); 3] = [
    (&["sslrootcert", "ssl-root-cert", "ssl-ca"], "CERTIFICATE"),
    (&["sslcert", "ssl-cert"], "CERTIFICATE"),
    (&["sslkey", "ssl-key"], "PRIVATE KEY"),
];

/// Checks every file that the URL names.
///
/// # Errors
/// [`ReadModelError::File`].
pub(crate) fn check(database_url: &str) -> Result<(), ReadModelError> {
    let query = database_url.split_once('?').map_or("", |(_, query)| query);
    for (name, path) in form_urlencoded::parse(query.as_bytes()) {
        let file = FILES.iter().find(|(names, _)| names.contains(&&*name));
        let Some((_, label)) = file else { continue };
        let error =
            |problem: String| ReadModelError::File { parameter: name.to_string(), path: path.to_string(), problem };
        let pem = fs::read(&*path).map_err(|cause| error(format!("cannot be read: {}", cause.kind())))?;
        let marker = format!("{label}-----");
        let mut windows = pem.windows(marker.len());
        if !windows.any(|window| window == marker.as_bytes()) {
            let label = label.to_lowercase();
            return Err(error(format!("contains no {label} in PEM form")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_files(query: &str, expected: Option<&str>) {
        let url = format!("postgres://u:hunter2@h/d{query}");
        let error = check(&url).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), expected, "{query}");
    }

    #[test]
    fn files_are_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (cert, key) = (path("a b.pem"), path("key.pem"));
        fs::write(&cert, "-----BEGIN CERTIFICATE-----\n").unwrap();
        fs::write(&key, "-----BEGIN EC PRIVATE KEY-----\n").unwrap();
        let encoded = cert.replace(' ', "%20");
        check_files("", None);
        check_files("?sslmode=require&host=/nowhere", None);
        check_files(&format!("?sslrootcert={encoded}&sslcert={encoded}&sslkey={key}"), None);
        let swapped = format!("the database URL names {key} as sslrootcert, which contains no certificate in PEM form");
        check_files(&format!("?sslrootcert={key}"), Some(&swapped));
        let swapped = format!("the database URL names {cert} as sslkey, which contains no private key in PEM form");
        check_files(&format!("?sslkey={encoded}"), Some(&swapped));
        let missing = "the database URL names /nowhere as ssl-ca, which cannot be read: entity not found";
        check_files("?ssl-ca=/nowhere", Some(missing));
    }
}
