//! Bloom filters of terms: a filter of many documents answers whether some of them may have a term. It never misses a term, and
//! reports about one in a hundred that no document has.

use crate::term::Term;

/// The bits that a term sets.
pub const PROBES_PER_TERM: usize = 6;
/// The size of a filter, in bits for each distinct term. With [`PROBES_PER_TERM`], 0.9 % of other terms are reported.
const BITS_PER_TERM: usize = 10;
const BYTE_BITS: usize = 8;
/// Multipliers of the finaliser of splitmix64.
const MULTIPLIERS: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];

/// A Bloom filter, as Postgres contains it: `get_bit(filter, probe % bits)` is 1 for every probe of every term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BloomFilter(Vec<u8>);

/// The probes of a term: numbers below 2^32. The bit of a filter is the remainder of its number of bits.
#[must_use]
pub fn probes(term: Term) -> [i64; PROBES_PER_TERM] {
    let hash = mix(u64::from(term.cast_unsigned()));
    // Two independent numbers make all probes (Kirsch and Mitzenmacher, "Less Hashing, Same Performance").
    let (mut probe, step) = (hash & u64::from(u32::MAX), (hash >> 32) | 1);
    [(); PROBES_PER_TERM].map(|()| {
        let this = probe;
        probe = (probe + step) & u64::from(u32::MAX);
        this.cast_signed()
    })
}

impl BloomFilter {
    /// The filter of terms, which may repeat.
    #[must_use]
    pub fn of(mut terms: Vec<Term>) -> Self {
        terms.sort_unstable();
        terms.dedup();
        let bits = terms.len() * BITS_PER_TERM;
        let mut filter = Self(vec![0; bits.div_ceil(BYTE_BITS).max(1)]);
        for probe in terms.into_iter().flat_map(probes) {
            let (byte, mask) = filter.place(probe);
            if let Some(byte) = filter.0.get_mut(byte) {
                *byte |= mask;
            }
        }
        filter
    }

    /// The filter in a column. `None`: it is empty.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (!bytes.is_empty()).then(|| Self(bytes.to_vec()))
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether the filter may have been made of this term, among others.
    #[must_use]
    pub fn has(&self, term: Term) -> bool {
        probes(term).into_iter().all(|probe| {
            let (byte, mask) = self.place(probe);
            self.0.get(byte).is_some_and(|byte| byte & mask != 0)
        })
    }

    /// The byte of a probe, and its bit in it: the least significant bit is the first, as in `get_bit`.
    fn place(&self, probe: i64) -> (usize, u8) {
        // Both fit: probes are less than 2^32, filters smaller than 1 GiB.
        let probe = usize::try_from(probe).unwrap_or(0);
        let bit = probe % (self.0.len() * BYTE_BITS);
        (bit / BYTE_BITS, 1 << (bit % BYTE_BITS))
    }
}

/// Distributes a number over 64 bits.
fn mix(number: u64) -> u64 {
    let [first, second] = MULTIPLIERS;
    let first_mixed = (number ^ (number >> 30)).wrapping_mul(first);
    let mixed = (first_mixed ^ (first_mixed >> 27)).wrapping_mul(second);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Terms are hashes: spread over all numbers.
    fn terms(numbers: std::ops::Range<i32>) -> Vec<Term> {
        numbers.map(|number| number.wrapping_mul(-1_640_531_527)).collect()
    }

    #[test]
    fn few_other_terms_are_reported() {
        for count in [1, 30, 1_000, 4_096] {
            let filter = BloomFilter::of(terms(0..count));
            assert!(terms(0..count).into_iter().all(|term| filter.has(term)));
            let others = terms(10_000..110_000);
            let reported = others.into_iter().filter(|term| filter.has(*term)).count();
            assert!(reported < 2_500, "{count}: {reported} of 100,000");
        }
    }

    #[test]
    fn the_size_follows_the_distinct_terms() {
        let size = |terms| BloomFilter::of(terms).as_bytes().len();
        assert_eq!(size(Vec::new()), 1);
        assert_eq!(size(vec![7; 1_000]), 2);
        assert_eq!(size(terms(0..1_000)), 1_250);
    }

    proptest! {
        #[test]
        fn no_term_is_missed(terms in proptest::collection::vec(any::<Term>(), 0..200)) {
            let filter = BloomFilter::of(terms.clone());
            let filter = BloomFilter::from_bytes(filter.as_bytes()).unwrap();
            prop_assert!(terms.into_iter().all(|term| filter.has(term)));
        }
    }
}
