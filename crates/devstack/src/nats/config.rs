//! The configuration file of nats-server.

use std::path::{Path, PathBuf};

use super::ready::Ports;

/// Maximum size of a message, in bytes.
pub const MAX_PAYLOAD_BYTES: u32 = 8 * 1024 * 1024;
/// Replies that wait for a client before the server closes its connection: a process reads many commits at once.
const MAX_PENDING_BYTES: u32 = 32 * MAX_PAYLOAD_BYTES;

/// The user of a server with a password.
pub(super) const USER: &str = "hansard";

/// When the server syncs acknowledged messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Before the acknowledgement (`sync_interval: always`): a power failure loses no acknowledged message.
    #[default]
    Always,
    /// Every two minutes, the default of the server: faster, but a power failure loses recent messages.
    ServerDefault,
}

/// The settings of a nats-server with `JetStream`.
#[derive(Debug, Clone)]
pub struct NatsConfig {
    /// The folder of store, configuration and log. It is created if it is missing. One process uses it at a time.
    pub folder: PathBuf,
    /// The preferred port for clients. If it is `None` or in use, a free port is used.
    pub port: Option<u16>,
    /// The name of the server.
    pub server_name: String,
    /// When the server syncs.
    pub durability: Durability,
    /// The password of clients; `None`: every user of this machine is a client. It has letters and digits only.
    pub password: Option<String>,
    /// More lines of the configuration file, such as a cluster block.
    pub extra: String,
}

impl NatsConfig {
    /// A durable server in `folder`, on a free port.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            port: None,
            server_name: "hansard".to_owned(),
            durability: Durability::default(),
            password: None,
            extra: String::new(),
        }
    }
}

pub(super) fn render(config: &NatsConfig, folder: &Path, ports_folder: &Path, ports: Ports) -> String {
    let sync = match config.durability {
        Durability::Always => "sync_interval: always",
        Durability::ServerDefault => "",
    };
    let Ports { client, monitor } = ports;
    let (name, extra) = (quote(&config.server_name), &config.extra);
    let password = config.password.as_deref().map_or_else(String::new, |password| {
        format!("authorization {{ user: {USER}, password: {} }}\n", quote(password))
    });
    let store = quote(&folder.join("store").to_string_lossy());
    let ports_folder = quote(&ports_folder.to_string_lossy());
    format!(
        "listen: \"127.0.0.1:{client}\"\n\
         http: \"127.0.0.1:{monitor}\"\n\
         server_name: {name}\n\
         max_payload: {MAX_PAYLOAD_BYTES}\n\
         max_pending: {MAX_PENDING_BYTES}\n\
         ports_file_dir: {ports_folder}\n\
         jetstream {{\n    store_dir: {store}\n    {sync}\n}}\n\
         {password}{extra}\n"
    )
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(durability: Durability, line: &str, present: bool) {
        let mut config = NatsConfig::new("/data/nats");
        config.durability = durability;
        let ports = Ports { client: 4222, monitor: 8222 };
        let text = render(&config, Path::new("/data/a \"b\""), Path::new("/data/ports"), ports);
        assert_eq!(text.lines().any(|found| found.trim() == line), present, "{line} in {text}");
    }

    #[test]
    fn the_file_has_the_settings() {
        check(Durability::Always, "sync_interval: always", true);
        check(Durability::ServerDefault, "sync_interval: always", false);
        check(Durability::Always, "max_payload: 8388608", true);
        check(Durability::Always, "listen: \"127.0.0.1:4222\"", true);
        check(Durability::Always, "http: \"127.0.0.1:8222\"", true);
        let mut config = NatsConfig::new("/data/nats");
        config.password = Some("s3cret".to_owned());
        let text = render(&config, Path::new("/data"), Path::new("/ports"), Ports::default());
        assert!(text.contains("authorization { user: hansard, password: \"s3cret\" }"), "{text}");
        let store = r#"store_dir: "/data/a \"b\"/store""#;
        check(Durability::Always, store, true);
    }
}
