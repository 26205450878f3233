//! Reports when keys were last used to the writer, which stores it.

use std::convert::Infallible;
use std::time::Duration;

use registry::{Registry, key_uses_to_proto};
use runtime::every::every;
use wire::proto::operate::v1::RecordKeyUsesRequest;

use record_access::writer::{ATTEMPT_MAX, WriterClient};

/// Reports until its task is cancelled. A lost report is not repeated: the next use of the key is later.
pub(crate) async fn run(registry: Registry, writer: WriterClient, pause: Duration) -> Infallible {
    let mut rounds = every(pause);
    loop {
        rounds.next().await;
        let uses = key_uses_to_proto(&registry.take_key_uses());
        if uses.is_empty() {
            continue;
        }
        let recorded = writer.registry(ATTEMPT_MAX).record_key_uses(RecordKeyUsesRequest { uses }).await;
        if let Err(status) = recorded {
            let code = status.code();
            tracing::warn!(?code, "the last uses of keys could not be reported");
        }
    }
}
