//! Unfinished uploads of killed processes. No listing of objects has them, but they keep their content.

use std::sync::Arc;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use object_store::aws::AmazonS3;
use object_store::client::{HttpClient, HttpError, HttpRequest, HttpRequestBody};
use object_store::multipart::MultipartStore as _;
use object_store::path::Path;
use object_store::signer::{Method, SignedUrlOptions, Signer as _};
use object_store::{Error, Result};
use serde::Deserialize;
use thiserror::Error as ThisError;

use super::s3_settings::Retries;

/// The time for which a signed request is valid.
const SIGNATURE_VALIDITY: Duration = Duration::from_mins(5);
const NOT_IMPLEMENTED: u16 = 501;

/// A bucket, and a client for the requests that `object_store` does not have.
#[derive(Debug)]
pub(super) struct Uploads {
    pub(super) objects: Arc<AmazonS3>,
    pub(super) client: HttpClient,
    pub(super) retries: Retries,
}

/// Errors of a list of unfinished uploads.
#[derive(Debug, ThisError)]
enum ListError {
    #[error("the list of unfinished uploads failed with {status}: {body}")]
    Status { status: u16, body: String },
    #[error("the list of unfinished uploads failed")]
    Http(#[from] HttpError),
    #[error("the list of unfinished uploads cannot be read")]
    Body(#[from] quick_xml::DeError),
    #[error("the list of unfinished uploads cannot be requested")]
    Request(#[source] Box<dyn std::error::Error + Send + Sync>),
}

#[derive(Deserialize)]
struct UploadList {
    #[serde(rename = "Upload", default)]
    uploads: Vec<Upload>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Upload {
    key: String,
    upload_id: String,
}

impl Uploads {
    /// Aborts the unfinished uploads of an object, which removes their parts. A server that cannot list them (501) keeps them.
    pub(super) async fn abort(&self, path: &Path) -> Result<()> {
        let retries = ExponentialBuilder::default()
            .with_min_delay(self.retries.backoff_first)
            .with_max_delay(self.retries.backoff_max)
            .with_max_times(self.retries.count_max)
            .with_total_delay(Some(self.retries.elapsed_max))
            .with_jitter();
        let listed = (|| self.list(path))
            .retry(retries)
            .when(is_transient)
            .await
            .map_err(|source| Error::Generic { store: "S3", source: Box::new(source) })?;
        for upload in listed {
            match self.objects.abort_multipart(path, &upload).await {
                // It was finished or aborted just now.
                Ok(()) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The ids of an object's unfinished uploads; at most one page, which has 1,000.
    async fn list(&self, path: &Path) -> Result<Vec<String>, ListError> {
        let query = [("uploads", ""), ("prefix", path.as_ref())];
        let options = SignedUrlOptions::new().with_query(query);
        let bucket = Path::default();
        let url = self
            .objects
            .signed_url_opts(Method::GET, &bucket, SIGNATURE_VALIDITY, &options)
            .await
            .map_err(|error| ListError::Request(error.into()))?;
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        let uri = url.as_str().parse();
        *request.uri_mut() = uri.map_err(|error| ListError::Request(Box::new(error)))?;
        let reply = self.client.execute(request).await?;
        let status = reply.status();
        let body = reply.into_body().bytes().await?;
        if status.as_u16() == NOT_IMPLEMENTED {
            return Ok(Vec::new());
        }
        let body = String::from_utf8_lossy(&body);
        if !status.is_success() {
            return Err(ListError::Status { status: status.as_u16(), body: body.into_owned() });
        }
        let list: UploadList = quick_xml::de::from_str(&body)?;
        let of_object = list.uploads.into_iter().filter(|upload| upload.key == path.as_ref());
        Ok(of_object.map(|upload| upload.upload_id).collect())
    }
}

fn is_transient(error: &ListError) -> bool {
    match error {
        ListError::Status { status, .. } => *status == 429 || *status >= 500,
        ListError::Http(_) => true,
        ListError::Body(_) | ListError::Request(_) => false,
    }
}
