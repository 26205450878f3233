//! A model of the AI SDK's client: it panics where the SDK throws, and if a text is not ended.

use std::collections::HashMap;

use serde_json::{Value, json};

/// A client with the message that it builds.
pub struct Client {
    pub message: Value,
    words: HashMap<String, usize>,
    inputs: HashMap<String, String>,
    in_step: bool,
    over: bool,
}

impl Client {
    /// A client; `last` is the last message of its page if it is the assistant's.
    pub fn new(last: Option<Value>) -> Self {
        Self {
            message: last.unwrap_or_else(|| json!({"id": "", "role": "assistant", "parts": []})),
            words: HashMap::new(),
            inputs: HashMap::new(),
            in_step: false,
            over: false,
        }
    }

    pub fn apply(&mut self, chunk: &Value) {
        assert!(!self.over, "nothing follows the end: {chunk}");
        let text = |name: &str| chunk[name].as_str().unwrap_or_default().to_owned();
        let kind = text("type");
        match kind.as_str() {
            "start" => self.message["id"] = chunk["messageId"].clone(),
            "start-step" => {
                assert!(!self.in_step, "a step in a step");
                self.in_step = true;
                self.push(json!({"type": "step-start"}));
            }
            "finish-step" => {
                assert!(self.in_step, "no step to finish");
                assert!(self.words.is_empty(), "words are left open");
                self.in_step = false;
            }
            "text-start" => self.begin("text", text("id")),
            "reasoning-start" => self.begin("reasoning", text("id")),
            "text-delta" | "reasoning-delta" => {
                let part = self.words_part(&kind, &text("id"));
                let joined = part["text"].as_str().unwrap().to_owned() + &text("delta");
                part["text"] = joined.into();
            }
            "text-end" | "reasoning-end" => {
                self.words_part(&kind, &text("id"))["state"] = "done".into();
                self.words.remove(&text("id"));
            }
            "file" => self.push(json!({"type": "file", "mediaType": chunk["mediaType"], "url": chunk["url"]})),
            "message-metadata" => self.message["metadata"] = chunk["messageMetadata"].clone(),
            "finish" | "abort" | "error" => {
                assert!(self.words.is_empty() && !self.in_step, "left open");
                self.over = true;
            }
            _ => self.apply_tool(&kind, chunk),
        }
    }

    fn apply_tool(&mut self, kind: &str, chunk: &Value) {
        let id = chunk["toolCallId"].as_str().unwrap().to_owned();
        match kind {
            "tool-input-start" => {
                assert!(self.in_step, "a call outside of a step");
                self.inputs.insert(id.clone(), String::new());
                self.push(json!({
                    "type": format!("tool-{}", chunk["toolName"].as_str().unwrap()),
                    "toolCallId": id, "state": "input-streaming",
                }));
            }
            "tool-input-delta" => {
                let input = self.inputs.get_mut(&id).expect("a started call");
                input.push_str(chunk["inputTextDelta"].as_str().unwrap());
                let raw = input.clone();
                self.call(&id)["rawInput"] = raw.into();
            }
            "tool-input-available" => {
                let part = json!({
                    "type": format!("tool-{}", chunk["toolName"].as_str().unwrap()),
                    "toolCallId": id, "state": "input-available", "input": chunk["input"],
                });
                match self.inputs.remove(&id) {
                    Some(_) => *self.call(&id) = part,
                    None => self.push(part),
                }
            }
            "tool-approval-request" => {
                let part = self.call(&id);
                part["state"] = "approval-requested".into();
                part["approval"] = json!({"id": chunk["approvalId"]});
            }
            "tool-output-available" => {
                let part = self.call(&id);
                part["state"] = "output-available".into();
                part["output"] = chunk["output"].clone();
            }
            "tool-output-error" => {
                let part = self.call(&id);
                part["state"] = "output-error".into();
                part["errorText"] = chunk["errorText"].clone();
            }
            "tool-output-denied" => self.call(&id)["state"] = "output-denied".into(),
            _ => panic!("an unknown chunk: {chunk}"),
        }
    }

    fn begin(&mut self, kind: &str, id: String) {
        assert!(self.in_step, "words outside of a step");
        let index = self.parts().len();
        assert!(self.words.insert(id, index).is_none(), "an id twice");
        self.push(json!({"type": kind, "text": "", "state": "streaming"}));
    }

    fn words_part(&mut self, kind: &str, id: &str) -> &mut Value {
        let index = *self.words.get(id).expect("a started text");
        let part = &mut self.parts()[index];
        assert!(kind.starts_with(part["type"].as_str().unwrap()));
        part
    }

    fn call(&mut self, id: &str) -> &mut Value {
        let mut found = self.parts().iter_mut().rev().filter(|part| part["toolCallId"] == id);
        found.next().expect("a call of the page")
    }

    fn parts(&mut self) -> &mut Vec<Value> {
        self.message["parts"].as_array_mut().unwrap()
    }

    fn push(&mut self, part: Value) {
        self.parts().push(part);
    }
}

/// The message without the parts that clients cannot have: no chunk contains the answer to an approval request.
pub fn comparable(mut message: Value) -> Value {
    for part in message["parts"].as_array_mut().unwrap() {
        let denied_or_asked = ["output-denied", "approval-requested"];
        let state = part["state"].as_str().unwrap_or_default().to_owned();
        let part = part.as_object_mut().unwrap();
        if !denied_or_asked.contains(&state.as_str()) {
            part.remove("approval");
        } else if let Some(approval) = part.get_mut("approval") {
            *approval = json!({"id": approval["id"]});
        }
    }
    message
}
