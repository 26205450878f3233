//! Where an entry is in the audit log of its tenant: `2026-11:42`.

use std::fmt;

use domain::Version;
use wire::audit::AuditMonth;

/// The month of an entry, and its version in the log of that month. Callers treat the text as opaque.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditPosition {
    /// The month.
    pub month: AuditMonth,
    /// The version; 0: before the first entry.
    pub version: Version,
}

impl AuditPosition {
    /// Before the first entry of a month.
    #[must_use]
    pub fn start_of(month: AuditMonth) -> Self {
        Self { month, version: Version::ZERO }
    }

    /// Parses a position; `None`: it is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (month, version) = text.split_once(':')?;
        let is_number = version.bytes().all(|byte| byte.is_ascii_digit());
        let version = version.parse().ok().filter(|_| is_number)?;
        Some(Self { month: AuditMonth::parse(month)?, version: Version(version) })
    }
}

impl fmt::Display for AuditPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.month, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_parsed_and_ordered() {
        let parse = |text: &str| AuditPosition::parse(text);
        assert_eq!(parse("2026-11:42").unwrap().to_string(), "2026-11:42");
        assert!(parse("2026-11:42") < parse("2026-11:43") && parse("2026-11:43") < parse("2026-12:1"));
        for text in ["", "2026-11", "2026-11:", "2026-11:+1", "2026-11:-1", "2026-13:1", "2026-11:99999999999999999999"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
