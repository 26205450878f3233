//! Properties of every text.

use std::sync::LazyLock;

use domain::JsonText;
use proptest::prelude::*;
use redact::{Counts, Rules};

use super::{check_tokens, redacted, rules};

/// Pieces that rules search for.
#[rustfmt::skip]
const PIECES: [&str; 37] = [
    "password", "token", "Cookie", "authorization", "api key", "seed", "pin", "iban", "=", ": ", " is ", ":", "\"", "'",
    "\\", "\\\"", "[redacted:token]", "[redacted:", "]", "Bearer ", "hunter2", "4111 1111 1111 1111", "4111111111111111",
    "sk-abcdefghij0123456789", "AKIAIOSFODNN7EXAMPLE", "\n", "{", "}", ",", "postgres://a:b", "@", "\0", "é", "😀",
    "-----BEGIN PRIVATE KEY-----\n", "MIIEvQIBADANBgkqhkiG9w0", "eyJhbGciOiJIUzI1NiJ9.e.x",
];

/// Texts of [`PIECES`] and arbitrary pieces.
fn text() -> impl Strategy<Value = String> {
    let known = prop::sample::select(&PIECES[..]);
    let piece = prop_oneof![8 => known.prop_map(str::to_owned), 1 => ".{0,8}"];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn document() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        text().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        Just(4_111_111_111_111_111_u64).prop_map(serde_json::Value::from),
        Just(serde_json::Value::Null),
    ];
    let key = prop_oneof![
        prop::sample::select(vec!["password", "token", "apiKey", "note", "seed", "iban"]).prop_map(str::to_owned),
        text(),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::vec((key.clone(), inner), 0..4)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

static BUILT_IN: LazyLock<Rules> = LazyLock::new(|| rules("{}"));
static OWN: LazyLock<Rules> =
    LazyLock::new(|| rules(r#"{"keys":["iban"],"patterns":["h.?u","e+d","\\A.","(?s)k.*-"]}"#));

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn redacting_twice_is_redacting_once(text in text()) {
        for rules in [&*BUILT_IN, &*OWN] {
            let (once, _) = redacted(&text, rules);
            let (twice, found) = redacted(&once, rules);
            prop_assert_eq!(&twice, &once);
            prop_assert_eq!(found, Counts::default());
        }
    }

    #[test]
    fn documents_stay_documents(document in document()) {
        let plain = serde_json::to_string(&document).unwrap();
        let pretty = serde_json::to_string_pretty(&document).unwrap();
        for (text, rules) in [(plain, &*BUILT_IN), (pretty, &*OWN)] {
            prop_assume!(text.starts_with(['{', '[']));
            let (once, _) = redacted(&text, rules);
            prop_assert!(JsonText::parse(once.clone()).is_ok(), "{}", once);
            let (twice, found) = redacted(&once, rules);
            prop_assert_eq!(twice, once);
            prop_assert_eq!(found, Counts::default());
        }
    }

    #[test]
    fn no_text_grows_by_more_than_the_reported_tokens(
        text in text(), before in "[ -~]{0,12}", secret in "[ -~]{1,24}", after in "[ -~]{0,12}", pin in 0_u32..99_999,
    ) {
        for text in [
            text.clone(),
            format!("{before}password={secret}{after}"),
            format!("{before} token: \"{secret}\"{after}{text}"),
            serde_json::json!({ "pin": pin, "note": after }).to_string(),
            serde_json::json!({ "cvv": secret, "note": text }).to_string(),
        ] {
            for rules in [&*BUILT_IN, &*OWN] {
                let (redacted_text, found) = redacted(&text, rules);
                check_tokens(&text, &redacted_text, &found);
            }
        }
    }

    #[test]
    fn a_secret_is_never_left(before in "[ -~]{0,20}", secret in "[a-z]{4}[0-9]{4}[a-z]{4}") {
        for text in [
            format!("{before}\npassword={secret}"),
            format!("{before}\n\"api_key\": \"{secret}\""),
            format!("{before}\nAuthorization: Bearer {secret}"),
            serde_json::json!({ "note": before, "client_secret": secret }).to_string(),
        ] {
            let (redacted_text, _) = redacted(&text, &BUILT_IN);
            prop_assert!(!redacted_text.contains(&secret), "{}", redacted_text);
        }
    }
}
