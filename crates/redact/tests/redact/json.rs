//! JSON documents: tool inputs and outputs, and texts that are documents.

use domain::JsonText;

use super::check_by;

fn check(document: &str, expected: &str) {
    check_by("{}", document, expected);
    let expected = expected.replace('«', "[redacted:").replace('»', "]");
    assert!(JsonText::parse(expected).is_ok(), "{document}");
}

fn stays(document: &str) {
    check(document, document);
}

#[test]
fn the_values_of_secret_keys() {
    check(r#"{"password":"hunter2"}"#, r#"{"password":"«password»"}"#);
    check(
        r#"{ "a" : [ {"X-Api-Key" : "k" , "n":1e400} ] }"#,
        r#"{ "a" : [ {"X-Api-Key" : "«api_key»" , "n":1e400} ] }"#,
    );
    check(
        r#"{"apiKey":"k","api_key":"k","APIKEY":"k"}"#,
        r#"{"apiKey":"«api_key»","api_key":"«api_key»","APIKEY":"«api_key»"}"#,
    );
    check(r#"{"openai_api_key":"k","githubToken":"t"}"#, r#"{"openai_api_key":"«api_key»","githubToken":"«token»"}"#);
    check(
        r#"{"Authorization":"x","Set-Cookie":["a","b"]}"#,
        r#"{"Authorization":"«authorization»","Set-Cookie":"«cookie»"}"#,
    );
    check(
        r#"{"invoice":"lnbc1","payment_preimage":"00","macaroon":"02"}"#,
        r#"{"invoice":"«invoice»","payment_preimage":"«preimage»","macaroon":"«macaroon»"}"#,
    );
    check(
        r#"{"seed":"a b","mnemonic":["a","b"],"privateKey":"x"}"#,
        r#"{"seed":"«seed»","mnemonic":"«seed»","privateKey":"«private_key»"}"#,
    );
    check(
        r#"{"access_token":"a","refresh_token":"b","id_token":"c","session_token":"d","token":"e"}"#,
        r#"{"access_token":"«token»","refresh_token":"«token»","id_token":"«token»","session_token":"«token»","token":"«token»"}"#,
    );
    check(
        r#"{"secret":{"a":1},"client_secret":"s","passphrase":"p"}"#,
        r#"{"secret":"«secret»","client_secret":"«secret»","passphrase":"«password»"}"#,
    );
    check(
        r#"{"pin":1234,"cvv":"123","cardNumber":4111111111111111}"#,
        r#"{"pin":"«pin»","cvv":"«pin»","cardNumber":"«card»"}"#,
    );
    check(r#"{"pass\u0077ord":"x"}"#, r#"{"pass\u0077ord":"«password»"}"#);
    check(r#"{"password":"a \"quoted\" ]} one"}"#, r#"{"password":"«password»"}"#);
    check(r#"{"cookies":{"a":"]}\""},"b":2}"#, r#"{"cookies":"«cookie»","b":2}"#);
}

/// A policy's patterns and keys apply to what a document means, not to how it is written.
#[test]
fn keys_and_patterns_of_a_policy() {
    let digits = r#"{"patterns":["[0-9]{9}"]}"#;
    check_by(
        digits,
        r#"{"ssn":123456789,"n":12345678,"list":[1234567890]}"#,
        r#"{"ssn":"«pattern»","n":12345678,"list":["«pattern»"]}"#,
    );
    check_by(
        r#"{"keys":["пароль"]}"#,
        r#"{"\u043f\u0430\u0440\u043e\u043b\u044c":"x"}"#,
        r#"{"\u043f\u0430\u0440\u043e\u043b\u044c":"«key»"}"#,
    );
    for (pattern, document, expected) in [
        (r"(?s)BEGIN\\s.*END", r#"{"c":"a BEGIN\nx\nEND b"}"#, r#"{"c":"a «pattern» b"}"#),
        (r"^ACME-\\d+$", r#"{"c":"ACME-12","d":"an ACME-12"}"#, r#"{"c":"«pattern»","d":"an ACME-12"}"#),
        (r#"say \"[a-z]+\""#, r#"{"c":"say \"friend\""}"#, r#"{"c":"«pattern»"}"#),
        (r"C:\\\\[a-z]+", r#"["C:\\users"]"#, r#"["«pattern»"]"#),
    ] {
        let policy = format!(r#"{{"patterns":["{pattern}"]}}"#);
        check_by(&policy, document, expected);
    }
}

#[test]
fn values_that_are_not_secrets_stay() {
    stays(r#"{"password":null,"token":true,"secret":"","api_key":[],"cookie":{}}"#);
    stays(r#"{"max_tokens":5,"total_tokens":7,"tokens":[1,2],"token":12}"#);
    stays(r#"{"seed":42,"invoice":{"number":"2024-1","total":5},"data_pin":4}"#);
    stays(r#"{"next_page_token":"CAUQAA","eos_token":"</s>","public_key":"ab"}"#);
    stays(r#"{"order":4111111111111112,"at":1732233600000,"ns":1732233600000000000,"f":0.4111111111111111}"#);
    stays(r#"{"password":"[redacted:password]"}"#);
    stays(r#"["password","hunter2"]"#);
}

#[test]
fn texts_inside_documents() {
    check(r#"{"note":"my password is hunter2"}"#, r#"{"note":"my password is «password»"}"#);
    check(
        r#"["a\u00e9\ud83d\ude00 password=x\u0041y \n\u0000"]"#,
        r#"["a\u00e9\ud83d\ude00 password=«password» \n\u0000"]"#,
    );
    check(r#"["sk\u002dproj-abcdefghij0123456789"]"#, r#"["«api_key»"]"#);
    check(r#"["https:\/\/u:s3cr3t@h\/p"]"#, r#"["https:\/\/u:«password»@h\/p"]"#);
    check(r#"{"args":"{\"password\":\"x\",\"n\":[1]}"}"#, r#"{"args":"{\"password\":\"«password»\",\"n\":[1]}"}"#);
    check(r#"{"n":4111111111111111,"s":"4111 1111 1111 1111"}"#, r#"{"n":"«card»","s":"«card»"}"#);
    check(r#"{"sk-proj-abcdefghij0123456789":1}"#, r#"{"«api_key»":1}"#);
    check(r#"["\ud800 token=abc\ud800"]"#, r#"["\ud800 token=«token»"]"#);
}
