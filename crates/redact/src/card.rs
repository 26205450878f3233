//! Card numbers: 13 to 19 digits, in one piece or in groups, of a known network, with a valid check digit.

use std::ops::Range;

/// Minimum digits of a card number.
const DIGITS_MIN: usize = 13;
/// Maximum digits of a card number.
const DIGITS_MAX: usize = 19;
/// Maximum bytes of a card number: its digits and the separators of its groups.
const BYTES_MAX: usize = DIGITS_MAX + 6;

/// Whether a text may contain a card number. Of any two adjacent bytes of a card number at least one is a digit, so steps of
/// `DIGITS_MIN - 1` bytes cannot miss one.
pub(crate) fn may_contain(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.chunks(DIGITS_MIN - 1).enumerate().any(|(index, chunk)| {
        let near = chunk.iter().take(2).any(u8::is_ascii_digit);
        near && {
            let start = (index * (DIGITS_MIN - 1)).saturating_sub(BYTES_MAX);
            let around = bytes.iter().skip(start).take(2 * BYTES_MAX + 2);
            longest_run(around) >= DIGITS_MIN
        }
    })
}

fn longest_run<'a>(bytes: impl Iterator<Item = &'a u8>) -> usize {
    let (mut longest, mut run) = (0, 0_usize);
    for byte in bytes {
        match byte {
            b'0'..=b'9' => run += 1,
            b' ' | b'-' => {}
            _ => run = 0,
        }
        longest = longest.max(run);
    }
    longest
}

/// The ranges of the card numbers in a text.
pub(crate) fn spans(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(start) = position_from(bytes, at, u8::is_ascii_digit) {
        let end = run_end(bytes, start);
        let separate = !is_joined(bytes, start, end);
        if separate && text.get(start..end).is_some_and(is_card) {
            found.push(start..end);
        }
        at = end;
    }
    found
}

/// Whether the whole text is a card number.
pub(crate) fn is_whole(text: &str) -> bool {
    let spans = spans(text);
    spans.first().is_some_and(|span| *span == (0..text.len()))
}

fn position_from(bytes: &[u8], at: usize, is: impl Fn(&u8) -> bool) -> Option<usize> {
    let found = bytes.get(at..)?.iter().position(is)?;
    Some(at + found)
}

/// The end of a run of digits, which single spaces or hyphens may separate.
fn run_end(bytes: &[u8], start: usize) -> usize {
    let mut end = start;
    loop {
        end = position_from(bytes, end, |byte| !byte.is_ascii_digit()).unwrap_or(bytes.len());
        match bytes.get(end..) {
            Some([b' ' | b'-', b'0'..=b'9', ..]) => end += 1,
            _ => return end,
        }
    }
}

/// Whether the run is a piece of a word, a fraction or something else that is not a card number.
fn is_joined(bytes: &[u8], start: usize, end: usize) -> bool {
    let before = start.checked_sub(1).and_then(|at| bytes.get(at));
    let after = (bytes.get(end), bytes.get(end + 1));
    let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    before.is_some_and(|byte| in_word(byte) || matches!(byte, b'.' | b'+'))
        || after.0.is_some_and(in_word)
        || matches!(after, (Some(b'.'), Some(b'0'..=b'9')))
}

fn is_card(run: &str) -> bool {
    if run.len() > BYTES_MAX || !is_grouped(run) {
        return false;
    }
    let digits: Vec<u8> = run.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
    network_allows(&digits) && luhn(&digits)
}

/// Whether the run is one piece, or groups of 3 to 6 digits with one kind of separator.
fn is_grouped(run: &str) -> bool {
    let Some(separator) = run.bytes().find(|byte| !byte.is_ascii_digit()) else {
        return true;
    };
    let mut groups = run.split(char::from(separator));
    groups.all(|group| (3..=6).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a network issues numbers with these first digits and this length.
fn network_allows(digits: &[u8]) -> bool {
    let length = digits.len();
    let start = digits.iter().take(4).fold(0_u32, |start, digit| start * 10 + u32::from(*digit));
    match start {
        // Visa.
        4000..=4999 => matches!(length, 13 | 16 | 19),
        // Mastercard.
        2221..=2720 | 5100..=5599 => length == 16,
        // American Express.
        3400..=3499 | 3700..=3799 => length == 15,
        // Diners Club.
        3000..=3099 | 3600..=3699 | 3800..=3999 => (14..=DIGITS_MAX).contains(&length),
        // JCB, Discover, UnionPay.
        3500..=3599 | 6000..=6099 | 6200..=6299 | 6400..=6599 | 8100..=8199 => (16..=DIGITS_MAX).contains(&length),
        // Maestro.
        5000..=5099 | 5600..=5899 | 6300..=6399 | 6700..=6799 => (DIGITS_MIN..=DIGITS_MAX).contains(&length),
        _ => false,
    }
}

/// The check digit of ISO/IEC 7812-1.
fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(index, digit)| match (index % 2, u32::from(*digit)) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    sum.is_multiple_of(10)
}
