//! Relevance: how well a text matches, by the numbers of its matches and its length.

use crate::document::Kind;
use crate::matches::Matches;

/// How soon further matches of a clause add little (`k1` of BM25).
const SATURATION: f64 = 1.2;
/// How much long texts lose (`b` of BM25).
const LENGTH_WEIGHT: f64 = 0.75;
/// The length that neither wins nor loses, in tokens.
const USUAL_TOKENS: f64 = 60.0;
/// A title tells more than a message.
const TITLE_WEIGHT: f64 = 2.0;

/// The score of a match, greater is better: BM25 without the rarity of words, which the index does not know.
#[must_use]
pub fn score(kind: Kind, matches: &Matches) -> f64 {
    let length = float(matches.tokens) / USUAL_TOKENS;
    let norm = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length);
    let clauses = matches.counts.iter().map(|count| float(*count));
    let sum: f64 = clauses.map(|count| count * (SATURATION + 1.0) / (count + norm)).sum();
    match kind {
        Kind::Title => sum * TITLE_WEIGHT,
        Kind::Message | Kind::ToolCall | Kind::ToolResult => sum,
    }
}

fn float(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: Kind, counts: &[usize], tokens: usize) -> f64 {
        let matches = Matches { ranges: Vec::new(), counts: counts.to_vec(), tokens };
        score(kind, &matches)
    }

    #[test]
    fn more_matches_in_shorter_texts_win() {
        assert!(of(Kind::Message, &[2], 60) > of(Kind::Message, &[1], 60));
        assert!(of(Kind::Message, &[1], 20) > of(Kind::Message, &[1], 200));
        assert!(of(Kind::Message, &[1, 1], 60) > of(Kind::Message, &[9], 60));
        assert!(of(Kind::Title, &[1], 5) > of(Kind::Message, &[1], 5));
    }
}
