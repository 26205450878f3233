//! Sums of usage, for the page. Pure.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use domain::RunOutcome;
use domain::event::Usage;
use pages::cost::{Prices, sum};
use pages::dashboard::usage::{RunsRow, UsageRow};
use read_model::queries::{RunsDay, UsageDay};
use read_model::{Day, DayRange};

/// A row for each day of the range, in order.
pub(super) fn by_day(days: DayRange, rows: &[UsageDay], prices: &Prices) -> Vec<UsageRow> {
    let mut of_day: BTreeMap<Day, Vec<&UsageDay>> = days.days().map(|day| (day, Vec::new())).collect();
    for row in rows {
        of_day.entry(row.day).or_default().push(row);
    }
    let rows = of_day.iter();
    rows.map(|(day, rows)| summed(&day.to_string(), rows, prices)).collect()
}

/// A row for each name, the greatest number of tokens first.
pub(super) fn by_name(rows: &[UsageDay], prices: &Prices, name: fn(&UsageDay) -> &str) -> Vec<UsageRow> {
    let mut named: BTreeMap<&str, Vec<&UsageDay>> = BTreeMap::new();
    for row in rows {
        named.entry(name(row)).or_default().push(row);
    }
    let mut sums: Vec<UsageRow> = named.iter().map(|(name, rows)| summed(name, rows, prices)).collect();
    sums.sort_by_key(|row| {
        let tokens = &row.tokens;
        Reverse(tokens.input_tokens.saturating_add(tokens.output_tokens))
    });
    sums
}

/// The ended runs of each day of the range, in order.
pub(super) fn runs_by_day(days: DayRange, rows: &[RunsDay]) -> Vec<RunsRow> {
    let mut of_day: BTreeMap<Day, [u64; 4]> = days.days().map(|day| (day, [0; 4])).collect();
    for row in rows {
        let counts = of_day.entry(row.day).or_default();
        for (outcome, count) in RunOutcome::ALL.into_iter().zip(counts) {
            if outcome == row.outcome {
                *count = count.saturating_add(row.runs);
            }
        }
    }
    of_day.into_iter().map(|(day, runs)| RunsRow { day: day.to_string(), runs }).collect()
}

fn summed(name: &str, rows: &[&UsageDay], prices: &Prices) -> UsageRow {
    let add = |part: fn(&UsageDay) -> u64| rows.iter().map(|row| part(row)).fold(0, u64::saturating_add);
    let costs = rows.iter().map(|row| prices.cost(row.model.as_deref().unwrap_or_default(), &row.tokens));
    UsageRow {
        name: name.to_owned(),
        messages: add(|row| row.messages),
        tokens: Usage {
            input_tokens: add(|row| row.tokens.input_tokens),
            output_tokens: add(|row| row.tokens.output_tokens),
            cached_tokens: add(|row| row.tokens.cached_tokens),
            reasoning_tokens: add(|row| row.tokens.reasoning_tokens),
        },
        cost: sum(costs),
    }
}

#[cfg(test)]
mod tests {
    use domain::AgentId;

    use super::*;

    fn row(day: &str, agent: &str, model: &str, input_tokens: u64) -> UsageDay {
        UsageDay {
            day: Day::parse(day).unwrap(),
            agent: AgentId::parse(agent).unwrap(),
            model: Some(model.to_owned()),
            messages: 1,
            tokens: Usage { input_tokens, ..Usage::default() },
        }
    }

    fn shown(rows: &[UsageRow]) -> Vec<(&str, u64, u64)> {
        rows.iter().map(|row| (row.name.as_str(), row.messages, row.tokens.input_tokens)).collect()
    }

    #[test]
    fn usage_is_summed() {
        let day = |text| Day::parse(text).unwrap();
        let days = DayRange::new(day("2026-11-01"), day("2026-11-03")).unwrap();
        let rows = [row("2026-11-01", "a", "m", 1), row("2026-11-01", "b", "m", 20), row("2026-11-03", "a", "n", 3)];
        let prices = Prices::default();
        let expected = [("2026-11-01", 2, 21), ("2026-11-02", 0, 0), ("2026-11-03", 1, 3)];
        assert_eq!(shown(&by_day(days, &rows, &prices)), expected);
        let agents = by_name(&rows, &prices, |row| row.agent.as_str());
        assert_eq!(shown(&agents), [("b", 1, 20), ("a", 2, 4)]);
        let runs = [RunsDay {
            day: day("2026-11-02"),
            agent: AgentId::parse("a").unwrap(),
            outcome: RunOutcome::Failed,
            runs: 2,
        }];
        let runs = runs_by_day(days, &runs);
        let counts: Vec<_> = runs.iter().map(|row| row.runs).collect();
        assert_eq!(counts, [[0; 4], [0, 0, 2, 0], [0; 4]]);
    }
}
