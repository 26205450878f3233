//! `hansard chat`: a client of the gateway's HTTP API, for people at a terminal and for scripts.
//!
//! Pure modules fold the stream ([`answer`]), split Markdown ([`blocks`]), parse commands ([`slash`]) and make texts safe
//! ([`crate::printable`]). [`gateway`], [`stream`], [`session`], [`input`] and [`screen`] do the input and output. The gateway has all
//! state: this program keeps only the session and the history of the prompt.

mod actions;
mod answer;
mod blocks;
mod gateway;
mod input;
mod model_input;
mod screen;
mod session;
mod slash;
mod stream;
mod turn;

use std::io;
use std::path::PathBuf;

use anyhow::bail;
use uuid::Uuid;

use crate::exit::{self, Exit};
use crate::printable::line;
use answer::{Call, Outcome};
pub(crate) use gateway::Endpoint;
use gateway::{Gateway, GatewayError};
use input::{Entry, Input, too_long};
use screen::Screen;
pub(crate) use screen::Style;
pub(crate) use session::default_file;
use slash::{Action, Line};
use turn::{Message, Turns};

/// Most characters of a call's input in a question.
const QUESTION_CHARS_MAX: usize = 300;
/// How often a question is asked.
const QUESTIONS_MAX: usize = 3;

/// Where messages come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// One message.
    Message(String),
    /// The whole standard input is one message.
    Standard,
    /// Each line of standard input is a message or a command.
    Lines,
    /// A person at a terminal. The folder has the history.
    Terminal(PathBuf),
}

/// A chat.
struct Chat {
    turns: Turns,
    input: Option<Input>,
    /// The open conversation; `None`: the next message begins one.
    conversation: Option<String>,
    /// The message that the next one replaces.
    replaces: Option<String>,
    /// The ids of the last list.
    listed: Vec<String>,
    /// How the last answer ended.
    reply: Option<Outcome>,
    /// Calls that nobody has decided about or answered.
    waiting: Vec<Call>,
}

/// Chats until the input ends.
///
/// # Errors
/// The arguments are invalid, or a message of a script has no answer.
pub(crate) async fn run(
    endpoint: Endpoint,
    source: Source,
    style: Style,
    conversation: Option<String>,
) -> anyhow::Result<Exit> {
    let (input, message) = match source {
        Source::Message(text) => (None, Some(text)),
        Source::Standard => (None, Some(input::whole()?)),
        Source::Lines => (Some(Input::pipe()), None),
        Source::Terminal(folder) => {
            let input = Input::terminal(&folder, style == Style::Coloured)?;
            (Some(input), None)
        }
    };
    let gateway = Gateway::connect(endpoint).await?;
    let mut chat = Chat {
        turns: Turns::new(gateway, Screen::new(style))?,
        input,
        conversation,
        replaces: None,
        listed: Vec::new(),
        reply: None,
        waiting: Vec::new(),
    };
    match message {
        Some(message) => chat.ask_once(&message).await,
        None => chat.talk().await,
    }
}

impl Chat {
    /// Sends one message. Standard output has the answer and nothing else.
    async fn ask_once(&mut self, message: &str) -> anyhow::Result<Exit> {
        if message.trim().is_empty() {
            return Err(exit::UsageError("the message is empty: give a question".to_owned()).into());
        }
        if message.len() > input::MESSAGE_BYTES_MAX {
            return Err(exit::UsageError(too_long().to_owned()).into());
        }
        self.send(message).await?;
        self.exit()
    }

    /// Reads messages and commands until the input ends.
    async fn talk(&mut self) -> anyhow::Result<Exit> {
        if let Some(id) = self.conversation.clone() {
            let opened = self.act(Action::Open, &id).await;
            self.report(opened.or_else(unless_missing))?;
        }
        if self.is_terminal() {
            self.turns.screen.note("Ctrl-C stops an answer, Ctrl-D ends, /help lists commands.")?;
        }
        loop {
            match self.next_entry().await? {
                None => return Ok(Exit::Stopped),
                Some(Entry::End) => return self.exit(),
                Some(Entry::Cancelled) => {}
                Some(Entry::TooLong) => self.report(Err(anyhow::anyhow!(too_long())))?,
                Some(Entry::Text(text)) => {
                    let line = slash::parse(&text);
                    if matches!(line, Line::Command(Action::Quit, _)) {
                        return self.exit();
                    }
                    let done = self.take(line).await;
                    self.report(done)?;
                }
            }
            if self.is_interrupted() && !self.is_terminal() {
                return Ok(Exit::Stopped);
            }
        }
    }

    /// The next entry; `None`: Ctrl-C ends a script.
    async fn next_entry(&mut self) -> anyhow::Result<Option<Entry>> {
        let is_terminal = self.is_terminal();
        let Some(input) = &mut self.input else {
            return Ok(Some(Entry::End));
        };
        let entry = tokio::select! {
            biased;
            // A terminal's editor reads Ctrl-C itself.
            () = self.turns.interrupted(), if !is_terminal => return Ok(None),
            entry = input.message() => entry?,
        };
        if is_terminal {
            self.turns.discard_interrupts()?;
        }
        Ok(Some(entry))
    }

    async fn take(&mut self, line: Line<'_>) -> anyhow::Result<()> {
        match line {
            Line::Empty => Ok(()),
            Line::Message(text) => self.send(text).await,
            Line::Command(action, argument) => self.act(action, argument).await,
            Line::Unknown(name) => bail!("/{name} is no command: see /help"),
        }
    }

    async fn send(&mut self, text: &str) -> anyhow::Result<()> {
        let new_id = || Uuid::now_v7().to_string();
        let conversation = self.conversation.get_or_insert_with(new_id).clone();
        self.waiting.clear();
        let message = Message { conversation: &conversation, text, replaces: self.replaces.as_deref() };
        let reply = self.turns.send(message).await?;
        self.replaces = None;
        self.reply = Some(reply.outcome);
        self.decide(reply.waiting).await?;
        self.show_outcome()
    }

    /// Asks about each call that needs a decision, until none does.
    async fn decide(&mut self, mut waiting: Vec<Call>) -> anyhow::Result<()> {
        let Some(conversation) = self.conversation.clone() else {
            return Ok(());
        };
        loop {
            let mut decisions = Vec::new();
            for call in waiting.iter().filter(|call| call.needs_approval) {
                if let Some(approved) = self.ask(call).await? {
                    decisions.push((call.clone(), approved));
                }
            }
            if decisions.is_empty() {
                self.waiting = waiting;
                return self.show_waiting();
            }
            waiting.retain(|call| decisions.iter().all(|(decided, _)| decided.id != call.id));
            let reply = self.turns.decide(&conversation, decisions).await?;
            self.reply = Some(reply.outcome);
            waiting.extend(reply.waiting);
        }
    }

    /// Asks whether a call may run; `None`: nobody answers.
    async fn ask(&mut self, call: &Call) -> anyhow::Result<Option<bool>> {
        let is_terminal = self.is_terminal();
        let Some(input) = &mut self.input else {
            return Ok(None);
        };
        let shown = |text: &str| line(text, QUESTION_CHARS_MAX);
        let question = format!("Run {}({})? [y/n] ", shown(&call.tool), shown(&call.input));
        for _ in 0..QUESTIONS_MAX {
            let answer = input.answer(&question).await?;
            if is_terminal {
                self.turns.discard_interrupts()?;
            }
            match answer {
                Entry::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
                    "y" | "yes" => return Ok(Some(true)),
                    "n" | "no" => return Ok(Some(false)),
                    _ => {}
                },
                Entry::TooLong => {}
                Entry::Cancelled | Entry::End => return Ok(None),
            }
        }
        Ok(None)
    }

    fn show_waiting(&self) -> anyhow::Result<()> {
        for call in &self.waiting {
            let what = if call.needs_approval { "a decision" } else { "its result" };
            self.turns.screen.note(&format!("({} waits for {what})", line(&call.tool, QUESTION_CHARS_MAX)))?;
        }
        Ok(())
    }

    fn show_outcome(&self) -> anyhow::Result<()> {
        match &self.reply {
            Some(Outcome::Failed(why)) => {
                bail!("the answer failed: {}", line(why, QUESTION_CHARS_MAX))
            }
            Some(Outcome::Stopped) => Ok(self.turns.screen.note("(stopped: the answer so far is kept)")?),
            Some(Outcome::Detached) => Ok(self
                .turns
                .screen
                .note("(not stopped: the answer may continue; open the conversation again to see it)")?),
            Some(Outcome::Completed) | None => Ok(()),
        }
    }

    /// Begins a conversation with the next message.
    fn open_new(&mut self) {
        self.conversation = None;
        self.replaces = None;
        self.waiting.clear();
    }

    /// Whether Ctrl-C ended the last answer.
    fn is_interrupted(&self) -> bool {
        matches!(self.reply, Some(Outcome::Stopped | Outcome::Detached))
    }

    fn is_terminal(&self) -> bool {
        matches!(self.input, Some(Input::Terminal(_)))
    }

    /// A failure ends a script. At a terminal it is shown, and the chat continues.
    fn report(&self, done: anyhow::Result<()>) -> anyhow::Result<()> {
        match done {
            Err(error) if self.is_terminal() && !is_closed(&error) => {
                Ok(self.turns.screen.note(&exit::describe(&error))?)
            }
            done => done,
        }
    }

    /// The exit code of a chat that ends.
    fn exit(&self) -> anyhow::Result<Exit> {
        if self.is_terminal() {
            return Ok(Exit::Done);
        }
        if self.is_interrupted() {
            return Ok(Exit::Stopped);
        }
        if let (false, Some(id)) = (self.waiting.is_empty(), &self.conversation) {
            self.turns
                .screen
                .note(&format!("open the conversation at a terminal: hansard chat --conversation {id}"))?;
            return Ok(Exit::WaitsForTool);
        }
        Ok(Exit::Done)
    }
}

/// The first message of a conversation creates it.
fn unless_missing(error: anyhow::Error) -> anyhow::Result<()> {
    match error.downcast_ref() {
        Some(GatewayError::Rejected { code, .. }) if code == "CONVERSATION_NOT_FOUND" => Ok(()),
        _ => Err(error),
    }
}

/// Whether the output is closed.
fn is_closed(error: &anyhow::Error) -> bool {
    error.downcast_ref().map(io::Error::kind) == Some(io::ErrorKind::BrokenPipe)
}
