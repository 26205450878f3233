//! Service tokens: bearer tokens of internal services.

use domain::{Label, TenantId, Timestamp};
use wire::proto::operate::v1::ServiceToken;
use wire::time;

use super::bucket::Change;
use super::entries::Held;
use super::entry_keys::service_token_key;
use super::error::RegistryError;
use super::scope::Scopes;
use super::secret::{SERVICE_TOKEN_PREFIX, Secret, digest, id_of};
use super::{CHANGES_MAX, Registry};
use crate::error::Unavailable;

/// A service token to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewServiceToken {
    /// Its name, which commits record as their actor.
    pub display_name: Label,
    /// What it allows; at least one.
    pub scopes: Scopes,
    /// The one tenant that it is bound to; `None`: none.
    pub tenant: Option<TenantId>,
}

impl Registry {
    /// Makes a service token. The secret is not kept: this is the only time to show it.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] without the tenant, or [`RegistryError::Unavailable`].
    pub async fn create_service_token(
        &self,
        new: NewServiceToken,
        at: Timestamp,
    ) -> Result<(ServiceToken, Secret), RegistryError> {
        if let Some(tenant) = &new.tenant
            && !self.has_tenant(tenant).await
        {
            return Err(RegistryError::NotFound { what: "tenant" });
        }
        let secret = Secret::generate(SERVICE_TOKEN_PREFIX);
        let digest = digest(secret.reveal());
        let made = ServiceToken {
            service_token_id: id_of(&digest),
            display_name: new.display_name.as_str().to_owned(),
            scopes: new.scopes.to_proto(),
            tenant_id: new
                .tenant
                .map_or_else(String::new, |tenant| tenant.to_string()),
            created_at: Some(time::to_proto(at)),
            revoked_at: None,
            token_sha256: digest.to_vec().into(),
        };
        let key = service_token_key(&digest);
        self.shared().create(&key, &made, "service token").await?;
        Ok((shown(made), secret))
    }

    /// Ends a token; one that was ended before keeps its time.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] or [`RegistryError::Unavailable`].
    pub async fn revoke_service_token(
        &self,
        id: &str,
        at: Timestamp,
    ) -> Result<ServiceToken, RegistryError> {
        for _ in 0..CHANGES_MAX {
            let Some(Held { revision, value }) = self.held_service_token(id) else {
                return Err(RegistryError::NotFound {
                    what: "service token",
                });
            };
            if value.revoked_at.is_some() {
                return Ok(shown(value));
            }
            let ended = ServiceToken {
                revoked_at: Some(time::to_proto(at)),
                ..value
            };
            let key = service_token_key(&ended.token_sha256);
            if self.shared().put(&key, &ended, Some(revision)).await? == Change::Made {
                return Ok(shown(ended));
            }
        }
        Err(Unavailable::new("the service token keeps changing").into())
    }

    /// Every service token, by id, revoked ones among them, without their SHA-256.
    #[must_use]
    pub fn list_service_tokens(&self) -> Vec<ServiceToken> {
        self.shared().read(|entries| {
            let all = entries.service_tokens.values();
            all.map(|held| shown(held.value.clone())).collect()
        })
    }

    /// The service token with this id, without its SHA-256.
    #[must_use]
    pub fn service_token(&self, id: &str) -> Option<ServiceToken> {
        self.held_service_token(id).map(|held| shown(held.value))
    }

    fn held_service_token(&self, id: &str) -> Option<Held<ServiceToken>> {
        self.shared()
            .read(|entries| entries.service_tokens.get(id).cloned())
    }
}

/// As callers see it.
fn shown(mut token: ServiceToken) -> ServiceToken {
    token.token_sha256.clear();
    token
}
