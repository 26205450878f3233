//! Parses and checks the URL of a database.

use std::str::FromStr as _;

use sqlx::postgres::PgConnectOptions;

use crate::certificates;
use crate::error::ReadModelError;

/// The schemes of a database URL.
const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// Parses a database URL.
///
/// # Errors
/// [`ReadModelError::Misconfigured`].
pub(crate) fn parse(url: &str) -> Result<PgConnectOptions, ReadModelError> {
    let is_postgres = url.split_once("://").is_some_and(|(scheme, _)| SCHEMES.contains(&scheme));
    let options = PgConnectOptions::from_str(url).ok().filter(|_| is_postgres).ok_or(ReadModelError::Misconfigured)?;
    // The driver would look up `[::1]` as a name.
    let ip = options.get_host().strip_prefix('[').and_then(|host| host.strip_suffix(']')).map(str::to_owned);
    Ok(match ip {
        Some(ip) => options.host(&ip),
        None => options,
    })
}

/// The problem of a database URL, and its remedy.
pub(crate) fn url_problem(url: &str) -> Option<String> {
    if url.is_empty() {
        return Some("is empty: give postgres://user@host:port/database".to_owned());
    }
    if parse(url).is_err() {
        return Some("is no URL of Postgres: give postgres://user@host:port/database".to_owned());
    }
    match certificates::check(url) {
        Err(ReadModelError::File { parameter, path, problem }) => {
            Some(format!("names {path} as {parameter}, which {problem}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_those_of_postgres() {
        for (url, expected) in [
            ("postgres://u@h/d", Some("h")),
            ("postgresql://u@h:1/d", Some("h")),
            ("postgres://u@[::1]:5432/d", Some("::1")),
            ("postgress://u@h/d", None),
            ("mysql://u@h/d", None),
            ("u@h/d", None),
            ("", None),
        ] {
            let host = parse(url).ok().map(|options| options.get_host().to_owned());
            assert_eq!(host.as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn urls_have_the_form_of_postgres() {
        let other = Some("is no URL of Postgres: give postgres://user@host:port/database");
        for (url, expected) in [
            ("postgres://u@h/d", None),
            ("postgresql://u@[::1]:5432/d", None),
            ("postgress://u@h/d", other),
            ("u@h/d", other),
            ("", Some("is empty: give postgres://user@host:port/database")),
        ] {
            assert_eq!(url_problem(url).as_deref(), expected, "{url}");
        }
    }
}
