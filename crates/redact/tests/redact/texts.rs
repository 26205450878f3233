//! Plain texts.

use super::check_by;

const JWT: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
const INVOICE: &str = "lnbc20m1pvjluezpp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqhp58yjmdan79s6qqdhdzgynm4zwqd5d7xmw5fk98klysy043l2ahrqs";
const WORDS: &str = "abandon ability able about above absent absorb abstract absurd abuse access zoo";

fn check(text: &str, expected: &str) {
    let fill = |text: &str| {
        let text = text.replace("{jwt}", JWT).replace("{ln}", INVOICE);
        text.replace("{words}", WORDS)
    };
    check_by("{}", &fill(text), &fill(expected));
}

fn stays(text: &str) {
    check(text, text);
}

#[test]
fn headers() {
    check("Authorization: Bearer abcdef123456", "Authorization: «authorization»");
    check("authorization: bearer abcdefghijkl\nHost: a", "authorization: «authorization»\nHost: a");
    check("curl -H 'Authorization: Basic dXNlcjpwYXNz' x", "curl -H 'Authorization: «authorization»' x");
    check("Proxy-Authorization: Basic dXNlcjpwYXNz", "Proxy-Authorization: «authorization»");
    check("authorization: L402 AgEDbG5kAn:000102030405", "authorization: «authorization»");
    check("use Bearer abcdef1234567890 here", "use Bearer «authorization» here");
    check("Basic dXNlcjpwYXNz it is", "Basic «authorization» it is");
    check("headers[\"Authorization\"] = \"Bearer abcdef\"", "headers[\"Authorization\"] = \"«authorization»\"");
    check("Cookie: sid=abc; theme=dark\nAccept: *", "Cookie: «cookie»\nAccept: *");
    check("Set-Cookie: id=a3f; Path=/; HttpOnly", "Set-Cookie: «cookie»");
    check("x-api-key: 12ab34cd56ef", "x-api-key: «api_key»");
    stays("Authorization: required for all routes");
    stays("Authorization: Bearer <token>");
    stays("Authorization: Bearer $TOKEN");
    stays("Bearer authentication is explained below.");
    stays("The basic JavaScript course and Basic internationalization");
    stays("cookie: chocolate chip, 12 pieces");
}

#[test]
fn assignments() {
    check("password=hunter2", "password=«password»");
    // The beginning of a placeholder.
    check("password=your0000aaaa", "password=«password»");
    check("password=your-0000-aaaa", "password=«password»");
    check("password=yourmajesty", "password=«password»");
    check("https://a.b/?page=2&token=abc&x=1", "https://a.b/?page=2&token=«token»&x=1");
    check("API key: 9f8e7d6c5b4a", "API key: «api_key»");
    check("OPENAI_API_KEY=abcdefgh", "OPENAI_API_KEY=«api_key»");
    check("export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "export AWS_SECRET_ACCESS_KEY=«api_key»");
    check("client_secret: 'dGhpcyBpcyBzZWNyZXQ'", "client_secret: '«secret»'");
    check("clientSecret = \"abcdef\"", "clientSecret = \"«secret»\"");
    check("accessToken: abc123def456,", "accessToken: «token»,");
    check("my password is hunter2.", "my password is «password».");
    check("Password: correcthorse\nnext", "Password: «password»\nnext");
    check("**Password:** hunter2!", "**Password:** «password»");
    check("the PIN is 4711", "the PIN is «pin»");
    check("pin: 1234, please", "pin: «pin», please");
    check("CVV: 123", "CVV: «pin»");
    check("card number: 1234 5678 9012 3456 ok", "card number: «card» ok");
    check("preimage: 0001020304050607080900010203040506", "preimage: «preimage»");
    check("macaroon=0201036c", "macaroon=«macaroon»");
    check("log {\"password\": \"x\", \"n\": 1}", "log {\"password\": \"«password»\", \"n\": 1}");
    check("log {\\\"password\\\": \\\"x y\\\", 1}", "log {\\\"password\\\": \\\"«password»\\\", 1}");
    check("{'token': 'a\\'b', 'x': 1} py", "{'token': '«token»', 'x': 1} py");
    check("密码 password：hunter2", "密码 password：«password»");
}

#[test]
fn words_about_secrets_stay() {
    stays("max_tokens: 5");
    stays("total_tokens=1234567, tokens: 98765432");
    stays("The token: a piece of text. Tokens cost money.");
    stays("token: 12345678");
    stays("next_page_token: CAUQAA1234567");
    stays("nextPageToken=CAUQAA1234567");
    stays("password: required");
    stays("password: string;");
    stays("password: must have 8 characters");
    stays("password: Joi.string().min(8)");
    stays("your password is incorrect");
    stays("api_key=settings.api_key, token=access_token, secret=get_secret(name)");
    stays("apiKey: process.env.API_KEY");
    stays("password=${DB_PASSWORD} token=$TOKEN secret=<your-secret> password=********");
    stays("password=your-password token=YOUR_API_TOKEN secret=Your_Secret");
    stays("if token == None: raise");
    stays("headers[\"Authorization\"] = \"Basic \" + encoded");
    stays("Token: '#cccccc'");
    stays("seed: 42");
    stays("seed=42 and seed data for the table");
    stays("Invoice: 2024-00017-A, invoice number 4711-0815");
    stays("pin: 4 digits; data_pin: 1234; GPIO pin = 13");
    stays("monkey: banana, keyboard: qwerty123456");
    stays("public key: 0123456789abcdef, primary_key=user_id_12345");
    stays("secret::Key and token://host1234");
    stays("The secret: never give up 2024");
}

#[test]
fn forms() {
    check("see {jwt}, ok", "see «token», ok");
    check(
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nQ==\n-----END PRIVATE KEY-----\nx",
        "«private_key»\nx",
    );
    check(
        "-----BEGIN RSA PRIVATE KEY-----\\nProc-Type: 4,ENCRYPTED\\n\\nMIIEvQIBADANBgkqhkiG9w0BAQEF\\n-----END RSA PRIVATE KEY-----",
        "«private_key»",
    );
    check("cut: -----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA", "cut: «private_key»");
    check("sk-proj-abcdefghij0123456789 x", "«api_key» x");
    check("AKIAIOSFODNN7EXAMPLE", "«api_key»");
    check("(ghp_0123456789abcdefghijABCDEFGHIJ012345)", "(«api_key»)");
    check("xoxb-123456789012-abcdefABCDEF", "«api_key»");
    check("sk_live_0123456789abcdef", "«api_key»");
    check("AIzaSyA0123456789abcdefghijklmnopqrstuv", "«api_key»");
    check("pay {ln} now", "pay «invoice» now");
    check("nsec1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq", "«private_key»");
    check("postgres://app:s3cr3t@db:5432/x", "postgres://app:«password»@db:5432/x");
    stays("https://example.com:8080/a@b and postgres://app:${PW}@db");
    stays("-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOC\n-----END PUBLIC KEY-----");
    stays("A file starts with -----BEGIN PRIVATE KEY----- and ends with its END.");
    stays("a task-oriented-programming-language and sk-learn");
    stays("lnbc is a prefix; eyJ too; lnbc1short");
}

#[test]
fn card_numbers() {
    check("4111111111111111", "«card»");
    check("Visa 4111 1111 1111 1111, exp", "Visa «card», exp");
    check("5555-5555-5555-4444", "«card»");
    check("amex 3782 822463 10005.", "amex «card».");
    check("6011111111111117 30569309025904 4222222222222", "6011111111111117 30569309025904 4222222222222");
    check("6011111111111117, 30569309025904; 4222222222222", "«card», «card»; «card»");
    check("é4111111111111111\0", "é«card»\0");
    stays("order 4111111111111112");
    stays("1732233600000 1732233600000000 20241122012600");
    stays("0.4111111111111111 x4111111111111111 4111111111111111.5");
    stays("4111-1111 11111111 id_4111111111111111");
    stays("41111111111111114111111111111111");
    stays("+4111111111111111");
}

#[test]
fn seed_phrases() {
    check("seed phrase: {words}", "seed phrase: «seed»");
    check("My mnemonic is \"{words}\".", "My mnemonic is \"«seed»\".");
    check("Seed:\n{words}\nthanks", "Seed:\n«seed»\nthanks");
    check(
        "recovery phrase: 1. abandon 2. ability 3. able 4. about 5. above 6. absent 7. absorb 8. abstract 9. absurd 10. abuse 11. access 12. zoo",
        "recovery phrase: «seed»",
    );
    check("seed=000102030405060708090a0b0c0d0e0f", "seed=«seed»");
    stays("{words}");
    stays("seed: the data that a test starts from, in a table");
}

#[test]
fn marks_are_not_searched() {
    stays("password=[redacted:password] and token: [redacted:token].");
    check("password=[redacted:nothing]x", "password=[redacted:nothing]x");
    check("Cookie: a=[redacted:token]; b=2", "Cookie: «cookie»");
}

#[test]
fn a_mark_replaces_a_text_that_has_secrets_after_the_last_pass() {
    let chain = |links: usize| super::redacted(&"AKIAIOSFODNN7EXAMPLE".repeat(links), &super::rules("{}"));
    let (text, found) = chain(6);
    assert_eq!(text, "[redacted:api_key]".repeat(6));
    assert_eq!(found.total(), 6);
    let (text, found) = chain(7);
    assert_eq!(text, "[redacted:api_key]");
    assert_eq!(found.total(), 7);
}

#[test]
fn policies_choose_rules_keys_and_patterns() {
    let without = r#"{"rules":{"without":["password","card"]}}"#;
    check_by(without, "password=hunter2 4111111111111111 token=abc", "password=hunter2 4111111111111111 token=«token»");
    check_by(r#"{"rules":"none"}"#, "password=hunter2", "password=hunter2");
    let own = r#"{"rules":"none","keys":["customer number","iban"],"patterns":["ORD-\\d{6}","(?i)acme\\w*"]}"#;
    check_by(own, "customerNumber: 17, IBAN=DE12", "customerNumber: «key», IBAN=«key»");
    check_by(
        own,
        "customer_number is 4, ibans: 5, my-iban: DE34",
        "customer_number is «key», ibans: 5, my-iban: «key»",
    );
    check_by(own, "ORD-123456 ORD-12 AcmeCorp's", "«pattern» ORD-12 «pattern»'s");
    check_by(r#"{"keys":["Пароль","密码"]}"#, "ПАРОЛЬ: тайна, 密码：abc", "ПАРОЛЬ: «key», 密码：«key»");
    check_by(r#"{"patterns":["[a-z]+","^."]}"#, "Hello world", "«pattern»«pattern» «pattern»");
}
