//! The server `s3s-fs`, in this process, over a folder. It checks signatures.

use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tempfile::TempDir;

use crate::bucket::{ACCESS_KEY, SECRET_KEY};
use crate::http::HttpServer;

pub(crate) struct S3sFs {
    server: HttpServer,
    folder: TempDir,
}

impl S3sFs {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut service = S3ServiceBuilder::new(FileSystem::new(folder.path()).unwrap());
        service.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        Self { server: HttpServer::start(service.build()).await, folder }
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    pub(crate) fn create_bucket(&self, bucket: &str) {
        std::fs::create_dir(self.folder.path().join(bucket)).unwrap();
    }

    /// The number of files of unfinished uploads.
    pub(crate) fn unfinished_uploads(&self) -> usize {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        let names = files.map(|file| file.unwrap().file_name());
        let is_of_upload = |name: &String| name.contains(".upload");
        let names = names.map(|name| name.to_string_lossy().into_owned());
        names.filter(is_of_upload).count()
    }
}
