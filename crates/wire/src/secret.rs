//! `Debug` of messages that contain a secret: it prints every other field.

use std::fmt;

use crate::proto::operate::v1 as proto;

/// Defines a `Debug` that prints only these fields.
macro_rules! debug_of {
    ($message:ident: $($field:ident),+) => {
        impl fmt::Debug for proto::$message {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($message))
                    $(.field(stringify!($field), &self.$field))+
                    .finish_non_exhaustive()
            }
        }
    };
}

/// Defines a `Debug` that prints only the kind of the key.
macro_rules! debug_of_kind {
    ($module:ident) => {
        impl fmt::Debug for proto::$module::Kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    Self::Hs256Secret(_) => "Hs256Secret(..)",
                    Self::JwksJson(_) => "JwksJson(..)",
                    Self::JwksUrl(_) => "JwksUrl(..)",
                })
            }
        }
    };
}

debug_of!(SigningKey: signing_key_id, tenant_id, r#use, kind, created_at, retired_at);
debug_of!(AddSigningKeyRequest: tenant_id, signing_key_id, r#use, kind);
debug_of!(AddSigningKeyResponse: signing_key);
debug_of!(CreateApiKeyResponse: api_key);
debug_of!(RotateApiKeyResponse: api_key);
debug_of!(CreateServiceTokenResponse: service_token);
debug_of_kind!(signing_key);
debug_of_kind!(add_signing_key_request);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let check = |shown: String| {
            assert!(!shown.contains("hush") && !shown.contains("104, 117"), "{shown}");
            assert!(shown.contains("there"), "{shown}");
        };
        let key = proto::SigningKey {
            signing_key_id: "there".to_owned(),
            kind: Some(proto::signing_key::Kind::Hs256Secret("hush".into())),
            ..proto::SigningKey::default()
        };
        check(format!("{key:?}"));
        check(format!("{:#?}", proto::ListSigningKeysResponse { signing_keys: vec![key.clone()] }));
        let secret = "hush".to_owned();
        check(format!("{:?}", proto::AddSigningKeyResponse { signing_key: Some(key), secret }));
        let request = proto::AddSigningKeyRequest {
            signing_key_id: "there".to_owned(),
            kind: Some(proto::add_signing_key_request::Kind::Hs256Secret("hush".into())),
            ..proto::AddSigningKeyRequest::default()
        };
        check(format!("{request:?}"));
    }
}
