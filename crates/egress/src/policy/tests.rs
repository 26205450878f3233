use super::*;

fn policy(allow: &[&str], allow_http: &[&str]) -> Policy {
    let list = |entries: &[&str]| entries.iter().map(|entry| entry.parse().unwrap()).collect();
    Policy { allow: list(allow), allow_http: list(allow_http) }
}

fn check(policy: &Policy, url: &str, expected: Result<(), Refusal>) {
    assert_eq!(policy.check_url(url).map(drop), expected, "{url}");
}

#[test]
fn by_default_only_public_servers_over_tls() {
    let policy = Policy::default();
    check(&policy, "https://hooks.example/x?y=1", Ok(()));
    check(&policy, "https://hooks.example:8443", Ok(()));
    check(&policy, "https://8.8.8.8/", Ok(()));
    check(&policy, "https://[2606:4700::1]/", Ok(()));
    check(&policy, "http://hooks.example/", Err(Refusal::Plaintext));
    check(&policy, "http://8.8.8.8/", Err(Refusal::Plaintext));
    check(&policy, "http://nats:8222/connz", Err(Refusal::InternalName));
    check(&policy, "https://nats:8222/connz", Err(Refusal::InternalName));
    check(&policy, "https://nats.:8222/", Err(Refusal::InternalName));
    check(&policy, "ftp://hooks.example/", Err(Refusal::Scheme));
    check(&policy, "file:///etc/passwd", Err(Refusal::Scheme));
    for malformed in ["", "hooks.example", "/x", "https://", "https://a b/"] {
        check(&policy, malformed, Err(Refusal::Malformed));
    }
    for named in ["https://ada@hooks.example/", "https://ada:pw@hooks.example/"] {
        check(&policy, named, Err(Refusal::Malformed));
    }
}

#[test]
fn addresses_in_any_notation() {
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0",
        "10.0.0.1",
        "169.254.169.254",
        "192.168.1.1",
        "100.64.0.1",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[fe80::1]",
        "[fd00::1]",
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "１２７.0.0.1",
    ] {
        let url = format!("https://{host}:8222/connz");
        check(&Policy::default(), &url, Err(Refusal::SpecialAddress));
    }
}

#[test]
fn destinations_that_the_deployment_allows() {
    let policy =
        policy(&["10.0.0.0/8", "127.0.0.0/8", "hooks.internal", "tools"], &["127.0.0.0/8", "tools", "plain.example"]);
    check(&policy, "https://10.1.2.3/", Ok(()));
    check(&policy, "http://10.1.2.3/", Err(Refusal::Plaintext));
    check(&policy, "https://172.16.0.1/", Err(Refusal::SpecialAddress));
    check(&policy, "http://127.0.0.1:8080/", Ok(()));
    check(&policy, "http://localhost:8080/", Ok(()));
    check(&policy, "http://[::1]:8080/", Err(Refusal::SpecialAddress));
    check(&policy, "https://hooks.internal/", Ok(()));
    check(&policy, "http://tools:80/", Ok(()));
    check(&policy, "http://nats:8222/connz", Err(Refusal::InternalName));
    check(&policy, "http://plain.example/", Ok(()));
    // The name may resolve to an allowed address; check_address decides.
    check(&policy, "http://other.example/", Ok(()));
}

#[test]
fn addresses_that_names_resolve_to() {
    let policy = policy(&["10.0.0.0/8", "hooks.internal"], &["hooks.internal"]);
    let check = |scheme, host: &str, address: &str, expected: Result<(), Refusal>| {
        let checked = policy.check_address(scheme, host, address.parse().unwrap());
        assert_eq!(checked, expected, "{host} {address}");
    };
    let (https, http) = (Scheme::Https, Scheme::Http);
    check(https, "a.example", "8.8.8.8", Ok(()));
    check(http, "a.example", "8.8.8.8", Err(Refusal::Plaintext));
    check(https, "a.example", "10.0.0.1", Ok(()));
    check(https, "a.example", "127.0.0.1", Err(Refusal::SpecialAddress));
    check(https, "a.example", "::ffff:127.0.0.1", Err(Refusal::SpecialAddress));
    check(https, "hooks.internal", "127.0.0.1", Ok(()));
    check(http, "hooks.internal", "192.168.0.1", Ok(()));
    check(http, "a.hooks.internal", "192.168.0.1", Err(Refusal::SpecialAddress));
}
