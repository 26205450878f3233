//! Runs the commands in documents: shell blocks in order, each JSON block as `settings.json`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::dev::{Dev, PROGRAM};

/// The pages, in order: later pages use the tenant and the agent of earlier ones.
const PAGES: [&str; 17] = [
    "docs/tutorial/first-bot.md",
    "docs/reference/agent-settings.md",
    "docs/how-to/identify-callers.md",
    "docs/how-to/set-quotas.md",
    "docs/how-to/set-retention.md",
    "docs/how-to/set-up-tools.md",
    "docs/how-to/summarise-histories.md",
    "docs/how-to/log-provider-calls.md",
    "docs/how-to/import-conversations.md",
    "docs/how-to/use-keyed-histories.md",
    "docs/how-to/store-documents.md",
    PROOF,
    "docs/how-to/tail-and-replay.md",
    "docs/how-to/verify-and-repair.md",
    "docs/how-to/rebuild-rows.md",
    "docs/how-to/back-up-and-restore.md",
    "docs/how-to/erase.md",
];

/// The first page that uses the conversation `c-1`.
const PROOF: &str = "docs/how-to/prove-a-context.md";

/// Creates the conversation `c-1` of the agent `support`, as a back end does.
const MAKE_CONVERSATION: &str = r#"
hansard agent set support --reset --model echo
python3 - <<'PYTHON'
import json, os, urllib.request
def post(path, body):
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["HANSARD_TOKEN"],
               "x-agent-id": "support"}
    request = urllib.request.Request(os.environ["HANSARD_HTTP"] + path, json.dumps(body).encode(), headers)
    return urllib.request.urlopen(request).read()
post("/v1/conversations", {"userId": "ada", "id": "c-1"})
messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
post("/v1/conversations/c-1/events", {"messages": messages})
PYTHON
"#;

/// Runs every page.
pub(crate) fn run_as_printed(dev: &Dev) {
    let printed = PAGES.map(|page| run(dev, page));
    // The tutorial's bot got two answers, and its context has both turns.
    for words in ["echo: My name is Ada.", "echo: What is my name?", "Answer in one sentence."] {
        assert!(printed[0].contains(words), "{}", printed[0]);
    }
}

/// Runs the commands of a page and returns their output.
fn run(dev: &Dev, page: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join(page)).expect(page);
    let folder = dev.folder.path().join("pages").join(page);
    fs::create_dir_all(&folder).expect("a folder");
    let programs = Path::new(PROGRAM).parent().expect("a folder").display();
    let path = std::env::var("PATH").unwrap_or_default();
    let environment = dev.environment.iter().map(|(name, value)| (name, value));
    let before = if page == PROOF { MAKE_CONVERSATION } else { "" };
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &(before.to_owned() + &script(&text))])
        .current_dir(folder)
        .envs(environment)
        .env("PATH", format!("{programs}:{path}"))
        .env("HANSARD_HTTP", dev.http_url())
        .env("HANSARD_RECORD__NATS_URL", dev.nats_url())
        .env("HANSARD_READ_MODEL__DATABASE_URL", dev.database_url())
        .stdin(Stdio::null())
        .output()
        .expect("bash");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{page}: {errors}\n{printed}");
    printed
}

/// Joins the blocks of a page to one script.
fn script(text: &str) -> String {
    let mut script = String::new();
    let blocks = text.split("\n```").skip(1).step_by(2);
    for (language, code) in blocks.filter_map(|block| block.split_once('\n')) {
        match language {
            "sh" => writeln!(script, "{code}").expect("text"),
            "json" => {
                let file = format!("cat > settings.json <<'JSON'\n{code}\nJSON\n");
                script += &file;
            }
            _ => {}
        }
    }
    script
}
