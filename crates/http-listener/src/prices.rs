//! The configured prices of models.

use std::fmt;

use pages::cost::{Price, Prices};
use runtime::config::Checks;
use serde::{Deserialize, Serialize};

/// Maximum number of models with a price.
pub const PRICES_MAX: usize = 1_000;
/// Maximum length of the currency.
pub const CURRENCY_CHARS_MAX: usize = 8;
/// Decimals of a price.
const DECIMALS: usize = 6;
const MILLIONTHS: u64 = 1_000_000;
/// The highest price per million tokens, in units of the currency.
const UNITS_MAX: u64 = 1_000_000;

/// The prices of a model, per million tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// The model, as messages name it.
    pub model: String,
    /// Tokens that the model reads.
    pub input: Amount,
    /// Tokens that it reads from the provider's cache; absent: as `input`.
    #[serde(default)]
    pub cached_input: Option<Amount>,
    /// Tokens that it writes.
    pub output: Amount,
}

/// An amount of money, in millionths of the currency; in settings a decimal number as text, such as `"1.25"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Amount(u64);

impl TryFrom<String> for Amount {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let wrong = || {
            format!(
                "“{text}” is no price: write a decimal number as text, such as \"1.25\", at most {UNITS_MAX} with {DECIMALS} decimals"
            )
        };
        let (units, decimals) = text.split_once('.').unwrap_or((&text, "0"));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(units) || !is_number(decimals) || decimals.len() > DECIMALS {
            return Err(wrong());
        }
        let units: u64 = units.parse().map_err(|_| wrong())?;
        let rest: u64 = format!("{decimals:0<DECIMALS$}").parse().map_err(|_| wrong())?;
        let amount = units
            .checked_mul(MILLIONTHS)
            .and_then(|amount| amount.checked_add(rest))
            .filter(|amount| *amount <= UNITS_MAX * MILLIONTHS);
        amount.map(Self).ok_or_else(wrong)
    }
}

impl From<Amount> for String {
    fn from(amount: Amount) -> Self {
        amount.to_string()
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / MILLIONTHS, self.0 % MILLIONTHS)
    }
}

/// The prices, for pages.
#[must_use]
pub fn prices(currency: &str, models: &[ModelPrice]) -> Prices {
    let prices = models.iter().map(|price| {
        let cached_input = price.cached_input.unwrap_or(price.input);
        let of_model = Price { input: price.input.0, cached_input: cached_input.0, output: price.output.0 };
        (price.model.clone(), of_model)
    });
    Prices { currency: currency.to_owned(), by_model: prices.collect() }
}

pub(super) fn validate(currency: &str, models: &[ModelPrice], checks: &mut Checks<'_>) {
    let given = models.len();
    if given > PRICES_MAX {
        let error = format!("lists {given} models, at most {PRICES_MAX} are accepted");
        checks.invalid("prices", error);
    }
    if prices(currency, models).by_model.len() < given {
        let error = "lists a model twice: keep one of them";
        checks.invalid("prices", error.to_owned());
    }
    let chars = currency.chars().count();
    if !(1..=CURRENCY_CHARS_MAX).contains(&chars) {
        let error = format!("has {chars} characters, must have 1 to {CURRENCY_CHARS_MAX}");
        checks.invalid("currency", error);
    }
}

#[cfg(test)]
mod tests {
    use runtime::config::{Sources, load};
    use serde_json::{Value, json};

    use super::super::config::DashboardSection;
    use super::*;
    use crate::config::HttpSection;

    fn loaded(dashboard: &Value) -> Option<DashboardSection> {
        let settings = json!({ "dashboard": dashboard });
        let section = load::<HttpSection>(&Sources::new().flags(&settings));
        section.ok().map(|section| section.dashboard)
    }

    fn price(model: &str, input: &str) -> Value {
        json!({ "model": model, "input": input, "output": "10" })
    }

    #[test]
    fn prices_are_decimal_numbers() {
        for (text, expected) in [
            ("1.25", Some(1_250_000)),
            ("0", Some(0)),
            ("0.000001", Some(1)),
            ("1000000", Some(1_000_000_000_000)),
            ("1000000.000001", None),
            ("0.0000001", None),
            ("-1", None),
            ("+1", None),
            ("1e3", None),
            ("1.", None),
            (".5", None),
            ("1,5", None),
            ("", None),
            ("99999999999999999999", None),
        ] {
            let loaded = loaded(&json!({ "prices": [price("m", text)] }));
            let found = loaded.map(|section| section.prices().by_model["m"]);
            let expected = expected.map(|input| Price { input, cached_input: input, output: 10_000_000 });
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn the_number_of_models_and_the_currency_are_bounded() {
        let prices = |count: usize| -> Vec<Value> { (0..count).map(|n| price(&format!("m{n}"), "1")).collect() };
        let check = |dashboard: Value, expected: bool| {
            assert_eq!(loaded(&dashboard).is_some(), expected);
        };
        check(json!({ "prices": prices(PRICES_MAX) }), true);
        check(json!({ "prices": prices(PRICES_MAX + 1) }), false);
        check(json!({ "prices": [price("m", "1"), price("m", "2")] }), false);
        check(json!({ "currency": "x".repeat(CURRENCY_CHARS_MAX) }), true);
        check(json!({ "currency": "x".repeat(CURRENCY_CHARS_MAX + 1) }), false);
        check(json!({ "currency": "" }), false);
    }
}
