//! Speed of the search: projection rates, sizes, and latencies in one tenant of 200. Run with `SEARCH_MESSAGES=1000000 cargo test
//! --release -p read-model --test read_model -- --ignored --nocapture search_speed`.

use std::time::{Duration, Instant};

use domain::{AgentId, Fact, TenantId};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use read_model::projections::conversations::Item;
use read_model::queries::search::{DocumentQuery, DocumentScope, documents, term_key};
use search::{Matcher, Query};
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};

use crate::fixture::{Author, DurableServer, Projection, access, message};
use crate::search::Search;

const TENANTS: usize = 200;
const EVENTS_PER_COMMIT: usize = 100;
const COMMITS_PER_BATCH: usize = 10;
const WORDS_PER_MESSAGE: usize = 30;
/// Words, the more frequent the lower their number.
const VOCABULARY: f64 = 50_000.0;
const QUERIES: usize = 200;
const MESSAGES: usize = 20_000;

/// A text of frequent and rare words; every text contains `the`, and one word of its own.
fn text(random: &mut StdRng, number: usize) -> String {
    let mut words = vec![format!("the unique{number}")];
    for _ in 0..WORDS_PER_MESSAGE {
        let rank = VOCABULARY.powf(random.random_range(0.0..1.0));
        words.push(format!("word{rank:.0}"));
    }
    words.join(" ")
}

fn tenant(number: usize) -> String {
    format!("tenant{number}")
}

/// The commits of the next batch: each begins or continues a conversation of another tenant.
fn batch(random: &mut StdRng, sequence: &mut u64, number: &mut usize) -> Vec<Item> {
    let commit = |_| {
        let id = format!("c{sequence}");
        let mut author = Author::new(&id);
        let of = (*number / EVENTS_PER_COMMIT) % TENANTS;
        author.key.tenant = TenantId::parse(tenant(of)).unwrap();
        let texts = (*number..*number + EVENTS_PER_COMMIT).map(|number| text(random, number));
        let mut facts = vec![Fact::from(author.created.clone())];
        facts.extend(texts.map(|text| message(&text)));
        *number += EVENTS_PER_COMMIT;
        *sequence += 1;
        author.commit(*sequence, facts)
    };
    (0..COMMITS_PER_BATCH).map(commit).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn search_speed() {
    let messages = std::env::var("SEARCH_MESSAGES").ok();
    let messages = messages.and_then(|number| number.parse().ok());
    let messages: usize = messages.unwrap_or(MESSAGES);
    let server = DurableServer::start().await;
    let url = server.database().await;
    let mut search = Search::at(&url).await;
    let mut random = StdRng::seed_from_u64(1);
    let (mut sequence, mut number) = (0, 0);
    let (mut rows, mut indexed) = (Duration::ZERO, Duration::ZERO);
    while number < messages {
        let items = batch(&mut random, &mut sequence, &mut number);
        let began = Instant::now();
        search.rows.apply(items.clone()).await;
        rows += began.elapsed();
        let began = Instant::now();
        search.index(items).await;
        indexed += began.elapsed();
    }
    let rate = |time: Duration| f64::from(u32::try_from(messages).unwrap()) / time.as_secs_f64();
    println!(
        "{messages} messages: rows {:.0}/s, documents {:.0}/s, both by one worker {:.0}/s, ratio {:.2}",
        rate(rows),
        rate(indexed),
        rate(rows + indexed),
        rows.as_secs_f64() / (rows + indexed).as_secs_f64(),
    );
    sizes(&url).await;
    for (name, text) in [
        ("one match", "unique{}"),
        ("a word in every message", "the"),
        ("a frequent word", "word3"),
        ("two words", "word7 word20"),
        ("a phrase", "\"word2 word3\""),
        ("a filter and a word", "role:user word100"),
        ("an exclusion", "word50 -word2"),
    ] {
        latency(&search.rows, (name, text), messages).await;
    }
    server.stop().await;
}

async fn sizes(url: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    connection.execute("VACUUM ANALYZE").await.unwrap();
    let sql = "SELECT pg_size_pretty(pg_total_relation_size('conversations_v1.event')),
                      pg_size_pretty(pg_table_size('search_v1.document')),
                      pg_size_pretty(pg_relation_size('search_v1.document_by_term')),
                      pg_size_pretty(pg_indexes_size('search_v1.document')),
                      pg_size_pretty((SELECT sum(octet_length(body)) FROM conversations_v1.event))";
    let row = connection.fetch_one(sql).await.unwrap();
    let size = |index: usize| row.get::<String, _>(index);
    println!(
        "events {} (bodies {}), documents {}, index of terms {}, all indexes {}",
        size(0),
        size(4),
        size(1),
        size(2),
        size(3)
    );
}

async fn latency(rows: &Projection, (name, text): (&str, &str), messages: usize) {
    let mut random = StdRng::seed_from_u64(2);
    let (mut times, mut results) = (Vec::new(), 0);
    for _ in 0..QUERIES {
        let number = random.random_range(0..messages);
        let of = access(&tenant((number / EVENTS_PER_COMMIT) % TENANTS));
        let query = Query::parse(&text.replace("{}", &number.to_string())).unwrap();
        let began = Instant::now();
        let key = term_key(&rows.model, &of).await.unwrap().unwrap();
        let wanted = DocumentQuery {
            terms: key.of_query(&query, &[]),
            scope: DocumentScope {
                agents: vec![AgentId::parse("support").unwrap()],
                owner: None,
            },
            recorded_after: None,
            recorded_before: None,
            after: None,
            limit: 21,
        };
        let found = documents(&rows.model, &of, &wanted).await.unwrap();
        let matcher = Matcher::new(&query, &[]);
        let events = found.documents.iter().filter_map(|one| one.event.as_ref());
        let texts = events.filter_map(search::Document::of_event);
        results += texts
            .filter(|one| matcher.find(&one.text).is_some())
            .count();
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let ms = |part: usize| times[times.len() * part / 100].as_secs_f64() * 1_000.0;
    println!(
        "{name}: p50 {:.1} ms, p95 {:.1} ms, {:.1} results a page",
        ms(50),
        ms(95),
        f64::from(u32::try_from(results).unwrap()) / f64::from(u32::try_from(QUERIES).unwrap())
    );
}
