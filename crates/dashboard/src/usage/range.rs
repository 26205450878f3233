//! Which usage a request asks for, and its rows.

use domain::{AgentId, TenantAccess};
use history::Deadline;
use read_model::queries::{RunsDay, USAGE_ROWS_MAX, UsageDay, runs_by_day, usage_by_day};
use read_model::{Day, DayRange};
use runtime::http::HttpProblem;
use serde::Deserialize;

use http_listener::day_range::day_range;
use http_listener::state::HttpState;

/// Days of the default range, which ends today.
const DAYS_DEFAULT: u32 = 30;

/// The query of the page and of its files.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct UsageQuery {
    /// The first day, in UTC; absent: 30 days before the end.
    #[serde(default)]
    from: String,
    /// The last day, in UTC; absent: today.
    #[serde(default)]
    to: String,
    /// The agent; empty: all.
    #[serde(default)]
    agent: String,
}

/// Which usage to read: at most [`read_model::USAGE_DAYS_MAX`] days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) days: DayRange,
    pub(super) agent: Option<AgentId>,
}

impl UsageQuery {
    /// # Errors
    /// A field is malformed, or the range is too long.
    pub(super) fn range(&self, state: &HttpState) -> Result<Range, HttpProblem> {
        let today = Day::from_time(state.now());
        let to = if self.to.is_empty() { today.to_string() } else { self.to.clone() };
        let from = if self.from.is_empty() {
            let last = Day::parse(&to).unwrap_or(today);
            last.minus(DAYS_DEFAULT - 1).to_string()
        } else {
            self.from.clone()
        };
        let days = day_range(&from, &to)?;
        let agent = Some(&self.agent)
            .filter(|agent| !agent.is_empty())
            .map(AgentId::parse)
            .transpose()
            .map_err(|violation| violation.within("agent"))?;
        Ok(Range { days, agent })
    }
}

impl Range {
    /// The query of its URL.
    pub(super) fn query(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("from", &self.days.first().to_string());
        query.append_pair("to", &self.days.last().to_string());
        if let Some(agent) = &self.agent {
            query.append_pair("agent", agent.as_str());
        }
        query.finish()
    }

    /// The tokens, by day, agent and model.
    ///
    /// # Errors
    /// The rows do not answer.
    pub(super) async fn tokens(&self, state: &HttpState, tenant: &TenantAccess) -> Result<Vec<UsageDay>, HttpProblem> {
        let model = &state.gateway.reader.read_model;
        let rows = usage_by_day(model, tenant, self.agent.as_ref(), self.days);
        Deadline::until(None).rows(rows).await.map_err(HttpProblem::from)
    }

    /// The ended runs, by day, agent and outcome.
    ///
    /// # Errors
    /// The rows do not answer.
    pub(super) async fn runs(&self, state: &HttpState, tenant: &TenantAccess) -> Result<Vec<RunsDay>, HttpProblem> {
        let model = &state.gateway.reader.read_model;
        let rows = Deadline::until(None).rows(runs_by_day(model, tenant, self.agent.as_ref(), self.days)).await;
        rows.map_err(HttpProblem::from)
    }
}

/// Whether more rows may exist than were read.
pub(super) fn is_cut<T>(rows: &[T]) -> bool {
    u32::try_from(rows.len()).map_or(true, |rows| rows >= USAGE_ROWS_MAX)
}
