//! Parses the output of `--version`.

/// A version of a program; later is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

/// The first word that looks like a version: `v2.15.1`, `18.6`, `19beta1`.
pub(crate) fn parse(printed: &str) -> Option<Version> {
    printed.split_whitespace().find_map(|word| {
        let mut numbers = word
            .strip_prefix('v')
            .unwrap_or(word)
            .split('.')
            .map(leading_number);
        let major = numbers.next()??;
        Some(Version {
            major,
            minor: numbers.next().flatten().unwrap_or(0),
        })
    })
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(printed: &str, expected: Option<(u32, u32)>) {
        let expected = expected.map(|(major, minor)| Version { major, minor });
        assert_eq!(parse(printed), expected, "{printed}");
    }

    #[test]
    fn versions_of_the_servers_are_parsed() {
        check("nats-server: v2.15.1", Some((2, 15)));
        check("nats-server: v2.12.0-RC.1", Some((2, 12)));
        check("postgres (PostgreSQL) 18.6", Some((18, 6)));
        let debian = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)";
        check(debian, Some((15, 18)));
        check("postgres (PostgreSQL) 19beta1", Some((19, 0)));
        check("postgres (PostgreSQL)", None);
        check("", None);
    }
}
