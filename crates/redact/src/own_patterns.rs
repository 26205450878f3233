//! The patterns of a policy. A tenant writes them, so compiling is bounded in size and matching in steps.
//!
//! A match is found by lazy automata: forwards to its end, backwards to its start. A forward search may read far past the match, up
//! to the end of the text, so many matches can cost the square of its length. Each step is counted, and so is each state that an
//! automaton adds. What is left when the steps are used up depends on the texts alone, never on time.

use std::ops::Range;

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::util::prefilter::Prefilter;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{Capture, Hir, HirKind, Look, Repetition};

use crate::settings::InvalidSetting;

/// Maximum bytes of one compiled pattern of a policy.
pub const PATTERN_SIZE_BYTES_MAX: usize = 1024 * 1024;
/// Maximum bytes of all compiled patterns of a policy together.
pub const PATTERNS_SIZE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Maximum bytes of the states that an automaton keeps. Older states are computed again.
const CACHE_BYTES_MAX: usize = 1024 * 1024;

/// Steps of a context. A step reads a byte: two to four nanoseconds.
const STEPS: u64 = 50_000_000;
/// Further steps for each byte of its texts: enough for 50 patterns that read each byte once.
const STEPS_PER_BYTE: u64 = 64;
/// Steps for finding one match, besides those that read.
const STEPS_PER_SEARCH: u64 = 32;
/// Steps for each byte of a new state of an automaton.
const STEPS_PER_STATE_BYTE: usize = 4;
/// Steps between two looks at how much an automaton has grown.
const STEPS_PER_LOOK: usize = 64;

/// The steps of a context are used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooCostly;

/// The patterns of a policy, in order.
#[derive(Debug, Clone)]
pub(crate) struct OwnPatterns {
    patterns: Vec<Pattern>,
    size_bytes: usize,
}

#[derive(Debug, Clone)]
struct Pattern {
    /// Finds where a match may begin. `None`: it may begin anywhere.
    prefilter: Option<Prefilter>,
    forward: DFA,
    backward: DFA,
}

/// The state of the searches of one context.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// The caches of each pattern that was searched for, forward and backward.
    caches: Vec<(Cache, Cache)>,
    steps: Steps,
}

#[derive(Debug)]
struct Steps(u64);

impl Default for Steps {
    fn default() -> Self {
        Self(STEPS)
    }
}

impl Steps {
    fn take(&mut self, steps: u64) -> Result<(), TooCostly> {
        let left = self.0.checked_sub(steps);
        self.0 = left.unwrap_or(0);
        left.map(drop).ok_or(TooCostly)
    }

    fn take_len(&mut self, length: usize) -> Result<(), TooCostly> {
        self.take(u64::try_from(length).unwrap_or(u64::MAX))
    }
}

impl OwnPatterns {
    /// Compiles patterns; `None`: there are none.
    ///
    /// # Errors
    /// The field of the first pattern that is invalid, too large, or matches the empty text.
    pub(crate) fn compile(patterns: &[String]) -> Result<Option<Self>, InvalidSetting> {
        let mut compiled = Self { patterns: Vec::with_capacity(patterns.len()), size_bytes: 0 };
        for (index, pattern) in patterns.iter().enumerate() {
            let field = format!("patterns[{index}]");
            let (pattern, size_bytes) = Pattern::compile(pattern).map_err(|rule| InvalidSetting::new(&field, rule))?;
            compiled.size_bytes += size_bytes;
            if compiled.size_bytes > PATTERNS_SIZE_BYTES_MAX {
                let rule = format!(
                    "is too large when compiled, with those before it: more than {PATTERNS_SIZE_BYTES_MAX} bytes"
                );
                return Err(InvalidSetting::new(field, rule));
            }
            compiled.patterns.push(pattern);
        }
        Ok((!patterns.is_empty()).then_some(compiled))
    }

    /// The bytes of the compiled patterns. The automata of both directions have about this size each.
    pub(crate) fn size_bytes(&self) -> usize {
        2 * self.size_bytes
    }

    /// The matches in a text, pattern by pattern; none is empty.
    ///
    /// # Errors
    /// [`TooCostly`].
    pub(crate) fn find(&self, text: &str, search: &mut Search) -> Result<Vec<Range<usize>>, TooCostly> {
        let credit = STEPS_PER_BYTE.saturating_mul(u64::try_from(text.len()).unwrap_or(u64::MAX));
        search.steps.0 = search.steps.0.saturating_add(credit);
        let mut found = Vec::new();
        for (index, pattern) in self.patterns.iter().enumerate() {
            if search.caches.len() == index {
                search.caches.push((pattern.forward.create_cache(), pattern.backward.create_cache()));
            }
            let Some(caches) = search.caches.get_mut(index) else {
                return Err(TooCostly);
            };
            pattern.find_all(text, caches, &mut search.steps, &mut found)?;
        }
        Ok(found)
    }
}

impl Pattern {
    /// A pattern and its bytes.
    ///
    /// # Errors
    /// The rule that it breaks.
    fn compile(pattern: &str) -> Result<(Self, usize), String> {
        let parsed = syntax::parse(pattern).map_err(|error| describe(&error.to_string()))?;
        let parsed = with_ascii_boundaries(&parsed);
        let forward = nfa(&parsed, false)?;
        let size_bytes = forward.memory_usage();
        let forward = lazy(forward, MatchKind::LeftmostFirst)?;
        if matches_empty_text(&forward) {
            return Err("matches the empty text: require at least one character".to_owned());
        }
        let compiled = Self {
            prefilter: Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, &parsed),
            forward,
            backward: lazy(nfa(&parsed, true)?, MatchKind::All)?,
        };
        Ok((compiled, size_bytes))
    }

    fn find_all(
        &self,
        text: &str,
        (forward, backward): &mut (Cache, Cache),
        steps: &mut Steps,
        found: &mut Vec<Range<usize>>,
    ) -> Result<(), TooCostly> {
        let mut from = 0;
        while let Some(start) = self.candidate(text, from) {
            steps.take(STEPS_PER_SEARCH)?;
            let Some(end) = self.end(text, start, forward, steps)? else {
                break;
            };
            steps.take_len(end.saturating_sub(start))?;
            let input = Input::new(text).range(start..end).anchored(Anchored::Yes);
            let first = self.backward.try_search_rev(backward, &input).map_err(|_| TooCostly)?;
            let first = first.map_or(end, |half| half.offset());
            if first < end {
                found.push(first..end);
                from = end;
            } else {
                from = next_boundary(text, end);
            }
        }
        Ok(())
    }

    /// The first place from `from` on where a match may begin.
    fn candidate(&self, text: &str, from: usize) -> Option<usize> {
        if from > text.len() {
            return None;
        }
        match &self.prefilter {
            None => Some(from),
            Some(prefilter) => prefilter.find(text.as_bytes(), (from..text.len()).into()).map(|span| span.start),
        }
    }

    /// The end of the first match that begins at `start` or later.
    fn end(&self, text: &str, start: usize, cache: &mut Cache, steps: &mut Steps) -> Result<Option<usize>, TooCostly> {
        let input = Input::new(text).range(start..);
        let mut size = cache.memory_usage();
        let mut state = self.forward.start_state_forward(cache, &input).map_err(|_| TooCostly)?;
        let mut end = None;
        let rest = text.as_bytes().get(start..).unwrap_or_default();
        for (chunk_index, chunk) in rest.chunks(STEPS_PER_LOOK).enumerate() {
            for (index, byte) in chunk.iter().enumerate() {
                state = self.forward.next_state(cache, state, *byte).map_err(|_| TooCostly)?;
                if state.is_match() {
                    // A match is seen one byte after its end.
                    end = Some(start + chunk_index * STEPS_PER_LOOK + index);
                } else if state.is_dead() {
                    steps.take_len(index + grown(cache, &mut size))?;
                    return Ok(end);
                } else if state.is_quit() {
                    return Err(TooCostly);
                }
            }
            steps.take_len(chunk.len() + grown(cache, &mut size))?;
        }
        state = self.forward.next_eoi_state(cache, state).map_err(|_| TooCostly)?;
        Ok(if state.is_match() { Some(text.len()) } else { end })
    }
}

/// The steps for the states that an automaton has added. After it dropped its states, all of them are new.
fn grown(cache: &Cache, size: &mut usize) -> usize {
    let before = std::mem::replace(size, cache.memory_usage());
    STEPS_PER_STATE_BYTE.saturating_mul(size.checked_sub(before).unwrap_or(*size))
}

/// The next place in a text where a character begins; past its end if there is none.
fn next_boundary(text: &str, at: usize) -> usize {
    let characters = text.get(at..).unwrap_or_default().chars();
    at + characters.take(1).map(char::len_utf8).sum::<usize>().max(1)
}

fn nfa(parsed: &Hir, is_reverse: bool) -> Result<NFA, String> {
    let config = thompson::Config::new()
        .nfa_size_limit(Some(PATTERN_SIZE_BYTES_MAX))
        .which_captures(WhichCaptures::None)
        .reverse(is_reverse)
        .shrink(false);
    let built = thompson::Compiler::new().configure(config).build_from_hir(parsed);
    built.map_err(|_| "is too large when compiled: repeat less".to_owned())
}

fn lazy(nfa: NFA, kind: MatchKind) -> Result<DFA, String> {
    let config = DFA::config()
        .match_kind(kind)
        .cache_capacity(CACHE_BYTES_MAX)
        .skip_cache_capacity_check(true)
        .starts_for_each_pattern(false);
    let built = DFA::builder().configure(config).build_from_nfa(nfa);
    built.map_err(|_| "is too large when compiled: repeat less".to_owned())
}

fn matches_empty_text(forward: &DFA) -> bool {
    let found = forward.try_search_fwd(&mut forward.create_cache(), &Input::new(""));
    !matches!(found, Ok(None))
}

/// The pattern with boundaries of ASCII words instead of Unicode's, as in the built-in patterns: automata have no others.
fn with_ascii_boundaries(pattern: &Hir) -> Hir {
    let all = |parts: &[Hir]| parts.iter().map(with_ascii_boundaries).collect();
    match pattern.kind() {
        HirKind::Look(look) => Hir::look(ascii(*look)),
        HirKind::Repetition(repeated) => {
            Hir::repetition(Repetition { sub: Box::new(with_ascii_boundaries(&repeated.sub)), ..repeated.clone() })
        }
        HirKind::Capture(group) => {
            Hir::capture(Capture { sub: Box::new(with_ascii_boundaries(&group.sub)), ..group.clone() })
        }
        HirKind::Concat(parts) => Hir::concat(all(parts)),
        HirKind::Alternation(parts) => Hir::alternation(all(parts)),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => pattern.clone(),
    }
}

fn ascii(look: Look) -> Look {
    match look {
        Look::WordUnicode => Look::WordAscii,
        Look::WordUnicodeNegate => Look::WordAsciiNegate,
        Look::WordStartUnicode => Look::WordStartAscii,
        Look::WordEndUnicode => Look::WordEndAscii,
        Look::WordStartHalfUnicode => Look::WordStartHalfAscii,
        Look::WordEndHalfUnicode => Look::WordEndHalfAscii,
        Look::Start
        | Look::End
        | Look::StartLF
        | Look::EndLF
        | Look::StartCRLF
        | Look::EndCRLF
        | Look::WordAscii
        | Look::WordAsciiNegate
        | Look::WordStartAscii
        | Look::WordEndAscii
        | Look::WordStartHalfAscii
        | Look::WordEndHalfAscii => look,
    }
}

/// The last line of an error, without the pattern.
fn describe(error: &str) -> String {
    let last = error.lines().last().unwrap_or_default();
    let reason = last.trim().trim_start_matches("error: ");
    format!("is not a regular expression: {reason}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn compile(patterns: &[&str]) -> OwnPatterns {
        let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        OwnPatterns::compile(&patterns).unwrap().unwrap()
    }

    fn error(patterns: &[&str]) -> String {
        let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        OwnPatterns::compile(&patterns).map(drop).unwrap_err().to_string()
    }

    #[test]
    fn bounds_are_these_numbers() {
        assert_eq!((PATTERN_SIZE_BYTES_MAX, PATTERNS_SIZE_BYTES_MAX), (1_048_576, 4_194_304));
        assert_eq!((CACHE_BYTES_MAX, STEPS, STEPS_PER_BYTE), (1_048_576, 50_000_000, 64));
        assert_eq!(error(&["a", r"\pL{100}N"]), "patterns[1]: is too large when compiled: repeat less");
        let pattern = r"\pL{20}N";
        let most = PATTERNS_SIZE_BYTES_MAX / compile(&[pattern]).size_bytes;
        assert!(compile(&vec![pattern; most]).size_bytes <= PATTERNS_SIZE_BYTES_MAX);
        let one_more = error(&vec![pattern; most + 1]);
        let expected = format!("patterns[{most}]: is too large when compiled, with those before it");
        assert!(one_more.starts_with(&expected), "{one_more}");
    }

    #[test]
    fn patterns_that_match_nothing_are_rejected() {
        for pattern in ["", "a*", "^", "x?", "a|"] {
            assert!(error(&[pattern]).contains("matches the empty text"), "{pattern}");
        }
        assert_eq!(error(&["a("]), "patterns[0]: is not a regular expression: unclosed group");
    }

    /// Each took minutes, or all memory, when every match was searched for by itself.
    #[test]
    fn patterns_that_cost_too_much_end() {
        let letters = |count: usize| "a".repeat(count);
        let mut random = 1_u32;
        let mut bit = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if random >> 31 == 0 { 'a' } else { 'b' }
        };
        let bits: String = (0..100_000).map(|_| bit()).collect();
        for (pattern, text) in [
            (r"(?s)(?:.*\x00|a)", letters(100_000)),
            (r"a+?(?:.*z)?", letters(100_000)),
            (r"(?:a.*b|a)", letters(100_000)),
            (r"[ab]*a[ab]{2000}c", bits.clone()),
            (r"[ab]*a[ab]{9000}c", bits),
        ] {
            let mut search = Search::default();
            assert_eq!(compile(&[pattern]).find(&text, &mut search), Err(TooCostly), "{pattern}");
            assert_eq!(search.steps.0, 0);
            assert!(
                search
                    .caches
                    .iter()
                    .all(|(one, other)| one.memory_usage() + other.memory_usage() < 4 * CACHE_BYTES_MAX)
            );
        }
    }

    #[test]
    fn usual_patterns_of_long_texts_have_steps_left() {
        let patterns = [
            r"(?i)password\s*[:=]\s*\S+",
            r"\b(?:\d[ -]?){13,19}\b",
            r"\w+@\w+\.\w{2,}",
            r"[A-Za-z0-9]{32,64}",
            r"\p{Lu}\S+ß",
        ];
        let text = "Grüße an Zoë: password = 19 ключ 4111 1111 1111 1111 und mail@example.org, «ende».\n".repeat(1_200);
        let patterns: Vec<&str> = patterns.iter().copied().cycle().take(50).collect();
        let mut search = Search::default();
        let found = compile(&patterns).find(&text, &mut search).unwrap();
        assert!(found.len() >= 1_200 * 10 * 3, "{}", found.len());
        assert!(search.steps.0 > 0);
    }

    proptest! {
        /// The automata find what the library's own search finds.
        #[test]
        fn matches_are_those_of_the_library(
            pattern in r"(?:[abé.]|\[ab\]|[ab]\*|[ab]\+\?|\(a\|ab\)|\^|\$|\\w|\(\?:b\{1,3\}\)|a\|){1,6}",
            text in "[abé \n]{0,40}",
        ) {
            let Ok(Some(compiled)) = OwnPatterns::compile(std::slice::from_ref(&pattern)) else {
                return Ok(());
            };
            let expected: Vec<_> = regex::Regex::new(&pattern).unwrap().find_iter(&text).map(|found| found.range()).collect();
            let expected: Vec<_> = expected.into_iter().filter(|range| !range.is_empty()).collect();
            let mut search = Search::default();
            prop_assert_eq!(compiled.find(&text, &mut search).unwrap(), expected.clone());
            prop_assert_eq!(compiled.find(&text, &mut search).unwrap(), expected);
        }
    }
}
