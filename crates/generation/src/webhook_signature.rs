//! Signatures of webhook calls, as Standard Webhooks specifies them. Pure.
//!
//! Source: <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::Timestamp;
use registry::WebhookKey;
use ring::hmac;

/// The header with the message id: equal for each attempt of one call.
pub(super) const WEBHOOK_ID: &str = "webhook-id";
/// The header with the time of the attempt, in seconds since 1970.
pub(super) const WEBHOOK_TIMESTAMP: &str = "webhook-timestamp";
/// The header with the signatures.
pub(super) const WEBHOOK_SIGNATURE: &str = "webhook-signature";

/// The time of an attempt in seconds since 1970.
pub(super) fn seconds(now: Timestamp) -> i64 {
    now.0.div_euclid(1_000_000_000)
}

/// The value of the header: for each key `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64, separated by spaces;
/// `None`: there are no keys.
pub(super) fn signatures(keys: &[WebhookKey], id: &str, seconds: i64, body: &[u8]) -> Option<String> {
    let sign = |key: &WebhookKey| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
        let mut context = hmac::Context::with_key(&key);
        context.update(format!("{id}.{seconds}.").as_bytes());
        context.update(body);
        format!("v1,{}", STANDARD.encode(context.sign()))
    };
    let signatures: Vec<String> = keys.iter().map(sign).collect();
    (!signatures.is_empty()).then(|| signatures.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(base64: &str) -> WebhookKey {
        WebhookKey::new(STANDARD.decode(base64).unwrap().into())
    }

    /// The example of the libraries of the specification.
    #[test]
    fn signs_the_published_example() {
        let keys = [key("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")];
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signed = signatures(&keys, id, 1_614_265_330, br#"{"test": 2432232314}"#);
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(signed.as_deref(), Some(expected));
    }

    #[test]
    fn each_key_signs() {
        let (one, other) = (key("AAAA"), key("BBBB"));
        let signed = |keys: &[WebhookKey]| signatures(keys, "a", 1, b"b");
        assert_eq!(signed(&[]), None);
        let both = signed(&[one.clone(), other.clone()]).unwrap();
        let each = [signed(&[one]).unwrap(), signed(&[other]).unwrap()];
        assert_eq!(both, each.join(" "));
        assert_ne!(each[0], each[1]);
    }

    #[test]
    fn seconds_are_whole() {
        assert_eq!(seconds(Timestamp(1_999_999_999)), 1);
        assert_eq!(seconds(Timestamp(2_000_000_000)), 2);
    }
}
