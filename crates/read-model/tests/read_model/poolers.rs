//! Reads and writes through poolers, which are other programs: `PgBouncer` and its like.

use futures::future::join_all;
use read_model::schemas::SchemasLock;
use read_model::{ReadModel, ReadModelConfig, SchemaName, conversation};

use crate::fixture::{Author, Projection, access, execute};
use crate::pooler::{Behaviour, Mode, Options, through_pooler};

/// What poolers that keep no settings answer.
const SEPARATED: &str = "is a pooler that does not keep the settings of a transaction (";
const SHARED: &str = "is a pooler that passes startup options to sessions that several connections share";

/// A read model of an empty database through a pooler, and one without it, with the URL of the database.
async fn models(behaviour: Behaviour) -> (ReadModel, ReadModel, String) {
    let url = devstack::test::database().await.url;
    let pooled = through_pooler(&url, behaviour).await;
    let model = |url: &str| ReadModel::connect_lazy(&ReadModelConfig::new(url)).unwrap();
    (model(&pooled), model(&url), url)
}

fn behaviour(options: Options, mode: Mode) -> Behaviour {
    Behaviour { options, mode, version: None }
}

/// Projects two conversations of `acme`, and reads them with several connections at once, each for two tenants in turn.
async fn check_reads_and_writes(behaviour: Behaviour) {
    let (pooled, direct, url) = models(behaviour).await;
    direct.migrate().await.unwrap();
    pooled.migrate().await.unwrap();
    pooled.check_writable().await.unwrap();
    let mut projection = Projection::of(pooled.in_schema(SchemaName::FIRST)).await;
    let (mut one, mut other) = (Author::new("one"), Author::new("other"));
    let items = vec![one.begin(1), other.begin(2), one.say(3, "hello"), other.say(4, "hello")];
    projection.apply(items).await;
    let read = async |author: &Author, tenant: &str| {
        let read = conversation(&pooled, &access(tenant), &author.key.conversation).await;
        read.unwrap().map(|conversation| conversation.head.version.0)
    };
    let reads = (0..40).map(async |turn| {
        let author = if turn % 2 == 0 { &one } else { &other };
        (read(author, "acme").await, read(author, "stranger").await)
    });
    let found = join_all(reads).await;
    assert!(found.iter().all(|found| *found == (Some(2), None)), "{behaviour:?}: {found:?}");
    // Only the reader role has policies: rows that it may not see are hidden.
    execute(&url, "ALTER POLICY tenant ON conversations_v1.conversation USING (false)").await;
    let hidden = join_all((0..20).map(|_| read(&one, "acme"))).await;
    assert!(hidden.iter().all(Option::is_none), "{behaviour:?}: a session has another role");
}

#[tokio::test]
async fn sessions_of_poolers_have_the_settings() {
    for options in [Options::Refused, Options::Dropped] {
        for mode in [Mode::Session, Mode::Transaction] {
            check_reads_and_writes(behaviour(options, mode)).await;
        }
    }
    check_reads_and_writes(behaviour(Options::Passed, Mode::Session)).await;
}

#[tokio::test]
async fn a_pooler_that_keeps_no_settings_is_refused() {
    for (options, mode, expected) in [
        (Options::Refused, Mode::Statement, SEPARATED),
        (Options::Dropped, Mode::Statement, SEPARATED),
        (Options::Passed, Mode::Statement, SHARED),
        (Options::Passed, Mode::Transaction, SHARED),
    ] {
        let (pooled, direct, _) = models(behaviour(options, mode)).await;
        direct.migrate().await.unwrap();
        let read = conversation(&pooled, &access("acme"), &Author::new("c").key.conversation).await;
        for error in [read.unwrap_err(), pooled.check().await.unwrap_err(), pooled.migrate().await.unwrap_err()] {
            let text = error.to_string();
            let is_named = text.contains(expected) && text.contains("pool_mode");
            assert!(is_named && error.is_unavailable(), "{options:?} {mode:?}: {text}");
        }
    }
}

#[tokio::test]
async fn migrations_and_rebuilds_need_a_direct_connection() {
    let (pooled, direct, _) = models(behaviour(Options::Refused, Mode::Transaction)).await;
    let refused = |outcome: Option<read_model::ReadModelError>| {
        let text = outcome.unwrap().to_string();
        assert!(text.contains("migrations and rebuilds need a connection to Postgres itself"), "{text}");
    };
    refused(pooled.migrate().await.err());
    direct.migrate().await.unwrap();
    pooled.migrate().await.unwrap();
    refused(SchemasLock::take(&pooled).await.err());
}

#[tokio::test]
async fn an_old_server_is_refused() {
    let old = Behaviour { version: Some(*b"15"), ..behaviour(Options::Passed, Mode::Session) };
    let (pooled, ..) = models(old).await;
    for error in [pooled.migrate().await.unwrap_err(), pooled.check().await.unwrap_err()] {
        let text = error.to_string();
        let is_named = text.contains(" is version 15.") && text.ends_with("upgrade it to Postgres 16, 17 or 18");
        assert!(is_named && error.is_unavailable(), "{text}");
    }
}
