//! The configuration file of Postgres.

use std::path::{Path, PathBuf};

/// The purpose of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Real data: it is synced before it is acknowledged; 256 MB of shared buffers. Only the Unix socket accepts connections, whose folder
    /// only the server's user can enter: other users of the machine have no way in, and there is no password.
    #[default]
    Dev,
    /// Temporary data: it is never synced, so that a power failure loses it (but not a `kill -9`); 64 MB of shared buffers. It accepts
    /// connections over TCP from this machine too, for tests of the network.
    Test,
}

/// The settings of a Postgres server.
#[derive(Debug, Clone)]
pub struct PostgresConfig {
    /// The folder of data and log. It is created if it is missing. One process uses it at a time. Under root, uid 65534
    /// must be able to enter it and its parents.
    pub folder: PathBuf,
    /// The preferred TCP port. If it is `None` or in use, a free port is used.
    pub port: Option<u16>,
    /// The purpose.
    pub profile: Profile,
}

impl PostgresConfig {
    /// A durable server in `folder`, on a free port.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), port: None, profile: Profile::default() }
    }
}

/// The text of `postgresql.conf`. Checkpoints keep some of the log, for standbys that start or were stopped. Statements, parameters and details of errors are not logged: they contain message
/// content.
pub(super) fn render(profile: Profile, port: u16, socket_folder: &Path) -> String {
    let (shared_buffers, synced, addresses) = match profile {
        Profile::Dev => ("256MB", "on", ""),
        Profile::Test => ("64MB", "off", "127.0.0.1"),
    };
    let socket_folder = quote(&socket_folder.to_string_lossy());
    format!(
        "listen_addresses = '{addresses}'\n\
         port = {port}\n\
         unix_socket_directories = {socket_folder}\n\
         unix_socket_permissions = 0700\n\
         max_connections = 200\n\
         shared_buffers = {shared_buffers}\n\
         fsync = {synced}\n\
         full_page_writes = {synced}\n\
         synchronous_commit = on\n\
         wal_compression = {synced}\n\
         max_wal_size = 2GB\n\
         wal_keep_size = 128MB\n\
         timezone = 'UTC'\n\
         log_timezone = 'UTC'\n\
         lc_messages = 'C'\n\
         log_checkpoints = off\n\
         log_error_verbosity = terse\n\
         log_min_error_statement = panic\n\
         log_parameter_max_length = 0\n\
         log_parameter_max_length_on_error = 0\n"
    )
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(profile: Profile, line: &str) {
        let text = render(profile, 5433, Path::new("/tmp/it's"));
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }

    #[test]
    fn the_file_has_the_settings() {
        check(Profile::Dev, "fsync = on");
        check(Profile::Dev, "shared_buffers = 256MB");
        check(Profile::Test, "fsync = off");
        check(Profile::Dev, "wal_compression = on");
        check(Profile::Test, "wal_compression = off");
        check(Profile::Test, "shared_buffers = 64MB");
        check(Profile::Test, "synchronous_commit = on");
        check(Profile::Dev, "listen_addresses = ''");
        check(Profile::Test, "listen_addresses = '127.0.0.1'");
        check(Profile::Dev, "port = 5433");
        check(Profile::Test, "wal_keep_size = 128MB");
        check(Profile::Dev, "unix_socket_directories = '/tmp/it''s'");
    }
}
