//! An issuer of tokens, such as a tenant's server, with keys of every kind.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{AgentId, SigningKeyId, TenantId, Timestamp};
use identity::{Key, TokenError, TokenRules, UserScope, VerifiedUser, jwk_set, verify_user};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::rsa::KeyPairComponents as RsaKeyPairComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
    RsaPublicKeyComponents,
};
use serde_json::{Value, json};

/// A whole second.
pub(crate) const NOW: Timestamp = Timestamp(1_790_000_000_000_000_000);
pub(crate) const NOW_SECONDS: i64 = 1_790_000_000;
pub(crate) const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

/// The RSA key of RFC 7515, appendix A.2. It is public and no secret.
const RSA_KEY: &str = include_str!("rfc7515_a2.json");

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn id(text: &str) -> SigningKeyId {
    SigningKeyId::parse(text).unwrap()
}

pub(crate) fn tenant(text: &str) -> TenantId {
    TenantId::parse(text).unwrap()
}

/// A signing key.
pub(crate) enum Signer {
    Hs256(Vec<u8>),
    Rs256(RsaKeyPair),
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
}

impl Signer {
    pub(crate) fn hs256() -> Self {
        Self::Hs256(SECRET.to_vec())
    }

    pub(crate) fn rs256() -> Self {
        let key: Value = serde_json::from_str(RSA_KEY).unwrap();
        let part = |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str().unwrap()).unwrap();
        let components = RsaKeyPairComponents {
            public_key: RsaPublicKeyComponents { n: part("n"), e: part("e") },
            d: part("d"),
            p: part("p"),
            q: part("q"),
            dP: part("dp"),
            dQ: part("dq"),
            qInv: part("qi"),
        };
        Self::Rs256(RsaKeyPair::from_components(&components).unwrap())
    }

    pub(crate) fn es256() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self::Es256(EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap())
    }

    pub(crate) fn eddsa() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::EdDsa(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
    }

    pub(crate) fn all() -> [Self; 4] {
        [Self::hs256(), Self::rs256(), Self::es256(), Self::eddsa()]
    }

    pub(crate) fn algorithm(&self) -> &'static str {
        match self {
            Self::Hs256(_) => "HS256",
            Self::Rs256(_) => "RS256",
            Self::Es256(_) => "ES256",
            Self::EdDsa(_) => "EdDSA",
        }
    }

    /// The public key as a JWK; for HS256 the secret itself, which must not be published.
    pub(crate) fn jwk(&self) -> Value {
        match self {
            Self::Hs256(secret) => json!({"kty": "oct", "k": encode(secret)}),
            Self::Rs256(pair) => {
                let public = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({"kty": "RSA", "n": encode(public.n), "e": encode(public.e)})
            }
            Self::Es256(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)})
            }
            Self::EdDsa(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key())})
            }
        }
    }

    /// The key that verifies its tokens.
    pub(crate) fn key(&self, name: &str) -> Key {
        if let Self::Hs256(secret) = self {
            return Key::hs256(&id(name), secret).unwrap();
        }
        let set = json!({"keys": [self.jwk()]}).to_string();
        jwk_set(&id(name), &set).unwrap().remove(0)
    }

    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        self.sign_text(&header.to_string(), &claims.to_string())
    }

    pub(crate) fn sign_text(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", encode(header), encode(claims));
        let signature = self.signature(message.as_bytes());
        format!("{message}.{}", encode(signature))
    }

    /// A token with only the algorithm in its header.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.sign(&json!({"typ": "JWT", "alg": self.algorithm()}), claims)
    }

    fn signature(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Hs256(secret) => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
                hmac::sign(&key, message).as_ref().to_vec()
            }
            Self::Rs256(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
            Self::Es256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::EdDsa(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }
}

/// Claims that are valid for an hour.
pub(crate) fn claims() -> Value {
    json!({"sub": "ada", "exp": NOW_SECONDS + 3_600})
}

/// These claims with additional or changed ones.
pub(crate) fn with(more: &Value) -> Value {
    let mut all = claims();
    for (name, value) in more.as_object().unwrap() {
        all[name] = value.clone();
    }
    all
}

pub(crate) fn verify_at(token: &str, keys: &[Key], now: Timestamp) -> Result<VerifiedUser, TokenError> {
    verify_under(&TokenRules::default(), (token, keys), now)
}

pub(crate) fn verify_under(
    rules: &TokenRules,
    (token, keys): (&str, &[Key]),
    now: Timestamp,
) -> Result<VerifiedUser, TokenError> {
    let (tenant, agent) = (tenant("acme"), AgentId::parse("support").unwrap());
    let scope = UserScope { tenant: &tenant, agent: &agent, rules };
    verify_user(token, keys, scope, now)
}

#[track_caller]
pub(crate) fn check(token: &str, keys: &[Key], expected: Result<&str, TokenError>) {
    let outcome = verify_at(token, keys, NOW);
    let user = outcome.as_ref().map(|verified| verified.user().as_str());
    assert_eq!(user.map_err(|error| *error), expected);
}
