//! The command line: what it is told of its files, and its calls.

use tests::program;

use super::system::System;

async fn check(words: &[&str], variables: &[(&str, &str)], (code, told): (i32, &str)) {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let variables: Vec<_> = variables.iter().map(own).collect();
    let ended = program!().run(words.iter().copied(), &variables).await;
    assert_eq!(ended.code, Some(code), "{words:?}: {ended:?}");
    let all = ended.stdout.clone() + &ended.stderr;
    assert!(all.contains(told), "{words:?}: {ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_call_over_tls() {
    let system = System::start().await;
    system.operator().await.agent("acme", "support").await;
    let url = system.writer_url(&system.files());
    let variables = [
        ("HANSARD_WRITER_URL", url.as_str()),
        ("HANSARD_TOKEN", system.stack.token().await),
    ];
    let listed = (0, "acme");
    check(&["tenant", "list", "--json"], &variables, listed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_looked_at_before_anything_starts() {
    let system = System::start().await;
    let (ca, own) = (system.authority.ca(), &system.own);
    let path = |path: &std::path::Path| path.display().to_string();
    let (ca, cert, key) = (path(&ca), path(&own.cert), path(&own.key));
    let other = path(&system.authority.sign("other").key);
    let judge = async |role: &'static str, variables: &[(&str, &str)], expected: (i32, &str)| {
        check(&[role, "--check"], variables, expected).await;
    };
    let (set_cert, set_key) = ("HANSARD_GRPC__TLS__CERT", "HANSARD_GRPC__TLS__KEY");
    let set_ca = "HANSARD_GRPC__TLS__CLIENT_CA";
    let all = [(set_cert, &*cert), (set_key, &*key), (set_ca, &*ca)];
    judge("writer", &all, (0, "")).await;
    let alone = [(set_cert, &*cert)];
    judge("writer", &alone, (2, "`grpc.tls.key` (default) is missing")).await;
    let unfit = [(set_cert, &*cert), (set_key, &*other)];
    judge("writer", &unfit, (2, "does not match `key`")).await;
    let swapped = [(set_cert, &*key), (set_key, &*key)];
    judge("writer", &swapped, (2, "has no certificate in PEM format")).await;
    let nowhere = [("HANSARD_HTTP__SERVER__TLS__CERT", "/nowhere")];
    judge("gateway", &nowhere, (2, "http.server.tls")).await;
    let url = [("HANSARD_WRITER_URL", "https://writer:7301?ca=/nowhere")];
    judge("gateway", &url, (2, "/nowhere cannot be read")).await;
    let postgres = "postgres://hansard@postgres/hansard?sslrootcert=/nowhere";
    let postgres = [("HANSARD_READ_MODEL__DATABASE_URL", postgres)];
    judge(
        "projector",
        &postgres,
        (2, "names /nowhere as sslrootcert, which cannot be read"),
    )
    .await;
    let nats = [("HANSARD_RECORD__NATS_URL", "tls://nats:4222?ca=/nowhere")];
    judge(
        "projector",
        &nats,
        (2, "names /nowhere, which cannot be read"),
    )
    .await;
}
