use super::*;

const ENTRY: &str = "secret.acme";
const SECRET: &[u8] = b"what nobody may read at rest";

fn keys(current: Option<u8>, previous: Option<u8>) -> MasterKeys {
    let key = |byte| MasterKey([byte; MASTER_KEY_BYTES]);
    MasterKeys { current: current.map(key), previous: previous.map(key), registry: None }
}

fn sealed() -> Bytes {
    keys(Some(1), None).seal(ENTRY, SECRET).unwrap().unwrap()
}

#[test]
fn secrets_decrypt_with_their_key_in_their_entry() {
    let sealed = sealed();
    assert_eq!(sealed.len(), HEADER_BYTES + NONCE_LEN + SECRET.len() + 16);
    assert!(!sealed.windows(8).any(|part| SECRET.starts_with(part)));
    let check = |keys: MasterKeys, entry: &str, expected: Result<&[u8], SealError>| {
        let opened = keys.open(entry, &sealed);
        assert_eq!(opened.as_deref().map_err(|error| *error), expected);
    };
    let id = keys(Some(1), None).current.unwrap().id();
    check(keys(Some(1), None), ENTRY, Ok(SECRET));
    check(keys(Some(2), Some(1)), ENTRY, Ok(SECRET));
    check(keys(None, Some(1)), ENTRY, Ok(SECRET));
    check(keys(None, None), ENTRY, Err(SealError::NoKey));
    let wrong = Err(SealError::WrongKey(id));
    check(keys(Some(2), None), ENTRY, wrong);
    check(keys(Some(2), Some(3)), ENTRY, wrong);
    for entry in ["secret.other", "secret.acm", "secret.acmee", ""] {
        check(keys(Some(1), None), entry, Err(SealError::Damaged));
    }
}

#[test]
fn the_registry_has_a_key_of_its_own() {
    let with_registry = |current, previous, registry: Option<u8>| {
        let registry = registry.map(|byte| MasterKey([byte; MASTER_KEY_BYTES]));
        MasterKeys { registry, ..keys(current, previous) }
    };
    let writer = with_registry(Some(1), None, Some(5));
    let sealed_in_registry = writer.for_registry().seal(ENTRY, SECRET).unwrap().unwrap();
    let sealed_by_master = writer.seal(ENTRY, SECRET).unwrap().unwrap();
    let gateway = with_registry(None, None, Some(5)).for_registry();
    assert_eq!(gateway.open(ENTRY, &sealed_in_registry).as_deref(), Ok(SECRET));
    let master = keys(Some(1), None).current.unwrap().id();
    assert_eq!(gateway.open(ENTRY, &sealed_by_master), Err(SealError::WrongKey(master)));
    assert_eq!(writer.open(ENTRY, &sealed_by_master).as_deref(), Ok(SECRET));
    // Secrets from before there was such a key.
    for earlier in [writer, with_registry(Some(2), Some(1), Some(5))] {
        assert_eq!(earlier.for_registry().open(ENTRY, &sealed()).as_deref(), Ok(SECRET));
    }
    assert_eq!(keys(Some(1), Some(2)).for_registry(), keys(Some(1), Some(2)));
}

#[test]
fn every_bit_is_authenticated() {
    let sealed = sealed();
    for bit in 0..sealed.len() * 8 {
        let mut flipped = sealed.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let opened = keys(Some(1), None).open(ENTRY, &flipped);
        assert!(opened.is_err(), "bit {bit}");
    }
}

#[test]
fn every_byte_is_needed() {
    let sealed = sealed();
    for length in 0..sealed.len() {
        let opened = keys(Some(1), None).open(ENTRY, &sealed[..length]);
        assert_eq!(opened, Err(SealError::Damaged), "{length}");
    }
}

#[test]
fn nonces_differ() {
    assert_ne!(sealed(), sealed());
    assert_eq!(keys(None, Some(1)).seal(ENTRY, SECRET), Ok(None));
}

#[test]
fn keys_round_trip_and_are_not_printed() {
    let key = MasterKey::generate();
    assert_eq!(MasterKey::parse(&format!(" {}\n", key.reveal())), Some(key.clone()));
    assert!(!format!("{key:?}").contains(&key.reveal()));
    assert_ne!(key, MasterKey::generate());
    for none in ["", "00", &"0".repeat(63), &"0".repeat(66), &"g".repeat(64)] {
        assert_eq!(MasterKey::parse(none), None, "{none}");
    }
}
