//! Every modification of a valid token makes it invalid.

use identity::Key;
use proptest::prelude::*;

use crate::signer::{NOW, Signer, claims, verify_at};

/// A change of a text at an index.
#[derive(Debug, Clone)]
enum Mutation {
    Replace(char),
    Insert(char),
    Remove,
    Cut,
    Swap,
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let signs = || prop_oneof![any::<char>(), proptest::char::range('-', 'z')];
    prop_oneof![
        signs().prop_map(Mutation::Replace),
        signs().prop_map(Mutation::Insert),
        Just(Mutation::Remove),
        Just(Mutation::Cut),
        Just(Mutation::Swap),
    ]
}

fn mutated(token: &str, at: prop::sample::Index, mutation: &Mutation) -> String {
    let mut signs: Vec<char> = token.chars().collect();
    let at = at.index(signs.len());
    match mutation {
        Mutation::Replace(sign) => signs[at] = *sign,
        Mutation::Insert(sign) => signs.insert(at, *sign),
        Mutation::Remove => drop(signs.remove(at)),
        Mutation::Cut => signs.truncate(at),
        Mutation::Swap => signs.swap(at, (at + 1) % token.len()),
    }
    signs.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_modified_token_is_invalid(
        kind in 0_usize..4,
        at in any::<prop::sample::Index>(),
        mutation in mutation(),
    ) {
        let signers = Signer::all();
        let keys: Vec<Key> = signers.iter().map(|signer| signer.key("a")).collect();
        let token = signers[kind].token(&claims());
        prop_assert!(verify_at(&token, &keys, NOW).is_ok());
        let changed = mutated(&token, at, &mutation);
        if changed != token {
            prop_assert!(verify_at(&changed, &keys, NOW).is_err(), "{:?}", mutation);
        }
    }

    #[test]
    fn any_text_is_rejected_without_a_panic(text in "\\PC{0,200}") {
        prop_assert!(verify_at(&text, &[Signer::hs256().key("a")], NOW).is_err());
    }
}
