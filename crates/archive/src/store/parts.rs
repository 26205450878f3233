//! Uploads in parts: each part has its own timeout and retries.

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt as _, Result};

/// Size of a part in bytes; the last part is smaller or equal. An object of more bytes is uploaded in parts. S3 needs at least
/// 5 MiB; at the timeout of a request, this is 280 kB/s.
pub const PART_BYTES: usize = 8 * 1_024 * 1_024;
/// Maximum number of parts that are uploaded at the same time.
const PARTS_IN_FLIGHT: usize = 4;

/// Uploads an object in parts. It is visible after the last step only. A failed upload is aborted, which removes its parts.
pub(super) async fn put_parts(objects: &dyn ObjectStore, path: &Path, bytes: Bytes) -> Result<()> {
    let mut upload = objects.put_multipart(path).await?;
    let uploaded = upload_parts(upload.as_mut(), bytes).await;
    if uploaded.is_err() {
        // The cause is the first error. Parts that stay are removed by a lifecycle rule of the bucket.
        let _aborted = upload.abort().await;
    }
    uploaded
}

/// After a failure, no further part starts; those on their way are awaited, so that none arrives after the abort.
async fn upload_parts(upload: &mut dyn MultipartUpload, mut bytes: Bytes) -> Result<()> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let part = bytes.split_to(bytes.len().min(PART_BYTES));
        parts.push(upload.put_part(part.into()));
    }
    let mut parts = parts.into_iter();
    let mut in_flight: FuturesUnordered<_> = parts.by_ref().take(PARTS_IN_FLIGHT).collect();
    let mut uploaded = Ok(());
    while let Some(part) = in_flight.next().await {
        uploaded = uploaded.and(part);
        if uploaded.is_ok() {
            in_flight.extend(parts.next());
        }
    }
    uploaded?;
    upload.complete().await.map(drop)
}
