//! The files that a database's URL names for TLS: looked at before the first connection, since the driver names none of them
//! when it fails, and passes over a file that holds no certificate.

use std::fs;

use crate::error::ReadModelError;

/// What a file must hold, by the parameter of the URL that names it.
const FILES: [(&[&str], &str); 3] = [
    (&["sslrootcert", "ssl-root-cert", "ssl-ca"], "CERTIFICATE"),
    (&["sslcert", "ssl-cert"], "CERTIFICATE"),
    (&["sslkey", "ssl-key"], "PRIVATE KEY"),
];

/// Looks at every file that the URL names.
///
/// # Errors
/// [`ReadModelError::File`].
pub(crate) fn check(database_url: &str) -> Result<(), ReadModelError> {
    let query = database_url.split_once('?').map_or("", |(_, query)| query);
    for (name, path) in form_urlencoded::parse(query.as_bytes()) {
        let named = FILES.iter().find(|(names, _)| names.contains(&&*name));
        let Some((_, label)) = named else { continue };
        let wrong = |problem: String| ReadModelError::File {
            parameter: name.to_string(),
            path: path.to_string(),
            problem,
        };
        let unreadable = |error: std::io::Error| wrong(format!("cannot be read: {}", error.kind()));
        let pem = fs::read(&*path).map_err(unreadable)?;
        let ending = format!("{label}-----");
        let is_there = pem
            .windows(ending.len())
            .any(|window| window == ending.as_bytes());
        if !is_there {
            return Err(wrong(format!(
                "holds no {} in PEM form",
                label.to_lowercase()
            )));
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
    fn files_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (cert, key) = (path("a b.pem"), path("key.pem"));
        fs::write(&cert, "-----BEGIN CERTIFICATE-----\n").unwrap();
        fs::write(&key, "-----BEGIN EC PRIVATE KEY-----\n").unwrap();
        let encoded = cert.replace(' ', "%20");
        check_files("", None);
        check_files("?sslmode=require&host=/nowhere", None);
        check_files(
            &format!("?sslrootcert={encoded}&sslcert={encoded}&sslkey={key}"),
            None,
        );
        let swapped = format!(
            "the database URL names {key} as sslrootcert, which holds no certificate in PEM form"
        );
        check_files(&format!("?sslrootcert={key}"), Some(&swapped));
        let swapped = format!(
            "the database URL names {cert} as sslkey, which holds no private key in PEM form"
        );
        check_files(&format!("?sslkey={encoded}"), Some(&swapped));
        let missing =
            "the database URL names /nowhere as ssl-ca, which cannot be read: entity not found";
        check_files("?ssl-ca=/nowhere", Some(missing));
    }
}
