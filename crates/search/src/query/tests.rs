use domain::Timestamp;
use domain::event::Role;
use proptest::prelude::*;

use super::*;

/// A query in words: clauses with `+` or `-`, exact ones in quotes.
fn shown(text: &str) -> Vec<String> {
    let query = Query::parse(text).unwrap();
    let clause = |sign: &str, clause: &Clause| {
        let forms: Vec<&str> = clause.tokens.iter().map(|token| token.form.as_ref()).collect();
        let quote = if clause.is_exact { "\"" } else { "" };
        format!("{sign}{quote}{}{quote}", forms.join(" "))
    };
    let required = query.required.iter().map(|one| clause("+", one));
    let excluded = query.excluded.iter().map(|one| clause("-", one));
    required.chain(excluded).collect()
}

#[test]
fn words_phrases_and_exclusions_are_parsed() {
    let check = |text: &str, expected: &[&str]| assert_eq!(shown(text), expected, "{text}");
    check("parcel", &["+parcel"]);
    check("  Where  my PARCEL ", &["+where", "+my", "+parcel"]);
    check("\"blue parcel\" oak", &["+\"blue parcel\"", "+oak"]);
    check("parcel -oak -\"the tree\"", &["+parcel", "-oak", "-\"the tree\""]);
    check("order-1234", &["+order 1234"]);
    check("a@b.example", &["+a b example"]);
    check("parcel - oak", &["+parcel", "+oak"]);
    check("--oak tree", &["+tree", "-oak"]);
    check("\"no end", &["+\"no end\""]);
    check("5\" pipe", &["+5", "+pipe"]);
    check("http://x 10:30", &["+http x", "+10 30"]);
    check("\"role:user\"", &["+\"role user\""]);
    check("包裹 !!", &["+包 裹"]);
}

#[test]
fn filters_are_parsed() {
    let filters = |text: &str| Query::parse(text).unwrap().filters;
    assert_eq!(filters("role:user").role, Some(Role::User));
    assert_eq!(filters("ROLE:Assistant x").role, Some(Role::Assistant));
    assert_eq!(filters("tool:find_order").tool.unwrap().as_str(), "find_order");
    assert_eq!(filters("user:\"a b\"").user.unwrap().as_str(), "a b");
    assert_eq!(filters("agent:support").agent.unwrap().as_str(), "support");
    let day = Some(Timestamp(1_795_305_600_000_000_000));
    assert_eq!(filters("before:2026-11-22").before, day);
    assert_eq!(filters("after:2026-11-22T02:00:00+02:00").after, day);
    let all = filters("has:tool has:error has:rewound");
    assert_eq!(all.has, [Has::Tool, Has::Error, Has::Rewound]);
    assert!(all.is_rewound());
}

#[test]
fn invalid_queries_name_the_problem() {
    let check = |text: &str, expected: &str| {
        let error = Query::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    };
    check("", "names nothing to search for");
    check("!? \"\"", "names nothing to search for");
    check("-oak", "names nothing to search for");
    check("role:robot", "role: with an invalid value");
    check("before:yesterday", "must be a day such as");
    check("before:1500-01-01", "from 1678 to 2261");
    check("has:fun", "must be tool, error");
    check("user:", "user:");
    check("-role:user x", "excludes the filter role:");
    check("role:user role:system", "role: twice");
}

#[test]
fn bounds_are_exact() {
    let longest = "x".repeat(QUERY_BYTES_MAX);
    assert!(Query::parse(&longest).is_ok());
    let error = Query::parse(&format!("{longest}x")).unwrap_err();
    assert_eq!(error, QueryError::TooLong { bytes: QUERY_BYTES_MAX + 1 });
    let clauses = |count| vec!["w"; count].join(" ");
    assert!(Query::parse(&clauses(QUERY_CLAUSES_MAX)).is_ok());
    let error = Query::parse(&clauses(QUERY_CLAUSES_MAX + 1)).unwrap_err();
    assert_eq!(error, QueryError::TooManyClauses { clauses: QUERY_CLAUSES_MAX + 1 });
    let phrase = |count| format!("\"{}\"", clauses(count));
    assert!(Query::parse(&phrase(QUERY_TOKENS_MAX)).is_ok());
    let error = Query::parse(&phrase(QUERY_TOKENS_MAX + 1)).unwrap_err();
    assert_eq!(error, QueryError::TooManyTokens { tokens: QUERY_TOKENS_MAX + 1 });
}

proptest! {
    #[test]
    fn parsing_never_panics_and_keeps_the_bounds(text in "\\PC{0,200}") {
        if let Ok(query) = Query::parse(&text) {
            prop_assert!(query.required.len() + query.excluded.len() <= QUERY_CLAUSES_MAX);
            let clauses = query.required.iter().chain(&query.excluded);
            prop_assert!(clauses.clone().all(|clause| !clause.tokens.is_empty()));
        }
    }

    /// Any words without operators are all required, in order.
    #[test]
    fn plain_words_are_required(words in prop::collection::vec("[a-z]{1,8}", 1..QUERY_CLAUSES_MAX)) {
        let expected: Vec<String> = words.iter().map(|word| format!("+{word}")).collect();
        prop_assert_eq!(shown(&words.join(" ")), expected);
    }
}
