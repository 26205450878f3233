//! The stack that the tests of a process share.

use std::thread;

use tokio::runtime::Builder;
use tokio::sync::{OnceCell, oneshot};

use crate::stack::{Setup, Stack};

static SHARED: OnceCell<&'static Stack> = OnceCell::const_new();

impl Stack {
    /// A running stack that all tests of the process share; each uses tenants of its own ([`Stack::any_agent`]). Tests that change the
    /// settings of a role, stop it, or observe all tenants start their own by [`Setup`].
    ///
    /// It is never dropped: its servers end with the process.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn shared() -> &'static Self {
        SHARED.get_or_init(start).await
    }
}

/// Starts it on a runtime of its own: that of a test ends with the test.
async fn start() -> &'static Stack {
    let (sender, started) = oneshot::channel();
    thread::spawn(move || {
        let runtime = Builder::new_multi_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let stack: &'static Stack = Box::leak(Box::new(Setup::tasks().start().await));
            sender.send(stack).ok();
            std::future::pending::<()>().await;
        });
    });
    started.await.expect("a shared stack")
}
