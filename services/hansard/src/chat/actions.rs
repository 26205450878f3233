//! What the commands of a chat do.

use std::fs::OpenOptions;
use std::io::Write as _;

use anyhow::{Context as _, bail};
use reqwest::Method;
use serde_json::{Value, json};

use super::Chat;
use super::answer::{recorded_call, undecided};
use super::model_input;
use super::screen::write_result;
use super::slash::{self, Action};
use super::turn::text_of;
use crate::printable::line;
use crate::{ids, table};

/// Conversations of a list.
const LISTED: usize = 20;
/// Messages that are shown when a conversation is opened.
const MESSAGES_SHOWN: usize = 20;
/// Messages that are searched for calls of tools, and for the message that a rewind replaces.
const MESSAGES_SEARCHED: usize = 200;
/// Most characters of a text in a list.
const TEXT_CHARS_MAX: usize = 200;

impl Chat {
    /// Does what a command does; [`Action::Quit`] does nothing.
    pub(super) async fn act(&mut self, action: Action, argument: &str) -> anyhow::Result<()> {
        match action {
            Action::New => {
                self.open_new();
                Ok(())
            }
            Action::List => self.list().await,
            Action::Open => self.open(argument).await,
            Action::Fork => self.fork(argument).await,
            Action::Rewind => self.rewind(argument).await,
            Action::Title => self.title(argument).await,
            Action::Export => self.export(argument).await,
            Action::Tools => self.tools().await,
            Action::Context => self.context().await,
            Action::Help => Ok(write_result(&slash::help())?),
            Action::Quit => Ok(()),
        }
    }

    async fn list(&mut self) -> anyhow::Result<()> {
        let page = self.turns.gateway.get(&format!("/api/chats?limit={LISTED}")).await?;
        let conversations = list(&page, "conversations");
        self.listed = conversations.iter().map(|one| text(one, "id").to_owned()).collect();
        let rows: Vec<_> = conversations.iter().enumerate().map(row).collect();
        let mut out = Vec::new();
        table::write(&mut out, ["NUMBER", "LAST EVENT", "ID", "TITLE"], &rows)?;
        Ok(write_result(&String::from_utf8_lossy(&out))?)
    }

    async fn open(&mut self, argument: &str) -> anyhow::Result<()> {
        let id = match argument.parse::<usize>() {
            Ok(number) => self.listed.get(number.wrapping_sub(1)).cloned(),
            Err(_) => ids::conversation(argument).ok().map(|id| id.as_str().to_owned()),
        };
        let Some(id) = id else {
            bail!("give the id of a conversation, or its number in /list: /open 1");
        };
        let chat = self.turns.gateway.get(&format!("/api/chats/{id}?limit={MESSAGES_SHOWN}")).await?;
        self.conversation = Some(id.clone());
        self.replaces = None;
        self.show_title(&chat)?;
        let messages = list(&chat, "messages");
        messages.iter().try_for_each(|message| self.show(message))?;
        if chat.get("activeRunId").is_some()
            && let Some(reply) = self.turns.follow_active(&id).await?
        {
            self.reply = Some(reply.outcome);
            return self.decide(reply.waiting).await;
        }
        self.decide(undecided(messages)).await
    }

    fn show(&mut self, message: &Value) -> anyhow::Result<()> {
        let words = text_of(message);
        let screen = &mut self.turns.screen;
        if text(message, "role") == "user" {
            let lines = words.lines().map(|line| format!("> {line}\n"));
            return Ok(write_result(&lines.collect::<String>())?);
        }
        screen.text(&words)?;
        Ok(screen.text_end()?)
    }

    fn show_title(&self, chat: &Value) -> anyhow::Result<()> {
        let title = line(text(chat, "title"), TEXT_CHARS_MAX);
        let title = if title.is_empty() { "no title".to_owned() } else { title };
        Ok(self.turns.screen.note(&format!("({}: {title})", text(chat, "id")))?)
    }

    async fn fork(&mut self, title: &str) -> anyhow::Result<()> {
        let id = self.opened()?.to_owned();
        let body = if title.is_empty() { json!({}) } else { json!({"title": title}) };
        let fork = self.turns.gateway.post(&format!("/api/chats/{id}/fork"), &body).await?;
        let id = text(&fork, "id").to_owned();
        self.turns.screen.note(&format!("(the fork is {id})"))?;
        self.conversation = Some(id);
        self.replaces = None;
        Ok(())
    }

    async fn rewind(&mut self, argument: &str) -> anyhow::Result<()> {
        let count = if argument.is_empty() { Ok(1) } else { argument.parse() };
        let Some(skipped) = count.ok().and_then(|count: usize| count.checked_sub(1)) else {
            bail!("the count is not a number from 1: /rewind 2 replaces your last two messages");
        };
        let id = self.opened()?;
        let chat = self.turns.gateway.get(&format!("/api/chats/{id}?limit={MESSAGES_SEARCHED}")).await?;
        let messages = list(&chat, "messages").iter();
        let mut own = messages.rev().filter(|message| text(message, "role") == "user");
        let Some(message) = own.nth(skipped) else {
            bail!("there are fewer messages of yours among the last {MESSAGES_SEARCHED}: give a smaller count");
        };
        self.replaces = Some(text(message, "id").to_owned());
        let question = line(&text_of(message), TEXT_CHARS_MAX);
        self.turns
            .screen
            .note(&format!("(your next message replaces this one, and everything after it: {question})"))?;
        Ok(())
    }

    async fn title(&mut self, title: &str) -> anyhow::Result<()> {
        let path = format!("/api/chats/{}", self.opened()?);
        if title.is_empty() {
            let chat = self.turns.gateway.get(&format!("{path}?limit=1")).await?;
            return self.show_title(&chat);
        }
        self.turns.gateway.patch(&path, &json!({"title": title})).await?;
        Ok(())
    }

    async fn export(&mut self, argument: &str) -> anyhow::Result<()> {
        let id = self.opened()?;
        let name = if argument.is_empty() { format!("{id}.jsonl") } else { argument.to_owned() };
        let path = format!("/api/chats/{id}/export?format=ndjson");
        let request = self.turns.gateway.request(Method::GET, &path);
        let mut answer = self.turns.gateway.send(request).await?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&name)
            .with_context(|| format!("cannot create {name}: give another name with /export FILE"))?;
        while let Some(bytes) = answer.chunk().await.context("the export is incomplete: export again")? {
            file.write_all(&bytes).with_context(|| format!("cannot write {name}"))?;
        }
        self.turns.screen.note(&format!("(written to {name})"))?;
        Ok(())
    }

    async fn tools(&mut self) -> anyhow::Result<()> {
        let path = format!("/api/chats/{}?limit={MESSAGES_SEARCHED}", self.opened()?);
        let chat = self.turns.gateway.get(&path).await?;
        let messages = list(&chat, "messages").iter();
        let calls = messages.flat_map(|message| list(message, "parts")).filter_map(recorded_call);
        let rows: Vec<_> = calls.map(|(call, state)| [state, call.tool, line(&call.input, TEXT_CHARS_MAX)]).collect();
        let mut out = Vec::new();
        table::write(&mut out, ["STATE", "TOOL", "INPUT"], &rows)?;
        Ok(write_result(&String::from_utf8_lossy(&out))?)
    }

    async fn context(&mut self) -> anyhow::Result<()> {
        let gateway = &self.turns.gateway;
        if !gateway.may_read_contexts() {
            bail!("only back ends read contexts: start with --token and a service token with the scope read");
        }
        let id = self.opened()?;
        let chat = gateway.get(&format!("/api/chats/{id}?limit=1")).await?;
        let path = format!("/v1/conversations/{}/context?format=openai-chat", text(&chat, "recordId"));
        let context = gateway.get_as_service(&path, text(&chat, "agentId")).await?;
        Ok(write_result(&model_input::text(&context))?)
    }

    /// The open conversation.
    fn opened(&self) -> anyhow::Result<&str> {
        self.conversation.as_deref().context("no conversation is open: send a message, or open one with /open")
    }
}

fn row((index, conversation): (usize, &Value)) -> [String; 4] {
    [
        (index + 1).to_string(),
        line(text(conversation, "lastEventAt"), TEXT_CHARS_MAX),
        line(text(conversation, "id"), TEXT_CHARS_MAX),
        line(text(conversation, "title"), TEXT_CHARS_MAX),
    ]
}

fn text<'a>(object: &'a Value, member: &str) -> &'a str {
    object.get(member).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(object: &'a Value, member: &str) -> &'a [Value] {
    let list = object.get(member).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}
