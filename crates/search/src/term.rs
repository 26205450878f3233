//! Terms: what the index contains instead of words.
//!
//! A term is a keyed hash (SipHash-2-4, cut to 32 bits) of a word, a pair of characters, or a tag such as the role. Each tenant
//! has a key of its own. So the index contains no text, also after an erasure, when a database keeps what a deleted row
//! contained; and the terms of one tenant say nothing about those of another.

use std::collections::BTreeSet;
use std::fmt;
use std::hash::Hasher as _;

use siphasher::sip::SipHasher24;

use crate::document::Document;
use crate::language::Language;
use crate::query::{Clause, Query};
use crate::token::{Token, TokenKind, tokens};

/// A term, as the index contains it.
pub type Term = i32;

/// Bytes of a tenant's key.
pub const TERM_KEY_BYTES: usize = 32;
/// Maximum number of terms of a document. Later words of the text are not found.
pub const TERMS_PER_DOCUMENT_MAX: usize = 4_096;
/// Maximum number of terms of a token.
const TERMS_PER_TOKEN_MAX: usize = 2;
/// A document has all its terms when fewer than these are left: they would be sorted for each of them.
const TERMS_PER_SORT_MIN: usize = 64;

/// Bytes of a term's input that are hashed at once: more than most words have.
const HASHED_AT_ONCE_MAX: usize = 64;
/// Bytes of a text for each of its terms: an estimate, for the room that is allocated first.
const BYTES_PER_TERM: usize = 4;

/// The key of a tenant's terms. `Debug` hides it.
pub struct TermKey(SipHasher24);

/// The terms that the index must have for a query. The matches of the index include all matches of the query, and more: see
/// [`crate::matches`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueryTerms {
    /// All of these, words before tags: words are rarer.
    pub all: Vec<Term>,
    /// At least one of each group.
    pub any: Vec<Vec<Term>>,
    /// None of these.
    pub none: Vec<Term>,
}

/// What a term is the hash of.
#[derive(Debug, Clone, Copy)]
enum Space {
    Text,
    Tag,
}

impl fmt::Debug for TermKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TermKey")
    }
}

impl TermKey {
    /// The key of these bytes.
    #[must_use]
    pub fn new(bytes: &[u8; TERM_KEY_BYTES]) -> Self {
        // The hash takes 16 bytes: 122 random bits of a UUID.
        let mut key = [0; TERM_KEY_BYTES / 2];
        key.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
        Self(SipHasher24::new_with_key(&key))
    }

    /// The terms of a document under its agent, ascending and distinct: those of its tags and of its first words.
    #[must_use]
    pub fn of_document(&self, document: &Document, agent: &str, language: Option<Language>) -> Vec<Term> {
        let room = document.text.len() / BYTES_PER_TERM + TERMS_PER_SORT_MIN;
        let mut terms = Vec::with_capacity(room.min(TERMS_PER_DOCUMENT_MAX));
        terms.push(self.tag("agent", agent));
        terms.extend(document.tags().map(|(name, value)| self.tag(name, value)));
        let mut previous: Option<Token<'_>> = None;
        for token in tokens(&document.text) {
            if terms.len() + TERMS_PER_TOKEN_MAX > TERMS_PER_DOCUMENT_MAX {
                make_distinct(&mut terms);
                if terms.len() + TERMS_PER_SORT_MIN > TERMS_PER_DOCUMENT_MAX {
                    break;
                }
            }
            terms.push(self.text(&token.form));
            match (token.kind, language) {
                (TokenKind::Word, Some(language)) => {
                    terms.push(self.text(&language.stem(&token.form)));
                }
                (TokenKind::Word, None) => {}
                (TokenKind::Character, _) => {
                    terms.extend(previous.and_then(|previous| self.pair(&previous, &token)));
                }
            }
            previous = Some(token);
        }
        make_distinct(&mut terms);
        terms
    }

    /// The terms of a query. `languages`: those of the agents that it may find.
    #[must_use]
    pub fn of_query(&self, query: &Query, languages: &[Language]) -> QueryTerms {
        let mut terms = QueryTerms::default();
        for clause in &query.required {
            match self.of_word(clause, languages) {
                Some(forms) if forms.len() > 1 => terms.any.push(forms),
                Some(forms) => terms.all.extend(forms),
                None => terms.all.extend(self.of_phrase(clause)),
            }
        }
        // An excluded phrase is found in the text, and so is an exact word: the index does not tell it from a stem.
        let words = query
            .excluded
            .iter()
            .filter(|clause| !clause.is_exact || languages.is_empty())
            .filter_map(|clause| self.of_word(clause, languages));
        terms.none.extend(words.flatten());
        make_distinct(&mut terms.all);
        make_distinct(&mut terms.none);
        let tags = query.filters.tags();
        terms.all.extend(tags.map(|(name, value)| self.tag(name, value)));
        terms
    }

    /// The term of a tag, such as `role` and `user`.
    #[must_use]
    pub fn tag(&self, name: &str, value: &str) -> Term {
        self.hash(Space::Tag, &[name.as_bytes(), b"\0", value.as_bytes()])
    }

    /// The forms of a clause that is one word; `None`: it is a phrase.
    fn of_word(&self, clause: &Clause, languages: &[Language]) -> Option<Vec<Term>> {
        let [token] = clause.tokens.as_slice() else {
            return None;
        };
        let mut forms = BTreeSet::from([self.text(&token.form)]);
        if token.kind == TokenKind::Word && !clause.is_exact {
            let stems = languages.iter().map(|language| language.stem(&token.form));
            forms.extend(stems.map(|stem| self.text(&stem)));
        }
        Some(forms.into_iter().collect())
    }

    /// The words and pairs of a phrase.
    fn of_phrase<'c>(&'c self, clause: &'c Clause) -> impl Iterator<Item = Term> + 'c {
        let tokens = &clause.tokens;
        let words = tokens.iter().map(|token| self.text(&token.form));
        let pairs = tokens.iter().zip(tokens.iter().skip(1));
        words.chain(pairs.filter_map(|(one, next)| self.pair(one, next)))
    }

    /// The term of two adjoining characters.
    fn pair(&self, one: &Token<'_>, next: &Token<'_>) -> Option<Term> {
        let is_pair = one.kind == TokenKind::Character && next.kind == TokenKind::Character && one.end == next.start;
        let parts = [one.form.as_bytes(), next.form.as_bytes()];
        is_pair.then(|| self.hash(Space::Text, &parts))
    }

    fn text(&self, form: &str) -> Term {
        self.hash(Space::Text, &[form.as_bytes()])
    }

    fn hash(&self, space: Space, parts: &[&[u8]]) -> Term {
        let space: &[u8] = match space {
            Space::Text => b"x",
            Space::Tag => b"t",
        };
        let parts = || std::iter::once(space).chain(parts.iter().copied());
        // A hash of one slice takes half the time of several writes.
        let (mut bytes, mut len) = ([0; HASHED_AT_ONCE_MAX], 0);
        for part in parts() {
            if let Some(to) = bytes.get_mut(len..len + part.len()) {
                to.copy_from_slice(part);
            }
            len += part.len();
        }
        let hash = bytes.get(..len).map_or_else(
            || {
                let mut hasher = self.0;
                parts().for_each(|part| hasher.write(part));
                hasher.finish()
            },
            |bytes| self.0.hash(bytes),
        );
        let [.., a, b, c, d] = hash.to_be_bytes();
        Term::from_be_bytes([a, b, c, d])
    }
}

/// Sorts terms and removes repeated ones.
fn make_distinct(terms: &mut Vec<Term>) {
    terms.sort_unstable();
    terms.dedup();
}

#[cfg(test)]
mod tests {
    use domain::event::Role;
    use proptest::prelude::*;

    use super::*;

    fn key(byte: u8) -> TermKey {
        TermKey::new(&[byte; TERM_KEY_BYTES])
    }

    fn is_found(text: &str, query: &str, language: Option<Language>) -> bool {
        let document = Document::of_message(Role::User, text);
        let terms = key(1).of_document(&document, "support", language);
        let languages: Vec<Language> = language.into_iter().collect();
        let wanted = key(1).of_query(&Query::parse(query).unwrap(), &languages);
        let has = |term: &Term| terms.binary_search(term).is_ok();
        wanted.all.iter().all(has)
            && wanted.any.iter().all(|group| group.iter().any(has))
            && !wanted.none.iter().any(has)
    }

    #[test]
    fn the_index_finds_what_the_query_names() {
        let check = |text: &str, query: &str, expected: bool| {
            assert_eq!(is_found(text, query, None), expected, "{text}: {query}");
        };
        check("Where is my parcel?", "parcel", true);
        check("Where is my parcel?", "PARCEL where", true);
        check("Where is my parcel?", "parcels", false);
        check("Where is my parcel?", "parcel -where", false);
        check("Where is my parcel?", "\"my parcel\"", true);
        check("Where is my parcel?", "role:user", true);
        check("Where is my parcel?", "role:assistant", false);
        check("Where is my parcel?", "agent:support parcel", true);
        check("Where is my parcel?", "agent:sales parcel", false);
        check("我的包裹在哪里", "包裹", true);
        check("我的包裹在哪里", "里", true);
        check("我的包裹在哪里", "裹包", false);
        check("أين طردي؟ طلبتُ كتابًا", "طلبت", true);
    }

    #[test]
    fn stems_are_found_in_both_directions() {
        let check = |text: &str, query: &str, expected: bool| {
            let found = is_found(text, query, Some(Language::English));
            assert_eq!(found, expected, "{text}: {query}");
        };
        check("we refunded it", "refunds", true);
        check("two refunds", "refund", true);
        check("two refunds", "refunds", true);
        check("two refunds", "-refund two", false);
        // The text decides about exact words.
        check("two refunds", "\"refund\"", true);
        check("two refunds", "-\"refund\" two", true);
    }

    /// Stored documents have these terms: they never change.
    #[test]
    fn terms_are_stable() {
        let check = |text: &str, expected: &[Term]| {
            let document = Document::of_message(Role::User, text);
            assert_eq!(key(1).of_document(&document, "a", None), expected, "{text}");
        };
        check("", &[-1_899_116_157, -185_367_434, 1_565_892_820]);
        check(
            "Where is my PARCEL? 42",
            &[
                -1_899_116_157,
                -1_327_656_557,
                -875_325_436,
                -672_248_459,
                -316_165_372,
                -185_367_434,
                1_565_892_820,
                1_999_017_263,
            ],
        );
        check(
            "Crème brûlée 包裹",
            &[
                -1_899_116_157,
                -1_599_276_764,
                -985_367_143,
                -185_367_434,
                967_033_449,
                1_565_892_820,
                1_570_788_546,
                1_658_224_748,
            ],
        );
        check(&"long".repeat(40), &[-1_899_116_157, -185_367_434, 1_125_801_840, 1_565_892_820]);
    }

    #[test]
    fn tenants_share_no_terms() {
        let document = Document::of_message(Role::User, "the same words");
        let terms = |byte| BTreeSet::from_iter(key(byte).of_document(&document, "a", None));
        assert!(terms(1).is_disjoint(&terms(2)));
    }

    #[test]
    fn a_tag_is_no_word() {
        assert_ne!(key(1).tag("", "refund"), key(1).text("refund"));
        assert!(!is_found("role user", "role:assistant", None));
    }

    #[test]
    fn the_terms_of_a_document_are_bounded() {
        let words = |count: usize| {
            let words: Vec<String> = (0..count).map(|n| format!("w{n}")).collect();
            let document = Document::of_message(Role::User, &words.join(" "));
            key(1).of_document(&document, "a", None).len()
        };
        assert_eq!(words(10), 10 + 3);
        assert!(words(TERMS_PER_DOCUMENT_MAX * 2) <= TERMS_PER_DOCUMENT_MAX);
        assert!(words(TERMS_PER_DOCUMENT_MAX * 2) > TERMS_PER_DOCUMENT_MAX - TERMS_PER_SORT_MIN);
        // Repeated words are no further terms.
        let repeated = "again ".repeat(TERMS_PER_DOCUMENT_MAX * 2);
        let document = Document::of_message(Role::User, &format!("{repeated}last"));
        assert_eq!(key(1).of_document(&document, "a", None).len(), 2 + 3);
    }

    proptest! {
        /// What is written is found, in any script.
        #[test]
        fn each_token_of_a_text_finds_it(text in "\\PC{1,80}") {
            for token in tokens(&text) {
                let quoted = format!("\"{}\"", &text[token.start..token.end]);
                prop_assert!(is_found(&text, &quoted, None), "{:?}", quoted);
            }
        }
    }
}
