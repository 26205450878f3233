//! The configuration file of nats-server.

use std::path::{Path, PathBuf};

use super::ready::Ports;

/// The largest message that the server takes, in bytes.
pub const MAX_PAYLOAD_BYTES: u32 = 8 * 1024 * 1024;

/// When the server syncs what it acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Before it acknowledges (`sync_interval: always`): a power failure loses nothing acknowledged.
    #[default]
    Always,
    /// Every two minutes, the server's default: faster, and a power failure loses what is recent.
    ServerDefault,
}

/// How to start a nats-server with `JetStream`.
#[derive(Debug, Clone)]
pub struct NatsConfig {
    /// Its own folder: store, configuration, log. Made if it is missing; used by one process at a time.
    pub folder: PathBuf,
    /// The preferred port for clients; a free one when `None` or taken.
    pub port: Option<u16>,
    /// The server's name.
    pub server_name: String,
    /// When it syncs.
    pub durability: Durability,
    /// Further lines of its configuration file, such as a cluster block.
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
            extra: String::new(),
        }
    }
}

/// The text of the file. `ports` are exact.
pub(super) fn render(
    config: &NatsConfig,
    folder: &Path,
    ports_folder: &Path,
    ports: Ports,
) -> String {
    let sync = match config.durability {
        Durability::Always => "sync_interval: always",
        Durability::ServerDefault => "",
    };
    let Ports { client, monitor } = ports;
    let (name, extra) = (quote(&config.server_name), &config.extra);
    let store = quote(&folder.join("store").to_string_lossy());
    let ports_folder = quote(&ports_folder.to_string_lossy());
    format!(
        "listen: \"127.0.0.1:{client}\"\n\
         http: \"127.0.0.1:{monitor}\"\n\
         server_name: {name}\n\
         max_payload: {MAX_PAYLOAD_BYTES}\n\
         ports_file_dir: {ports_folder}\n\
         jetstream {{\n    store_dir: {store}\n    {sync}\n}}\n\
         {extra}\n"
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
        let ports = Ports {
            client: 4222,
            monitor: 8222,
        };
        let text = render(
            &config,
            Path::new("/data/a \"b\""),
            Path::new("/data/ports"),
            ports,
        );
        assert_eq!(
            text.lines().any(|found| found.trim() == line),
            present,
            "{line} in {text}"
        );
    }

    #[test]
    fn the_file_says_what_was_asked_for() {
        check(Durability::Always, "sync_interval: always", true);
        check(Durability::ServerDefault, "sync_interval: always", false);
        check(Durability::Always, "max_payload: 8388608", true);
        check(Durability::Always, "listen: \"127.0.0.1:4222\"", true);
        check(Durability::Always, "http: \"127.0.0.1:8222\"", true);
        check(
            Durability::Always,
            r#"store_dir: "/data/a \"b\"/store""#,
            true,
        );
    }
}
