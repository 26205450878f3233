//! The password of a developer's NATS, the same in every run: a file with mode 0600 in the data folder. Without it, every user of the
//! machine could read and write the record.

use std::path::{Path, PathBuf};

use rand::distr::{Alphanumeric, SampleString as _};

use crate::secret_file;

const FILE: &str = "nats.password";
/// 190 random bits.
const CHARS: usize = 32;

/// The path of the file.
pub(super) fn path(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE)
}

/// Reads the password, or creates it.
pub(super) fn prepare(data_dir: &Path) -> anyhow::Result<String> {
    secret_file::read_or_create(&path(data_dir), || Alphanumeric.sample_string(&mut rand::rng(), CHARS))
}
