//! Settings of an agent's provider log.

use domain::bounds::LOG_DAYS_DEFAULT;
use wire::proto::operate::v1::{AgentSettings, ProviderLogDetail};

/// The logged content of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogDetail {
    /// Time, duration, size, result and cost, without any content.
    Facts,
    /// Facts and redacted bodies.
    Bodies,
}

/// The provider log of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderLogs {
    /// The logged content.
    pub detail: LogDetail,
    /// The retention in days.
    pub days: u32,
}

impl ProviderLogs {
    /// The provider log of an agent's settings; `None`: off.
    #[must_use]
    pub fn from_settings(settings: Option<&AgentSettings>) -> Option<Self> {
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
    fn logs_are_off_by_default() {
        let check = |logs: Option<(i32, u32)>, expected: Option<(LogDetail, u32)>| {
            let settings = AgentSettings {
                provider_logs: logs.map(|(detail, days)| ProviderLogSettings { detail, days }),
                ..AgentSettings::default()
            };
            let kept = ProviderLogs::from_settings(Some(&settings));
            assert_eq!(kept.map(|kept| (kept.detail, kept.days)), expected);
        };
        assert_eq!(ProviderLogs::from_settings(None), None);
        check(None, None);
        check(Some((0, 7)), None);
        check(Some((1, 7)), None);
        check(Some((2, 0)), Some((LogDetail::Facts, LOG_DAYS_DEFAULT)));
        check(Some((3, 7)), Some((LogDetail::Bodies, 7)));
        check(Some((4, 7)), None);
    }
}
