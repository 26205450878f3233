//! What is to be erased.

use std::collections::BTreeSet;

use domain::{ChannelId, ConversationId, Owner, RequestDigest, TenantId, UserId};
use event_log::RECEIPT_SEED_BYTES;
use ring::hmac;

use super::scan::Found;

/// Bytes of a mark that are kept: as many as a request's digest has.
const MARK_BYTES: usize = 16;

/// Whose conversations go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// These conversations of a tenant.
    Conversations {
        /// The tenant.
        tenant: TenantId,
        /// Their ids.
        ids: BTreeSet<ConversationId>,
    },
    /// All that belong to a user of a tenant, with whichever agent.
    User {
        /// The tenant.
        tenant: TenantId,
        /// The user.
        user: UserId,
    },
    /// All that belong to a channel of a tenant: its histories under a caller's key, with whichever agent.
    Channel {
        /// The tenant.
        tenant: TenantId,
        /// The channel.
        channel: ChannelId,
    },
    /// All of a tenant, and its entries of the registry.
    Tenant(TenantId),
}

impl Subject {
    /// The tenant.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        match self {
            Self::Conversations { tenant, .. }
            | Self::User { tenant, .. }
            | Self::Channel { tenant, .. }
            | Self::Tenant(tenant) => tenant,
        }
    }

    /// Whether a conversation of the tenant is to go, or to have gone, by its own state.
    pub(super) fn claims(&self, found: &Found) -> bool {
        match self {
            Self::Conversations { ids, .. } => ids.contains(&found.key.conversation),
            Self::User { user, .. } => {
                matches!(&found.owner, Some(Owner::User(owner)) if owner == user)
            }
            Self::Channel { channel, .. } => {
                matches!(&found.owner, Some(Owner::Channel(owner)) if owner == channel)
            }
            Self::Tenant(_) => true,
        }
    }

    /// The mark that the tombstones of this subject carry: a job that was cut short finds its own by it, though they
    /// name no owner. Keyed, so that it tells nobody else who that was.
    #[must_use]
    pub fn mark(&self, secret: &[u8; RECEIPT_SEED_BYTES]) -> RequestDigest {
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, secret));
        let mut part = |text: &str| {
            context.update(text.as_bytes());
            context.update(&[0]);
        };
        part("hansard-erasure");
        part(self.tenant().as_str());
        match self {
            Self::Conversations { ids, .. } => {
                part("conversations");
                for id in ids {
                    part(id.as_str());
                }
            }
            Self::User { user, .. } => {
                part("user");
                part(user.as_str());
            }
            Self::Channel { channel, .. } => {
                part("channel");
                part(channel.as_str());
            }
            Self::Tenant(_) => part("tenant"),
        }
        let mut mark = [0; MARK_BYTES];
        let tag = context.sign();
        mark.iter_mut()
            .zip(tag.as_ref())
            .for_each(|(to, from)| *to = *from);
        RequestDigest(mark)
    }
}
