//! The command line: validation of TLS files, and calls over TLS.

use tests::program;

use super::system::System;

async fn check(words: &[&str], variables: &[(&str, &str)], (code, message): (i32, &str)) {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let variables: Vec<_> = variables.iter().map(own).collect();
    let ended = program!().run(words.iter().copied(), &variables).await;
    assert_eq!(ended.code, Some(code), "{words:?}: {ended:?}");
    let all = ended.stdout.clone() + &ended.stderr;
    assert!(all.contains(message), "{words:?}: {ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_call_over_tls() {
    let system = System::start().await;
    system.operator().await.agent("acme", "support").await;
    let url = system.writer_url(&system.files());
    let variables = [("HANSARD_WRITER_URL", url.as_str()), ("HANSARD_TOKEN", system.stack.token().await)];
    let listed = (0, "acme");
    check(&["tenant", "list", "--json"], &variables, listed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_validated_before_the_start() {
    let system = System::start().await;
    let (ca, own) = (system.authority.ca(), &system.own);
    let path = |path: &std::path::Path| path.display().to_string();
    let (ca, cert, key) = (path(&ca), path(&own.cert), path(&own.key));
    let other = path(&system.authority.sign("other").key);
    let check_role = async |role: &'static str, variables: &[(&str, &str)], expected: (i32, &str)| {
        check(&[role, "--check"], variables, expected).await;
    };
    let (set_cert, set_key) = ("HANSARD_GRPC__TLS__CERT", "HANSARD_GRPC__TLS__KEY");
    let set_ca = "HANSARD_GRPC__TLS__CLIENT_CA";
    let all = [(set_cert, &*cert), (set_key, &*key), (set_ca, &*ca)];
    check_role("writer", &all, (0, "")).await;
    let alone = [(set_cert, &*cert)];
    check_role("writer", &alone, (2, "`grpc.tls.key` (default) is missing")).await;
    let unfit = [(set_cert, &*cert), (set_key, &*other)];
    check_role("writer", &unfit, (2, "does not match `key`")).await;
    let swapped = [(set_cert, &*key), (set_key, &*key)];
    check_role("writer", &swapped, (2, "has no certificate in PEM format")).await;
    let nowhere = [("HANSARD_HTTP__SERVER__TLS__CERT", "/nowhere")];
    check_role("gateway", &nowhere, (2, "http.server.tls")).await;
    let url = [("HANSARD_WRITER_URL", "https://writer:7301?ca=/nowhere")];
    check_role("gateway", &url, (2, "/nowhere cannot be read")).await;
    let postgres = "postgres://hansard@postgres/hansard?sslrootcert=/nowhere";
    let postgres = [("HANSARD_READ_MODEL__DATABASE_URL", postgres)];
    check_role("projector", &postgres, (2, "names /nowhere as sslrootcert, which cannot be read")).await;
    let nats = [("HANSARD_RECORD__NATS_URL", "tls://nats:4222?ca=/nowhere")];
    check_role("projector", &nats, (2, "names /nowhere, which cannot be read")).await;
}
