//! A person at a terminal, which is a pseudo-terminal of the test.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use tests::eventually::{eventually_true, within};
use tests::proxy::{Direction, Network, Proxy};
use tokio::process::Child;

use super::Person;
use crate::turns::fixture::TurnFixture;

/// The question of a program for the position of the cursor, and an answer.
const POSITION_QUESTION: &str = "\u{1b}[6n";
const POSITION: &[u8] = b"\x1b[1;1R";

/// A terminal with a running chat.
struct Terminal {
    child: Child,
    keyboard: File,
    /// What the chat has written.
    screen: Arc<Mutex<String>>,
}

impl Terminal {
    fn start(person: &Person, arguments: &[&str]) -> Self {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let size = Winsize { ws_row: 40, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&keyboard, size).unwrap();
        let path = ptsname(&keyboard, Vec::new()).unwrap();
        let device = open(&path, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let stdio = |device: &OwnedFd| Stdio::from(device.try_clone().unwrap());
        let mut command = person.command(arguments);
        command.env("TERM", "xterm-256color").stdin(stdio(&device));
        let child = command.stdout(stdio(&device)).stderr(stdio(&device)).spawn();
        let keyboard = File::from(keyboard);
        let screen = Arc::default();
        let reader = (keyboard.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || show(reader.0, &reader.1));
        Self { child: child.unwrap(), keyboard, screen }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the screen has this text, after everything that was waited for before.
    async fn shows(&self, text: &str) {
        eventually_true(&format!("{text:?} on the screen"), || {
            let mut screen = self.screen.lock().unwrap();
            let found = screen.find(text).map(|start| start + text.len());
            if let Some(end) = found {
                screen.drain(..end);
            }
            found.is_some()
        })
        .await;
    }

    /// Types a line and, when the editor shows its end, presses Enter.
    async fn enter(&mut self, line: &str) {
        self.press(line);
        let end = line.split(' ').next_back().unwrap();
        self.shows(end).await;
        self.press("\r");
    }

    /// Waits until the editor has returned a line: it reads single keys until then.
    async fn line_is_read(&self) {
        eventually_true("the end of the editor", || {
            let modes = tcgetattr(&self.keyboard).unwrap().local_modes;
            modes.contains(LocalModes::ICANON)
        })
        .await;
    }

    fn interrupt(&self) {
        let id = i32::try_from(self.child.id().unwrap()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), Signal::INT).unwrap();
    }

    async fn end(mut self) {
        self.press("\u{4}");
        let status = within("the end of a chat", self.child.wait()).await;
        assert_eq!(status.unwrap().code(), Some(0));
    }
}

/// Collects what the chat writes, and answers its questions for the position of the cursor.
fn show(mut terminal: File, screen: &Mutex<String>) {
    let mut bytes = [0; 4096];
    // The terminal ends with its last program.
    while let Ok(count @ 1..) = terminal.read(&mut bytes) {
        let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
        for _ in text.matches(POSITION_QUESTION) {
            let _ = terminal.write_all(POSITION);
        }
        screen.lock().unwrap().push_str(&text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_asks_edits_stops_and_finds_earlier_messages() {
    let fixture = TurnFixture::new().await;
    let person = Person::of(&fixture).await;
    let mut terminal = Terminal::start(&person, &["--no-color"]);
    terminal.shows("/help lists commands").await;
    terminal.enter("**hello**").await;
    terminal.shows("echo: hello").await;
    terminal.enter("/nothing").await;
    terminal.shows("see /help").await;
    // A backslash continues the message. Its first paragraph is a block of the answer, and the second takes seconds.
    terminal.enter("first\\").await;
    terminal.enter("\\").await;
    let words: Vec<String> = (0..200).map(|word| format!("w{word}")).collect();
    terminal.enter(&words.join(" ")).await;
    terminal.shows("echo: first").await;
    terminal.interrupt();
    terminal.shows("the answer so far is kept").await;
    // Ctrl-R finds an earlier message.
    terminal.shows("> ").await;
    terminal.press("\u{12}hello");
    terminal.shows("(search: hello) ").await;
    terminal.shows("**hello**").await;
    terminal.press("\r");
    terminal.press("\r");
    terminal.shows("echo: hello").await;
    terminal.shows("> ").await;
    terminal.end().await;
    let history = std::fs::read_to_string(person.folder.path().join("history")).unwrap();
    assert!(history.contains("**hello**") && history.contains("/nothing"), "{history}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_during_a_command_does_not_stop_the_next_answer() {
    let fixture = TurnFixture::new().await;
    let mut person = Person::of(&fixture).await;
    let gateway = fixture.stack.gateway.settings.gateway.http.server.addr;
    let proxy = Proxy::start(tests::port::free(), gateway).await;
    person.url = format!("http://{}", proxy.addr());
    let mut terminal = Terminal::start(&person, &["--no-color"]);
    terminal.shows("/help lists commands").await;
    proxy.set(Network::Muted(Direction::ToClient));
    terminal.enter("/list").await;
    terminal.line_is_read().await;
    terminal.interrupt();
    proxy.set(Network::Normal);
    terminal.shows("NUMBER").await;
    terminal.shows("> ").await;
    terminal.enter("hello").await;
    terminal.shows("echo: hello").await;
    terminal.shows("> ").await;
    terminal.end().await;
}
