//! The secret by which receipts of erasures are signed. It lives in the registry's bucket, so that whoever can erase can
//! sign, a backup has it, and there is no file to lose.

use bytes::Bytes;

use crate::error::Unavailable;
use crate::get::Which;
use crate::message::TraceHeaders;
use crate::publish::Publication;
use crate::record::Record;
use crate::topology::{REGISTRY_PREFIX, REGISTRY_STREAM};

/// Bytes of the secret: the seed of an Ed25519 key (RFC 8032).
pub const RECEIPT_SEED_BYTES: usize = 32;
const KEY: &str = "receipt.seed";

impl Record {
    /// The seed of the Ed25519 key that signs receipts; made when it is first asked for. Never to be shown or logged.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn receipt_seed(&self) -> Result<[u8; RECEIPT_SEED_BYTES], Unavailable> {
        if let Some(seed) = self.receipt_seed_made().await? {
            return Ok(seed);
        }
        let seed: [u8; RECEIPT_SEED_BYTES] = rand::random();
        let publication = Publication {
            subject: subject(),
            id: None,
            expected: None,
            trace: &TraceHeaders::default(),
            payload: Bytes::copy_from_slice(&seed),
        };
        // Whoever was first has made it, so what stands there decides, not the answer.
        let deadline = Self::ack_deadline(self.deadline());
        let _ = self.connection().publish(publication, deadline).await;
        let seed = self.receipt_seed_made().await?;
        seed.ok_or(Unavailable::new("the receipts' key cannot be made"))
    }

    /// The seed, where it has been asked for before; `None`: no receipt was ever signed.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn receipt_seed_made(&self) -> Result<Option<[u8; RECEIPT_SEED_BYTES]>, Unavailable> {
        let subject = subject();
        let last = Which::LastOf(&subject);
        let connection = self.connection();
        let stored = connection.get_from_leader(REGISTRY_STREAM, &last, self.deadline());
        let unreadable = Unavailable::new("the receipts' key cannot be read");
        let seed = |message: crate::get::RawMessage| {
            <[u8; RECEIPT_SEED_BYTES]>::try_from(message.payload.as_ref()).map_err(|_| unreadable)
        };
        stored.await?.map(seed).transpose()
    }
}

fn subject() -> String {
    format!("{REGISTRY_PREFIX}{KEY}")
}
