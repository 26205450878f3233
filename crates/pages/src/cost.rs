//! Prices of models, and what their tokens cost.

use std::collections::BTreeMap;

use domain::event::Usage;
use maud::{Markup, html};

use crate::components::number;

/// Prices are per this many tokens.
const TOKENS: u128 = 1_000_000;
const MILLIONTHS: u64 = 1_000_000;

/// The prices of a model per million tokens, in millionths of the currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Of tokens that the model reads for the first time.
    pub input: u64,
    /// Of tokens that it reads from the provider's cache.
    pub cached_input: u64,
    /// Of tokens that it writes.
    pub output: u64,
}

/// The prices of models, by name. A model without a price costs an unknown amount.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prices {
    /// The currency, as pages show it.
    pub currency: String,
    /// The prices, by model.
    pub by_model: BTreeMap<String, Price>,
}

/// An amount of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// The amount, in millionths of the currency.
    pub millionths: u64,
    /// Whether tokens without a price are missing in it.
    pub is_partial: bool,
}

impl Prices {
    /// What tokens of a model cost; `None`: the model has no price.
    #[must_use]
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<Cost> {
        let price = self.by_model.get(model)?;
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let amounts = [
            (usage.input_tokens - cached, price.input),
            (cached, price.cached_input),
            (usage.output_tokens, price.output),
        ]
        .map(|(tokens, price)| u128::from(tokens) * u128::from(price));
        let sum = amounts.into_iter().fold(0, u128::saturating_add) / TOKENS;
        Some(Cost { millionths: u64::try_from(sum).unwrap_or(u64::MAX), is_partial: false })
    }

    /// A cost with its currency: `at least 0.25 USD`; a dash if it is unknown.
    #[must_use]
    pub fn text(&self, cost: Option<Cost>) -> Markup {
        html! {
            @if let Some(cost) = cost {
                @if cost.is_partial { "at least " }
                (amount(cost.millionths)) " " (self.currency)
            } @else {
                "–"
            }
        }
    }
}

/// The sum of costs. A sum that lacks one is partial; `None`: all are unknown.
#[must_use]
pub fn sum(costs: impl IntoIterator<Item = Option<Cost>>) -> Option<Cost> {
    let (mut sum, mut is_partial) = (None::<Cost>, false);
    for cost in costs {
        let Some(cost) = cost else {
            is_partial = true;
            continue;
        };
        is_partial |= cost.is_partial;
        let sum = sum.get_or_insert_default();
        sum.millionths = sum.millionths.saturating_add(cost.millionths);
    }
    sum.map(|sum| Cost { is_partial, ..sum })
}

/// An amount with two decimals, or six if it is less than one hundredth.
#[must_use]
pub fn amount(millionths: u64) -> String {
    let (units, rest) = (millionths / MILLIONTHS, millionths % MILLIONTHS);
    if (1..10_000).contains(&millionths) {
        format!("0.{rest:06}")
    } else {
        format!("{}.{:02}", number(units), rest / 10_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, cached: u64, output: u64) -> Usage {
        Usage { input_tokens: input, cached_tokens: cached, output_tokens: output, reasoning_tokens: 0 }
    }

    #[test]
    fn cached_tokens_have_their_own_price() {
        let price = Price { input: 2_000_000, cached_input: 200_000, output: 8_000_000 };
        let prices = Prices { currency: "USD".to_owned(), by_model: BTreeMap::from([("m".to_owned(), price)]) };
        let check = |usage: Usage, expected: u64| {
            let cost = prices.cost("m", &usage).unwrap();
            assert_eq!((cost.millionths, cost.is_partial), (expected, false));
        };
        check(usage(1_000_000, 0, 0), 2_000_000);
        check(usage(1_000_000, 1_000_000, 0), 200_000);
        check(usage(1_000_000, 500_000, 250_000), 3_100_000);
        // More cached tokens than were read: a provider's error.
        check(usage(1, 1_000_000, 0), 0);
        check(usage(u64::MAX, 0, u64::MAX), u64::MAX);
        assert_eq!(prices.cost("n", &usage(1, 1, 1)), None);
    }

    #[test]
    fn a_sum_that_lacks_a_price_is_partial() {
        let cost = |millionths, is_partial| Some(Cost { millionths, is_partial });
        assert_eq!(sum([]), None);
        assert_eq!(sum([None]), None);
        assert_eq!(sum([cost(1, false), cost(2, false)]), cost(3, false));
        assert_eq!(sum([cost(1, false), None]), cost(1, true));
        assert_eq!(sum([cost(1, true), cost(2, false)]), cost(3, true));
    }

    #[test]
    fn amounts_are_readable() {
        for (millionths, expected) in [
            (0, "0.00"),
            (1, "0.000001"),
            (9_999, "0.009999"),
            (10_000, "0.01"),
            (1_239_999, "1.23"),
            (1_234_560_000, "1,234.56"),
        ] {
            assert_eq!(amount(millionths), expected);
        }
    }
}
