//! Token counts on one core without a server: one word without a blank, which a caller may send, compared with words.

use std::time::Instant;

use rand::RngExt as _;

use crate::Plan;
use crate::latency::{Latencies, Measure};
use crate::report::{Comparison, Round, Threshold};
use crate::rounds::p50_verdict;

pub(super) const TITLE: &str = "token counts";
/// Times as many words of the same bytes: nobody makes a count slower by leaving out the blanks.
const P50: Threshold = Threshold::AtMost(1.5);
const TEXT_BYTES: u32 = 1_000_000;
/// Bytes of a word, with its blank. Random words hardly repeat.
const WORD_BYTES: u32 = 8;
const COUNTS: u32 = 5;

pub(super) fn measure(plan: &Plan) -> anyhow::Result<Comparison> {
    tokens::load();
    let (words, word) = (letters(WORD_BYTES), letters(TEXT_BYTES));
    let round = || Ok(Round::of(Some(count(&words)?), count(&word)?));
    let rounds = (0..plan.rounds).map(|_| round()).collect::<anyhow::Result<Vec<Round>>>()?;
    Ok(Comparison {
        title: "token counts of one long word".to_owned(),
        load: format!("{TEXT_BYTES} random letters, one core, no server"),
        unit: "counts",
        base: "words",
        system: "one word",
        verdicts: p50_verdict(&rounds, "p50 / words", P50),
        rounds,
        ..Comparison::default()
    })
}

fn count(text: &str) -> anyhow::Result<Measure> {
    let mut latencies = Latencies::new()?;
    for _ in 0..COUNTS {
        let start = Instant::now();
        anyhow::ensure!(tokens::count_text(text) > 0, "no tokens");
        latencies.add(start.elapsed());
    }
    Ok(latencies.measure_serial())
}

/// Random letters with a blank at each multiple of `word_bytes`.
fn letters(word_bytes: u32) -> String {
    let mut letters = rand::rng();
    let letter = |place: u32| {
        if place.is_multiple_of(word_bytes) { ' ' } else { char::from(letters.random_range(b'a'..=b'z')) }
    };
    (0..TEXT_BYTES).map(letter).collect()
}
