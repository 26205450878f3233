//! The subject of an erasure.

use std::collections::BTreeSet;

use domain::{ChannelId, ConversationId, Owner, RequestDigest, TenantId, UserId};
use event_log::RECEIPT_SEED_BYTES;
use ring::hmac;

use super::scan::ScannedConversation;

/// What is erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// These conversations of a tenant.
    Conversations { tenant: TenantId, ids: BTreeSet<ConversationId> },
    /// All conversations of a user, of all agents.
    User { tenant: TenantId, user: UserId },
    /// All keyed histories of a channel, of all agents.
    Channel { tenant: TenantId, channel: ChannelId },
    /// All conversations of a tenant, and its registry entries.
    Tenant(TenantId),
}

impl Subject {
    pub(crate) fn tenant(&self) -> &TenantId {
        match self {
            Self::Conversations { tenant, .. }
            | Self::User { tenant, .. }
            | Self::Channel { tenant, .. }
            | Self::Tenant(tenant) => tenant,
        }
    }

    /// Whether a conversation of the tenant belongs to the subject.
    pub(super) fn includes(&self, found: &ScannedConversation) -> bool {
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

    /// The mark in the tombstones of this subject. An interrupted job recognises its tombstones by the mark, although they
    /// contain no owner. It is an HMAC, so that others cannot derive the subject from it.
    pub(crate) fn mark(&self, secret: &[u8; RECEIPT_SEED_BYTES]) -> RequestDigest {
        let (kind, ids) = match self {
            Self::Conversations { ids, .. } => {
                let ids = ids.iter().map(ConversationId::as_str);
                ("conversations", ids.collect())
            }
            Self::User { user, .. } => ("user", vec![user.as_str()]),
            Self::Channel { channel, .. } => ("channel", vec![channel.as_str()]),
            Self::Tenant(_) => ("tenant", Vec::new()),
        };
        let parts = ["hansard-erasure", self.tenant().as_str(), kind];
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, secret));
        for part in parts.into_iter().chain(ids) {
            context.update(part.as_bytes());
            context.update(&[0]);
        }
        let tag = context.sign();
        RequestDigest(tag.as_ref().first_chunk().copied().unwrap_or_default())
    }
}
