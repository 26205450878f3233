//! The stack that the tests of a process share.

use std::ops::{Deref, DerefMut};
use std::thread;
use std::time::Duration;

use serde_json::json;
use tokio::runtime::Builder;
use tokio::sync::{OnceCell, oneshot};
use uuid::Uuid;

use crate::stack::{Setup, Stack};

/// The delay before each word of the model server `slow` of the shared stack. Its other model server is `echo`.
pub const WORD_DELAY: Duration = Duration::from_millis(40);

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

/// The stack of a test.
#[derive(Debug)]
pub enum TestStack {
    /// The one that all tests of the process share.
    Shared(&'static Stack),
    /// One that no other test uses.
    Own(Box<Stack>),
}

impl TestStack {
    /// A stack that no other test uses.
    #[must_use]
    pub fn own(stack: Stack) -> Self {
        Self::Own(Box::new(stack))
    }

    /// Names of tenants and agents for one test. In the shared stack they have a suffix that no other test has. They live as long as the
    /// process.
    #[must_use]
    pub fn names<const N: usize>(&self, names: [&'static str; N]) -> [&'static str; N] {
        match self {
            Self::Own(_) => names,
            Self::Shared(_) => {
                let suffix = Uuid::now_v7().simple().to_string();
                names.map(|name| &*format!("{name}-{suffix}").leak())
            }
        }
    }
}

impl Deref for TestStack {
    type Target = Stack;

    fn deref(&self) -> &Stack {
        match self {
            Self::Shared(stack) => stack,
            Self::Own(stack) => stack,
        }
    }
}

impl DerefMut for TestStack {
    /// To stop, start and change its roles.
    ///
    /// # Panics
    /// When other tests share it.
    fn deref_mut(&mut self) -> &mut Stack {
        match self {
            Self::Shared(_) => panic!("a test that changes the stack needs one of its own"),
            Self::Own(stack) => stack,
        }
    }
}

/// Starts it on a runtime of its own: that of a test ends with the test.
async fn start() -> &'static Stack {
    let (sender, started) = oneshot::channel();
    thread::spawn(move || {
        let runtime = Builder::new_multi_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let mut stack = Setup::tasks().prepare().await;
            let models = json!({"slow": {"kind": "echo", "echo_word_delay_ms": WORD_DELAY.as_millis()}});
            stack.gateway.settings.gateway.models = serde_json::from_value(models).expect("model servers");
            stack.start().await;
            let stack: &'static Stack = Box::leak(Box::new(stack));
            sender.send(stack).ok();
            std::future::pending::<()>().await;
        });
    });
    started.await.expect("a shared stack")
}
