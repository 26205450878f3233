//! The languages whose inflections the search unifies, as an agent's settings name them.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// Maximum size of a word that is stemmed, in bytes: longer ones are no words of a language.
const STEMMED_BYTES_MAX: usize = 64;

/// The languages, each with its ISO 639-1 code.
macro_rules! languages {
    ($($language:ident = $code:literal,)+) => {
        /// A language with a stemmer of the Snowball project.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Language {
            $(#[doc = concat!("`", $code, "`.")]
            $language,)+
        }

        impl Language {
            /// Every language, in the order of their names.
            pub const ALL: &[Self] = &[$(Self::$language),+];

            /// Its ISO 639-1 code.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self {
                    $(Self::$language => $code,)+
                }
            }

            fn algorithm(self) -> Algorithm {
                match self {
                    $(Self::$language => Algorithm::$language,)+
                }
            }
        }
    };
}

languages! {
    Arabic = "ar",
    Danish = "da",
    Dutch = "nl",
    English = "en",
    Finnish = "fi",
    French = "fr",
    German = "de",
    Greek = "el",
    Hungarian = "hu",
    Italian = "it",
    Norwegian = "no",
    Portuguese = "pt",
    Romanian = "ro",
    Russian = "ru",
    Spanish = "es",
    Swedish = "sv",
    Tamil = "ta",
    Turkish = "tr",
}

impl Language {
    /// The language with this code; `None`: the search has no stemmer for it.
    #[must_use]
    pub fn parse(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|language| language.code() == code)
    }

    /// The stem of a normalised word, such as `run` of `running`.
    #[must_use]
    pub fn stem(self, word: &str) -> Cow<'_, str> {
        if word.len() > STEMMED_BYTES_MAX || !word.chars().all(char::is_alphabetic) {
            return Cow::Borrowed(word);
        }
        let stem = Stemmer::create(self.algorithm()).stem(word);
        if stem.is_empty() {
            return Cow::Borrowed(word);
        }
        stem
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn inflections_share_a_stem() {
        let check = |language: Language, words: &[&str]| {
            let stems: Vec<_> = words.iter().map(|word| language.stem(word)).collect();
            assert!(stems.iter().all(|stem| Some(stem) == stems.first()), "{stems:?}");
        };
        check(Language::English, &["refund", "refunds", "refunded"]);
        check(Language::German, &["paket", "pakete", "paketen"]);
        check(Language::French, &["livraison", "livraisons"]);
        check(Language::Arabic, &["كتاب", "الكتاب"]);
        assert_eq!(Language::English.stem("a1b2s"), "a1b2s");
        let long = "s".repeat(STEMMED_BYTES_MAX + 1);
        assert_eq!(Language::English.stem(&long), long);
    }

    #[test]
    fn codes_are_distinct_and_round_trip() {
        for language in Language::ALL {
            assert_eq!(Language::parse(language.code()), Some(*language));
        }
        assert_eq!(Language::parse("xx"), None);
        assert_eq!(Language::parse(""), None);
    }

    proptest! {
        /// A stemmer gets whatever people write: it must never panic.
        #[test]
        fn every_word_has_a_stem(word in "\\PC{0,40}", latin in "[a-zàâäéèêëîïôöùûüßçñøåæœğışţășţ']{0,30}") {
            for language in Language::ALL {
                prop_assert!(word.is_empty() || !language.stem(&word).is_empty());
                prop_assert!(latin.is_empty() || !language.stem(&latin).is_empty());
            }
        }
    }
}
