//! Parses the conditions of a search. Operands keep their text, so that numbers are compared exactly.

use std::collections::BTreeMap;

use domain::bounds::JSON_DEPTH_MAX;
use domain::violation::check_length;
use domain::{JsonText, Violation, ViolationReason};
use read_model::queries::documents::{DocumentCondition, DocumentOperator};
use serde_json::value::RawValue;

/// Maximum size of a filter, in bytes.
pub const FILTER_BYTES_MAX: usize = 16 * 1024;
/// Maximum number of conditions of a filter.
pub const FILTER_CONDITIONS_MAX: usize = 32;

/// The operators, by their names in filters.
const OPERATORS: [(&str, DocumentOperator); 6] = [
    ("$eq", DocumentOperator::Eq),
    ("$ne", DocumentOperator::Ne),
    ("$gt", DocumentOperator::Gt),
    ("$gte", DocumentOperator::Gte),
    ("$lt", DocumentOperator::Lt),
    ("$lte", DocumentOperator::Lte),
];

/// The members of a JSON object, with their texts.
type Members<'json> = BTreeMap<String, &'json RawValue>;

/// Parses a filter; an empty text has no conditions.
///
/// # Errors
/// It is not JSON of an object, is too large, or has an unknown operator.
pub fn parse(filter_json: &str) -> Result<Vec<DocumentCondition>, Violation> {
    if filter_json.is_empty() {
        return Ok(Vec::new());
    }
    check_length(filter_json.len(), FILTER_BYTES_MAX)?;
    let text = JsonText::parse_comparable(filter_json, FILTER_BYTES_MAX)?;
    let members =
        members(text.as_str()).ok_or_else(|| Violation::new(ViolationReason::InvalidJson, "is not a JSON object"))?;
    let mut conditions = Vec::new();
    add_members(&mut conditions, &[], &members)?;
    Ok(conditions)
}

/// Adds the conditions of the members of an object at a path.
fn add_members(
    conditions: &mut Vec<DocumentCondition>,
    path: &[String],
    members: &Members<'_>,
) -> Result<(), Violation> {
    for (name, wanted) in members {
        let mut path = path.to_vec();
        path.push(name.clone());
        let Some(nested) = self::members(wanted.get()) else {
            add(conditions, &path, DocumentOperator::Eq, wanted.get())?;
            continue;
        };
        if nested.keys().any(|name| name.starts_with('$')) {
            for (name, operand) in &nested {
                add(conditions, &path, operator(name)?, operand.get())?;
            }
            continue;
        }
        add(conditions, &path, DocumentOperator::Object, "null")?;
        add_members(conditions, &path, &nested)?;
    }
    Ok(())
}

fn add(
    conditions: &mut Vec<DocumentCondition>,
    path: &[String],
    operator: DocumentOperator,
    operand: &str,
) -> Result<(), Violation> {
    if conditions.len() >= FILTER_CONDITIONS_MAX || path.len() > JSON_DEPTH_MAX {
        let rule = format!("has more than {FILTER_CONDITIONS_MAX} conditions: send fewer");
        return Err(Violation::new(ViolationReason::OutOfRange, rule));
    }
    conditions.push(DocumentCondition { path: path.to_vec(), operator, operand: operand.to_owned() });
    Ok(())
}

fn operator(name: &str) -> Result<DocumentOperator, Violation> {
    let found = OPERATORS.iter().find(|(known, _)| *known == name);
    found.map(|(_, operator)| *operator).ok_or_else(|| {
        let rule = "has an unknown operator: use $eq, $ne, $gt, $gte, $lt or $lte, and no other members beside them";
        Violation::new(ViolationReason::Malformed, rule)
    })
}

/// The members of an object; `None`: it is another value.
fn members(json: &str) -> Option<Members<'_>> {
    json.trim_start().starts_with('{').then(|| serde_json::from_str(json).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(filter: &str, expected: &[(&str, DocumentOperator, &str)]) {
        let conditions = parse(filter).unwrap();
        let seen: Vec<_> =
            conditions.iter().map(|one| (one.path.join("/"), one.operator, one.operand.as_str())).collect();
        let expected: Vec<_> =
            expected.iter().map(|(path, operator, operand)| ((*path).to_owned(), *operator, *operand)).collect();
        assert_eq!(seen, expected, "{filter}");
    }

    fn check_rejected(filter: &str, expected: ViolationReason) {
        let reason = parse(filter).map_err(|violation| violation.reason);
        assert_eq!(reason, Err(expected), "{filter}");
    }

    #[test]
    fn conditions_keep_the_text_of_their_operands() {
        use DocumentOperator::{Eq, Gte, Lt, Ne, Object};
        check("", &[]);
        check(" {} ", &[]);
        check("{\"a\": 1.50}", &[("a", Eq, "1.50")]);
        check("{\"a\": null, \"b\": [1, {\"c\": 2}]}", &[("a", Eq, "null"), ("b", Eq, "[1, {\"c\": 2}]")]);
        check(
            "{\"n\": {\"$gte\": 1, \"$lt\": 10}, \"s\": {\"$ne\": {\"x\": 1}}}",
            &[("n", Gte, "1"), ("n", Lt, "10"), ("s", Ne, "{\"x\": 1}")],
        );
        check(
            "{\"o\": {\"p\": {\"$ne\": \"x\"}, \"q\": {}}}",
            &[("o", Object, "null"), ("o/p", Ne, "\"x\""), ("o/q", Object, "null")],
        );
    }

    #[test]
    fn other_filters_are_rejected() {
        check_rejected("[]", ViolationReason::InvalidJson);
        check_rejected("{", ViolationReason::InvalidJson);
        check_rejected("{\"a\": {\"$in\": [1]}}", ViolationReason::Malformed);
        check_rejected("{\"a\": {\"$eq\": 1, \"b\": 2}}", ViolationReason::Malformed);
        check_rejected("{\"a\": \"\\u0000\"}", ViolationReason::NulCharacter);
        check_rejected("{\"a\": 1e9999}", ViolationReason::OutOfRange);
    }

    #[test]
    fn filters_at_their_bounds() {
        let filter = |count: usize| {
            let members: Vec<String> = (0..count).map(|n| format!("\"m{n}\": {n}")).collect();
            format!("{{{}}}", members.join(","))
        };
        assert_eq!(parse(&filter(FILTER_CONDITIONS_MAX)).unwrap().len(), 32);
        check_rejected(&filter(FILTER_CONDITIONS_MAX + 1), ViolationReason::OutOfRange);
        let sized = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        assert!(parse(&sized(FILTER_BYTES_MAX)).is_ok());
        check_rejected(&sized(FILTER_BYTES_MAX + 1), ViolationReason::TooLong);
    }
}
