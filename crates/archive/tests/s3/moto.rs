//! The server `moto`, one process for all tests of this process.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use crate::http::client;

const REQUIREMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/s3/moto.txt");
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/s3/serve_moto.py");
const PIP_INSTALL: &str = "-m pip install --quiet --disable-pip-version-check --no-deps --no-input --require-hashes \
                           --only-binary=:all:";

static MOTO: OnceLock<Moto> = OnceLock::new();

/// It ends when its standard input closes: with this process, also if that is killed.
pub(crate) struct Moto {
    _process: Child,
    url: String,
}

impl Moto {
    pub(crate) fn shared() -> &'static Self {
        MOTO.get_or_init(Self::start)
    }

    fn start() -> Self {
        let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join("moto.log");
        let mut process = Command::new("python3")
            .arg(PROGRAM)
            .env("PYTHONPATH", installed())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(log).unwrap())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = lines
            .map_while(Result::ok)
            .find_map(|line| Some(line.strip_prefix("port ")?.to_owned()))
            .expect("moto did not start: see moto.log");
        Self { _process: process, url: format!("http://127.0.0.1:{port}") }
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    pub(crate) async fn create_bucket(&self, bucket: &str) {
        let created = client().put(format!("{}/{bucket}", self.url)).send().await;
        created.unwrap().error_for_status().unwrap();
    }

    /// The number of unfinished uploads.
    pub(crate) async fn unfinished_uploads(&self, bucket: &str) -> usize {
        let uploads = client().get(format!("{}/{bucket}?uploads", self.url));
        let listed = uploads.send().await.unwrap().error_for_status().unwrap();
        listed.text().await.unwrap().matches("<UploadId>").count()
    }
}

/// The folder of the packages, below the target folder. They are installed once.
fn installed() -> PathBuf {
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let requirements = fs::read(REQUIREMENTS).unwrap();
    let version = hex::encode(&<sha2::Sha256 as sha2::Digest>::digest(requirements)[..8]);
    let folder = parent.join(format!("moto-{version}"));
    // Other processes of tests wait; the lock ends with the file.
    let lock = File::create(parent.join("moto.lock")).unwrap();
    lock.lock().unwrap();
    if folder.is_dir() {
        return folder;
    }
    let partial = parent.join("moto.partial");
    if partial.exists() {
        fs::remove_dir_all(&partial).unwrap();
    }
    let installed = Command::new("python3")
        .args(PIP_INSTALL.split_whitespace())
        .args(["-r", REQUIREMENTS, "--target"])
        .arg(&partial)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&installed.stderr);
    assert!(installed.status.success(), "pip failed: {stderr}");
    fs::rename(&partial, &folder).unwrap();
    folder
}
