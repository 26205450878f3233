//! What the chunks of a step have sent, and what the complete step has beyond that.

use domain::{CallId, Fact, RunPartKind};

use super::answer::{calls, texts};

/// The texts and the calls of a step that were sent. The bounds of a run bound them.
#[derive(Debug, Default)]
pub(super) struct SentStep {
    content: String,
    refusal: String,
    calls: Vec<SentCall>,
}

/// A call that was sent, with its input so far.
#[derive(Debug)]
struct SentCall {
    index: u32,
    id: CallId,
    arguments: String,
}

impl SentStep {
    /// Adds a part that is sent.
    pub(super) fn add(&mut self, part: &RunPartKind) {
        match part {
            RunPartKind::TextDelta(text) => self.content.push_str(text),
            RunPartKind::RefusalDelta(text) => self.refusal.push_str(text),
            RunPartKind::CallBegan { index, call_id, .. } => {
                self.calls.push(SentCall { index: *index, id: call_id.clone(), arguments: String::new() });
            }
            RunPartKind::CallInput { index, fragment } => {
                let mut newest_first = self.calls.iter_mut().rev();
                if let Some(call) = newest_first.find(|call| call.index == *index) {
                    call.arguments.push_str(fragment);
                }
            }
            RunPartKind::ThinkingDelta(_)
            | RunPartKind::StepFinished(_)
            | RunPartKind::ToolReturned(_)
            | RunPartKind::KeptAlive
            | RunPartKind::RunEnded(_) => {}
        }
    }

    /// The parts of a complete step that were not sent: the rest of its texts, its other calls, and the rest of their inputs. A
    /// text that continues otherwise than it was sent has no rest.
    pub(super) fn missing(&self, facts: &[Fact]) -> Vec<RunPartKind> {
        let whole = texts(facts);
        let content = rest(whole.content.as_deref(), &self.content);
        let refusal = rest(whole.refusal.as_deref(), &self.refusal);
        let content = content.map(RunPartKind::TextDelta);
        let mut parts: Vec<_> = content.into_iter().chain(refusal.map(RunPartKind::RefusalDelta)).collect();
        let indices = self.calls.iter().map(|call| call.index.saturating_add(1));
        let mut next_index = indices.max().unwrap_or_default();
        for call in calls(facts) {
            let sent = self.calls.iter().find(|sent| sent.id == call.call_id);
            let index = sent.map_or(next_index, |sent| sent.index);
            if sent.is_none() {
                next_index = next_index.saturating_add(1);
                parts.push(RunPartKind::CallBegan {
                    index,
                    call_id: call.call_id.clone(),
                    tool_name: call.tool_name.clone(),
                });
            }
            let arguments = sent.map(|sent| sent.arguments.as_str());
            let rest = rest(Some(call.input.as_str()), arguments.unwrap_or_default());
            parts.extend(rest.map(|fragment| RunPartKind::CallInput { index, fragment }));
        }
        parts
    }
}

/// The rest of a text after what was sent of it; `None`: there is none.
fn rest(whole: Option<&str>, sent: &str) -> Option<String> {
    let rest = whole?.strip_prefix(sent)?;
    (!rest.is_empty()).then(|| rest.to_owned())
}

#[cfg(test)]
mod tests {
    use domain::event::{MessageAppended, Role, ToolCalled};
    use domain::{JsonText, Part, ToolName};
    use serde_json::{Value, json};

    use super::super::chunks::{ChunkHead, CompletionChunks};
    use super::*;

    const CONTENT: &str = "/choices/0/delta/content";
    const REFUSAL: &str = "/choices/0/delta/refusal";
    const CALL: &str = "/choices/0/delta/tool_calls/0";

    fn text(text: &str) -> RunPartKind {
        RunPartKind::TextDelta(text.to_owned())
    }

    fn call_began(index: u32, id: &str) -> RunPartKind {
        RunPartKind::CallBegan {
            index,
            call_id: CallId::parse(id).unwrap(),
            tool_name: ToolName::parse("look").unwrap(),
        }
    }

    fn call_input(index: u32, fragment: &str) -> RunPartKind {
        let fragment = fragment.to_owned();
        RunPartKind::CallInput { index, fragment }
    }

    /// A complete step with a text, a refusal and calls; empty texts are absent.
    fn step(content: &str, refusal: &str, calls: &[(&str, &str)]) -> RunPartKind {
        let mut parts = vec![Part::Text(content.to_owned()), Part::Refusal(refusal.to_owned())];
        parts.retain(|part| !matches!(part, Part::Text(text) | Part::Refusal(text) if text.is_empty()));
        let message = MessageAppended::new(Role::Assistant, parts);
        let calls = calls.iter().map(|(id, input)| {
            let (id, name) = (CallId::parse(*id).unwrap(), ToolName::parse("look").unwrap());
            Fact::ToolCalled(ToolCalled::new(id, name, JsonText::parse(*input).unwrap()))
        });
        let message = Fact::MessageAppended(message);
        RunPartKind::StepFinished([message].into_iter().chain(calls).collect())
    }

    /// What the chunks of the parts add: texts as they are, beginnings of calls as `index id`, inputs as `index=input`.
    fn check(parts: Vec<RunPartKind>, expected: &[&str]) {
        let mut chunks = CompletionChunks::new(ChunkHead {
            id: "chatcmpl-1".to_owned(),
            created: 7,
            model: "support".to_owned(),
            includes_usage: false,
        });
        let made = parts.into_iter().flat_map(|part| chunks.push(part)).map(|chunk| json!(chunk));
        let added: Vec<String> = made.filter_map(|chunk| addition(&chunk)).collect();
        assert_eq!(added, expected);
    }

    fn addition(chunk: &Value) -> Option<String> {
        let text = chunk.pointer(CONTENT).or_else(|| chunk.pointer(REFUSAL));
        if let Some(text) = text {
            return text.as_str().map(str::to_owned);
        }
        let call = chunk.pointer(CALL)?;
        Some(match call["id"].as_str() {
            Some(id) => format!("{} {id}", call["index"]),
            None => format!("{}={}", call["index"], call["function"]["arguments"].as_str()?),
        })
    }

    #[test]
    fn a_complete_step_sends_what_its_parts_did_not() {
        check(vec![step("Hello", "", &[])], &["Hello"]);
        check(vec![step("", "No.", &[])], &["No."]);
        let both = [("a", "{}"), ("b", r#"{"at": 1}"#)];
        let whole = ["Look", "0 a", "0={}", "1 b", r#"1={"at": 1}"#];
        check(vec![step("Look", "", &both)], &whole);
        // The rest of a text, and a call whose input had no parts.
        check(vec![text("Hel"), step("Hello", "", &[])], &["Hel", "lo"]);
        check(vec![call_began(0, "a"), step("", "", &[("a", "{}")])], &["0 a", "0={}"]);
        // Calls are found by their ids; others get the next index.
        check(
            vec![call_began(0, "b"), call_input(0, r#"{"at":"#), step("", "", &[("a", "{}"), ("b", r#"{"at":1}"#)])],
            &["0 b", r#"0={"at":"#, "1 a", "1={}", "0=1}"],
        );
    }

    #[test]
    fn nothing_is_sent_twice() {
        let refused = RunPartKind::RefusalDelta("No.".to_owned());
        check(vec![refused, step("", "No.", &[])], &["No."]);
        check(
            vec![
                text("Hel"),
                text("lo"),
                call_began(0, "a"),
                call_input(0, "{"),
                call_input(0, "}"),
                step("Hello", "", &[("a", "{}")]),
            ],
            &["Hel", "lo", "0 a", "0={", "0=}"],
        );
        // Neither is a text that the complete step has otherwise.
        check(vec![text("Hello "), step("Hello", "", &[])], &["Hello "]);
    }
}
