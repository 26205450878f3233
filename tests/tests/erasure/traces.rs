//! The remains of an erasure in the files of NATS and Postgres, searched byte by byte.

use std::io::Write as _;

use devstack::test::files_with;
use domain::{ConversationId, ConversationKey, Sequence, TenantId};
use event_log::{Record, TailBounds};
use tests::checker;
use tests::events::{session, user};
use tests::eventually::eventually;
use tests::parts::text;
use tests::stack::{Setup, Stack};
use uuid::Uuid;

use crate::cli::{conversation, json};

const SECRET: &str = "the-blue-parcel-is-behind-the-oak";
/// Length of a piece that is unique to a stored message.
const NEEDLE_BYTES: usize = 64;

/// A piece from the end of each stored commit: long bodies are stored compressed, without readable text.
async fn stored_pieces(stack: &Stack, key: &ConversationKey) -> Vec<Vec<u8>> {
    let record = Record::open(tests::settings::record(&stack.servers)).await.expect("a record");
    let tail = record.tail(key, Sequence(0), TailBounds::default()).await;
    let commits = tail.expect("commits").commits.into_iter();
    commits.map(|commit| commit.message[commit.message.len().saturating_sub(NEEDLE_BYTES)..].to_vec()).collect()
}

/// How many rows of how many tables contain a text, in text or byte columns.
async fn rows_with(stack: &mut Stack, text: &str) -> usize {
    let url = stack.servers.database_url().to_owned();
    let psql = stack.servers.postgres_mut().tool("psql");
    let sql = "SELECT to_jsonb(t) FROM (SELECT table_schema, table_name FROM information_schema.tables \
               WHERE table_schema LIKE 'conversations%' OR table_schema IN ('hansard', 'search_v1')) AS t";
    let mut found = 0;
    let tables = checker::query(&psql, &url, sql).await.expect("tables");
    assert!(tables.len() > 7, "{tables:?}");
    for table in tables {
        let name = |column: &str| table[column].as_str().expect("a name").to_owned();
        let sql = format!("SELECT to_jsonb(t) FROM {}.{} AS t", name("table_schema"), name("table_name"));
        let rows = checker::query(&psql, &url, &sql).await.expect("rows");
        let in_hex = hex::encode(text);
        let has = |row: &&checker::Row| {
            let row = serde_json::to_string(row).expect("JSON");
            row.contains(text) || row.contains(&in_hex)
        };
        found += rows.iter().filter(has).count();
    }
    found
}

/// Checks that the files of the search contain no text, and no word of it, while the text is found.
async fn check_search_files(stack: &mut Stack) {
    const DOCUMENTS: &str = "SELECT to_jsonb(t) FROM (SELECT version FROM search_v1.document) AS t";
    const PATHS: &str = "SELECT to_jsonb(t) FROM (SELECT pg_relation_filepath(class.oid) AS path FROM pg_class AS class \
                         JOIN pg_class AS of ON of.oid = class.oid OR of.reltoastrelid = class.oid \
                         JOIN pg_namespace AS schema ON schema.oid = of.relnamespace \
                         WHERE schema.nspname = 'search_v1' AND class.relkind IN ('r', 'i', 't')) AS t";
    let url = stack.servers.database_url().to_owned();
    let tool = stack.servers.postgres_mut().tool("psql");
    eventually("documents of three messages", || async {
        let documents = checker::query(&tool, &url, DOCUMENTS).await;
        (documents.expect("rows").len() >= 3).then_some(())
    })
    .await;
    psql(stack, "CHECKPOINT").await;
    let rows = checker::query(&tool, &url, PATHS).await.expect("paths");
    let paths: Vec<&str> = rows.iter().map(|row| row["path"].as_str().expect("a path")).collect();
    assert!(paths.len() >= 8, "{paths:?}");
    for needle in [SECRET, "parcel"] {
        let found = files_with(stack.servers.postgres_mut().folder(), needle.as_bytes());
        assert!(!found.is_empty(), "the rows contain {needle}");
        let of_search = |file: &&std::path::PathBuf| paths.iter().any(|path| file.ends_with(path));
        let of_search: Vec<_> = found.iter().filter(of_search).collect();
        assert!(of_search.is_empty(), "{needle}: {of_search:?}");
    }
}

/// Pieces of the filters of the search, which are made of the hashes of words.
async fn filter_pieces(stack: &mut Stack) -> Vec<Vec<u8>> {
    let sql = format!(
        "SELECT to_jsonb(t) FROM (SELECT encode(substring(filter FROM 1 FOR {NEEDLE_BYTES}), 'hex') AS piece \
         FROM search_v1.block WHERE octet_length(filter) >= {NEEDLE_BYTES}) AS t"
    );
    let url = stack.servers.database_url().to_owned();
    let tool = stack.servers.postgres_mut().tool("psql");
    let rows = checker::query(&tool, &url, &sql).await.expect("filters");
    let pieces = rows.iter().map(|row| row["piece"].as_str());
    pieces.map(|piece| hex::decode(piece.expect("a piece")).expect("hex")).collect()
}

async fn psql(stack: &mut Stack, sql: &str) {
    let url = stack.servers.database_url().to_owned();
    let psql = stack.servers.postgres_mut().tool("psql");
    checker::query(&psql, &url, sql).await.expect("no rows");
}

/// The files of Postgres that contain the text: tables and indexes, and write-ahead log.
fn files(stack: &mut Stack) -> (usize, usize) {
    files_having(stack, SECRET.as_bytes())
}

/// The number of files of tables and indexes that contain these bytes.
fn table_files(stack: &mut Stack, bytes: &[u8]) -> usize {
    files_having(stack, bytes).0
}

fn files_having(stack: &mut Stack, bytes: &[u8]) -> (usize, usize) {
    let found = files_with(stack.servers.postgres_mut().folder(), bytes);
    let in_log = |file: &&std::path::PathBuf| file.to_string_lossy().contains("pg_wal");
    let log = found.iter().filter(in_log).count();
    (found.len() - log, log)
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_texts_are_in_no_file_and_no_row() {
    let mut stack = Setup::tasks().with_own_postgres().start().await;
    let agent = stack.agent("acme", "support").await;
    let lines: Vec<String> = (0..200).map(|n| format!("{SECRET} {n} {}", Uuid::new_v4())).collect();
    let long = lines.join(" ");
    conversation(&agent, "c", session("s"), &[SECRET.to_owned(), long]).await;
    let run = Uuid::now_v7().to_string();
    let question = vec![user(format!("again, {SECRET}"))];
    agent.try_start(agent.start_request("c", &run, question)).await.expect("a run");
    let parts = agent.parts_request("c", &run, 0, vec![text(1, SECRET)]);
    agent.try_parts(parts).await.expect("parts");
    agent.wait_for_rows("c", 5).await;
    // The planner's statistics contain values, too.
    psql(&mut stack, "ANALYZE").await;
    let key = ConversationKey {
        tenant: TenantId::parse("acme").expect("an id"),
        conversation: ConversationId::parse("c").expect("an id"),
    };
    let mut needles = stored_pieces(&stack, &key).await;
    needles.push(SECRET.as_bytes().to_vec());
    let nats = stack.servers.nats().folder().to_owned();
    assert_eq!(needles.len(), 5);
    assert!(needles.iter().all(|needle| !files_with(&nats, needle).is_empty()));
    assert!(rows_with(&mut stack, SECRET).await >= 3);

    check_search_files(&mut stack).await;
    psql(&mut stack, "CHECKPOINT").await;
    let filters = filter_pieces(&mut stack).await;
    assert!(!filters.is_empty(), "the long text has a filter of its own");
    assert!(filters.iter().all(|piece| table_files(&mut stack, piece) > 0));
    let before = files(&mut stack);
    let report = json(&stack, "erase conversation c --tenant acme --json").await;
    assert_eq!((&report["commits"], &report["parts"]), (&4.into(), &1.into()));
    for needle in &needles {
        assert!(files_with(&nats, needle).is_empty(), "{needle:?}");
    }
    assert_eq!(rows_with(&mut stack, SECRET).await, 0);
    assert_eq!(filter_pieces(&mut stack).await, [[0_u8; 0]; 0]);
    in_postgres(&mut stack, before).await;
    // The tables were rewritten.
    assert!(filters.iter().all(|piece| table_files(&mut stack, piece) == 0));
}

/// Measures how long Postgres's files contain erased texts, as documented in docs/how-to/erase.md.
async fn in_postgres(stack: &mut Stack, before: (usize, usize)) {
    let mut measured = vec![("before", before)];
    for (title, statements) in [
        ("erased", ["CHECKPOINT"].as_slice()),
        ("VACUUM", &["VACUUM", "CHECKPOINT"]),
        ("VACUUM FULL", &["VACUUM FULL", "CHECKPOINT"]),
        ("a new log file", &["SELECT to_jsonb(t) FROM (SELECT pg_switch_wal()::text) AS t", "CHECKPOINT"]),
    ] {
        for sql in statements {
            psql(stack, sql).await;
        }
        measured.push((title, files(stack)));
    }
    let line = format!("files of Postgres that hold the text (tables, log): {measured:?}\n");
    // Printed for runs with `--nocapture`; the counts before the rewrite of the tables depend on Postgres.
    let _closed = std::io::stderr().lock().write_all(line.as_bytes());
    assert!(before.0 > 0 && before.1 > 0, "{line}");
    let rewritten = measured.iter().skip_while(|(title, _)| *title != "VACUUM FULL");
    assert!(rewritten.into_iter().all(|(_, (tables, _))| *tables == 0), "{line}");
}
