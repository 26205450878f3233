//! What is kept of what an agent's model servers are asked and answer.

use domain::bounds::LOG_DAYS_DEFAULT;
use wire::proto::operate::v1::{AgentSettings, ProviderLogDetail};

/// How much is kept of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogDetail {
    /// When, how long, how large, how it ended, what it cost; nothing that was said.
    Facts,
    /// That, and what was said, redacted.
    Bodies,
}

/// What is kept of an agent's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderLogs {
    /// How much.
    pub detail: LogDetail,
    /// For how many days.
    pub days: u32,
}

impl ProviderLogs {
    /// What an agent's settings say; `None`: nothing is kept.
    #[must_use]
    pub fn of(settings: Option<&AgentSettings>) -> Option<Self> {
        let logs = settings?.provider_logs.as_ref()?;
        let detail = match logs.detail() {
            ProviderLogDetail::Unspecified | ProviderLogDetail::Off => return None,
            ProviderLogDetail::Facts => LogDetail::Facts,
            ProviderLogDetail::Bodies => LogDetail::Bodies,
        };
        let days = match logs.days {
            0 => LOG_DAYS_DEFAULT,
            days => days,
        };
        Some(Self { detail, days })
    }
}

#[cfg(test)]
mod tests {
    use wire::proto::operate::v1::ProviderLogSettings;

    use super::*;

    #[test]
    fn nothing_is_kept_unless_the_settings_say_so() {
        let check = |logs: Option<(i32, u32)>, expected: Option<(LogDetail, u32)>| {
            let settings = AgentSettings {
                provider_logs: logs.map(|(detail, days)| ProviderLogSettings { detail, days }),
                ..AgentSettings::default()
            };
            let kept = ProviderLogs::of(Some(&settings));
            assert_eq!(kept.map(|kept| (kept.detail, kept.days)), expected);
        };
        assert_eq!(ProviderLogs::of(None), None);
        check(None, None);
        check(Some((0, 7)), None);
        check(Some((1, 7)), None);
        check(Some((2, 0)), Some((LogDetail::Facts, LOG_DAYS_DEFAULT)));
        check(Some((3, 7)), Some((LogDetail::Bodies, 7)));
        check(Some((4, 7)), None);
    }
}
