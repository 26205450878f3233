//! Speed of the search: projection rates, sizes, and latencies in one tenant of 200. Run with `SEARCH_MESSAGES=1000000 cargo test
//! --release --workspace --test read_model -- --ignored --nocapture search_speed`. `SEARCH_ROUNDS` repeats the queries, `TMPDIR`
//! chooses the folder of the database, and `SEARCH_URL` takes one that a run which still repeats its queries has filled.

use std::time::{Duration, Instant};

use domain::event::{ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
use domain::{AgentId, CallId, Fact, JsonText, Owner, SessionId, TenantId, ToolName};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use read_model::projections::conversations::Item;
use read_model::queries::search::{DocumentQuery, DocumentScope, documents, term_key};
use search::{Matcher, Query};
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};

use crate::fixture::{Author, DurableServer, Projection, access, message};
use crate::search::{Search, index};

const TENANTS: usize = 200;
const EVENTS_PER_COMMIT: usize = 100;
/// The projector's batches: rows of conversations, and of the search.
const ROWS_PER_BATCH: usize = 8_000;
const DOCUMENTS_PER_BATCH: usize = 4_000;
const WORDS_PER_MESSAGE: usize = 30;
/// Words, the more frequent the lower their number.
const VOCABULARY: f64 = 50_000.0;
/// One message in so many has a Chinese sentence; one event in so many is a call of a tool or its result.
const CHINESE_EVERY: usize = 50;
const TOOLS_EVERY: usize = 20;
/// Conversations in turn belong to so many owners.
const OWNERS: usize = 10_000;
const QUERIES: usize = 400;
const MESSAGES: usize = 20_000;

/// A measured query: its name, its text, and whether it is about one owner and about the second page.
#[derive(Debug, Clone, Copy)]
struct Measured {
    name: &'static str,
    text: &'static str,
    is_of_owner: bool,
    is_second_page: bool,
}

const MEASURED: [Measured; 17] = [
    measured("one match", "unique{}"),
    measured("rare word (0 to 3 matches)", "word{rare}"),
    measured("medium word", "word500"),
    measured("common word", "word3"),
    measured("word in every message", "the"),
    second("word in every message, 2nd page", "the"),
    second("medium word, 2nd page", "word500"),
    measured("two words", "word7 word20"),
    measured("two medium words", "word300 word500"),
    measured("phrase", "\"word2 word3\""),
    measured("exclusion", "word50 -word2"),
    measured("agent and word", "agent:support word100"),
    measured("role and word", "role:user word100"),
    measured("tool and word", "tool:find_order word30"),
    measured("time and word", "word100 after:2023-11-15 before:2023-12-30"),
    measured("Chinese", "包裹"),
    Measured { is_of_owner: true, ..measured("owner and word", "word20") },
];

const fn measured(name: &'static str, text: &'static str) -> Measured {
    Measured { name, text, is_of_owner: false, is_second_page: false }
}

const fn second(name: &'static str, text: &'static str) -> Measured {
    Measured { is_second_page: true, ..measured(name, text) }
}

/// A text of frequent and rare words; every text contains `the`, and one word of its own.
fn text(random: &mut StdRng, number: usize) -> String {
    let mut words = vec![format!("the unique{number}")];
    for _ in 0..WORDS_PER_MESSAGE {
        let rank = VOCABULARY.powf(random.random_range(0.0..1.0));
        words.push(format!("word{rank:.0}"));
    }
    if number.is_multiple_of(CHINESE_EVERY) {
        words.push("我的包裹在哪里？请告诉我什么时候能收到。".to_owned());
    }
    words.join(" ")
}

/// The event of a number: a message, or a call of a tool, or its result.
fn fact(random: &mut StdRng, number: usize) -> Fact {
    let text = text(random, number);
    let call = CallId::parse(format!("call{}", number / TOOLS_EVERY)).unwrap();
    let tool = ToolName::parse("find_order").unwrap();
    let json = || JsonText::parse(format!(r#"{{"query": "{text}"}}"#)).unwrap();
    match number % TOOLS_EVERY {
        0 => Fact::ToolCalled(ToolCalled::new(call, tool, json())),
        1 => Fact::ToolReturned(ToolReturned {
            call_id: call,
            tool_name: Some(tool),
            output: ToolOutput::Json(json()),
            outcome: ToolOutcome::Succeeded,
        }),
        _ => message(&text),
    }
}

fn tenant(number: usize) -> String {
    format!("tenant{number}")
}

/// The next commits: each begins a conversation of another tenant.
struct Source {
    random: StdRng,
    sequence: u64,
    number: usize,
}

impl Source {
    fn next(&mut self, events: usize) -> Vec<Item> {
        (0..events / EVENTS_PER_COMMIT).map(|_| self.commit()).collect()
    }

    fn commit(&mut self) -> Item {
        // As long as those of applications.
        let mut author = Author::new(&format!("0190c3b2-0000-7000-8000-{:012}", self.sequence));
        let first = self.number;
        let conversation = first / EVENTS_PER_COMMIT;
        author.key.tenant = TenantId::parse(tenant(conversation % TENANTS)).unwrap();
        author.created.owner = Owner::Session(owner(conversation));
        let mut facts = vec![Fact::from(author.created.clone())];
        let numbers = first..first + EVENTS_PER_COMMIT;
        facts.extend(numbers.map(|number| fact(&mut self.random, number)));
        self.number += EVENTS_PER_COMMIT;
        self.sequence += 1;
        author.commit(self.sequence, facts)
    }
}

fn owner(conversation: usize) -> SessionId {
    SessionId::parse(format!("session-{}", conversation % OWNERS)).unwrap()
}

/// Times of rows and documents, alone and at the same time.
#[derive(Debug, Default)]
struct Times {
    rows: Duration,
    documents: Duration,
    alone: usize,
    both: Duration,
    together: usize,
}

impl Times {
    fn print(&self) {
        let rate =
            |events: usize, time: Duration| f64::from(u32::try_from(events).unwrap()) / time.as_secs_f64().max(1e-9);
        let rows = rate(self.alone, self.rows);
        let both = rate(self.together, self.both);
        println!(
            "one worker each: rows alone {rows:.0}/s; documents alone {:.0}/s; both at the same time {both:.0}/s, {:.2} of rows alone; one after the other {:.2}",
            rate(self.alone, self.documents),
            both / rows,
            self.rows.as_secs_f64() / (self.rows + self.documents).as_secs_f64(),
        );
    }
}

/// A number of the environment, or a default.
fn number(name: &str, default: usize) -> usize {
    let value = std::env::var(name).ok();
    value.and_then(|number| number.parse().ok()).unwrap_or(default)
}

async fn index_all(documents: &mut Projection, items: Vec<Item>) {
    for batch in items.chunks(DOCUMENTS_PER_BATCH / EVENTS_PER_COMMIT) {
        index(documents, batch.to_vec()).await;
    }
}

/// Fills a database, or takes one that an earlier run has filled.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn search_speed() {
    let messages = number("SEARCH_MESSAGES", MESSAGES);
    if let Ok(url) = std::env::var("SEARCH_URL") {
        let search = Search::at(&url).await;
        return queries(&search.rows, messages).await;
    }
    let server = DurableServer::start().await;
    let url = server.database().await;
    println!("{url}");
    let (search, messages) = fill(Search::at(&url).await, messages).await;
    sizes(&url).await;
    queries(&search.rows, messages).await;
    server.stop().await;
}

/// Writes at least so many messages; returns their number.
async fn fill(mut search: Search, messages: usize) -> (Search, usize) {
    let mut source = Source { random: StdRng::seed_from_u64(1), sequence: 0, number: 0 };
    let mut times = Times::default();
    while source.number < messages {
        let items = source.next(ROWS_PER_BATCH);
        let began = Instant::now();
        search.rows.apply(items.clone()).await;
        times.rows += began.elapsed();
        let began = Instant::now();
        index_all(&mut search.documents, items).await;
        times.documents += began.elapsed();
        times.alone += ROWS_PER_BATCH;
        let items = source.next(ROWS_PER_BATCH);
        let began = Instant::now();
        search = both_at_once(search, items).await;
        times.both += began.elapsed();
        times.together += ROWS_PER_BATCH;
        if source.number.is_multiple_of(800_000) {
            println!("{} messages", source.number);
            times.print();
        }
    }
    times.print();
    (search, source.number)
}

/// Writes rows and documents, in a task each as the projector does.
async fn both_at_once(mut search: Search, items: Vec<Item>) -> Search {
    let (mut rows, mut documents) = (search.rows, search.documents);
    let copy = items.clone();
    let rows = tokio::spawn(async move {
        rows.apply(copy).await;
        rows
    });
    let documents = tokio::spawn(async move {
        index_all(&mut documents, items).await;
        documents
    });
    search.rows = rows.await.unwrap();
    search.documents = documents.await.unwrap();
    search
}

async fn queries(rows: &Projection, messages: usize) {
    for round in 0..number("SEARCH_ROUNDS", 1) {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        println!("round {round}, load average {load}");
        for measured in MEASURED {
            latency(rows, measured, messages).await;
        }
    }
}

async fn sizes(url: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    connection.execute("VACUUM ANALYZE").await.unwrap();
    let sql = "SELECT pg_size_pretty(pg_total_relation_size('conversations_v1.event')),
                      pg_size_pretty((SELECT sum(octet_length(body)) FROM conversations_v1.event)),
                      pg_size_pretty(pg_table_size('search_v1.document')),
                      pg_size_pretty(pg_relation_size('search_v1.document_by_block')),
                      pg_size_pretty(pg_relation_size('search_v1.document_pkey')),
                      pg_size_pretty(pg_total_relation_size('search_v1.block')),
                      (SELECT count(*)::text FROM search_v1.block)";
    let row = connection.fetch_one(sql).await.unwrap();
    let size = |index: usize| row.get::<String, _>(index);
    println!(
        "events {} (bodies {}), documents {}, by block {}, by conversation {}, blocks {} ({})",
        size(0),
        size(1),
        size(2),
        size(3),
        size(4),
        size(5),
        size(6),
    );
}

/// The query of a random tenant, and its tenant.
fn query(random: &mut StdRng, measured: Measured, messages: usize) -> (String, usize) {
    let number = random.random_range(0..messages);
    let rare = format!("{}", 40_000 + number % 10_000);
    let text = measured.text.replace("{}", &number.to_string());
    (text.replace("{rare}", &rare), number)
}

async fn latency(rows: &Projection, measured: Measured, messages: usize) {
    let mut random = StdRng::seed_from_u64(2);
    let (mut times, mut results, mut counts) = (Vec::new(), 0, 0);
    for _ in 0..QUERIES {
        let (text, number) = query(&mut random, measured, messages);
        let conversation = number / EVENTS_PER_COMMIT;
        let of = access(&tenant(conversation % TENANTS));
        let query = Query::parse(&text).unwrap();
        let key = term_key(&rows.model, &of).await.unwrap().unwrap();
        let mut wanted = DocumentQuery {
            terms: key.of_query(&query, &[]),
            scope: DocumentScope {
                agents: vec![AgentId::parse("support").unwrap()],
                owner: measured.is_of_owner.then(|| Owner::Session(owner(conversation))),
            },
            recorded_after: query.filters.after,
            recorded_before: query.filters.before,
            after: None,
            limit: 21,
        };
        if measured.is_second_page {
            let first = documents(&rows.model, &of, &wanted).await.unwrap();
            wanted.after = first.documents.last().map(|last| last.cursor.clone());
        }
        let began = Instant::now();
        let found = documents(&rows.model, &of, &wanted).await.unwrap();
        let matcher = Matcher::new(&query, &[]);
        let events = found.documents.iter().filter_map(|one| one.event.as_ref());
        let texts = events.filter_map(search::Document::of_event);
        results += texts.filter(|one| matcher.find(&one.text).is_some()).count();
        times.push(began.elapsed());
        counts += usize::try_from(found.candidates.count).unwrap();
    }
    print(measured, times, [results, counts]);
}

fn print(measured: Measured, mut times: Vec<Duration>, totals: [usize; 2]) {
    times.sort_unstable();
    let ms = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1_000.0;
    let each =
        totals.map(|total| f64::from(u32::try_from(total).unwrap()) / f64::from(u32::try_from(QUERIES).unwrap()));
    println!(
        "{}: p50 {:.1} ms, p95 {:.1} ms, p99 {:.1} ms, max {:.1} ms; {:.1} results a page, {:.0} counted",
        measured.name,
        ms(50),
        ms(95),
        ms(99),
        ms(100),
        each[0],
        each[1],
    );
}
