//! Requests that are not recorded although they name a chat.

use serde_json::json;

use super::{CONVERSATION, PATH, System, body, conversation, history, recorded, send, user};

#[tokio::test(flavor = "multi_thread")]
async fn tasks_and_unsaved_chats_are_not_recorded() {
    let system = System::start().await;
    let ada = system.client.with("x-hansard-user", "ada");
    let chat = ada.with(CONVERSATION, "chat-1");
    let id = conversation(&send(&chat, &[user("a")]).await);
    let before = recorded(&ada, &id).await;
    let mut stored = body(&[user("### Task:\nWrite a title.")]);
    stored["store"] = json!(true);
    let owui = system.client.with("x-openwebui-user-id", "ada");
    for (client, header, value) in [
        (&chat, "x-hansard-task", "title_generation"),
        (&chat, "x-hansard-task", "x"),
        (&ada, CONVERSATION, "temporary:1"),
        (&ada, CONVERSATION, "local:1"),
        (&ada, CONVERSATION, "channel:1"),
        (&owui, "x-openwebui-chat-id", "local:1"),
        // A task without its header, as Open WebUI forwards it.
        (&owui, "x-openwebui-chat-id", "chat-1"),
    ] {
        let client = client.with(header, value).with("x-hansard-context", "managed");
        let answer = client.post(PATH, &stored).await;
        answer.ok(200);
        let named = answer.headers.get(CONVERSATION);
        assert_eq!(named, None, "{header}: {value}");
        assert!(!answer.headers.contains_key("x-position-token"));
        // The model reads the task, and not the conversation.
        assert_eq!(system.last_context().len(), 1);
    }
    assert_eq!(recorded(&ada, &id).await, before);
    assert_eq!(history(&ada, &id).await.len(), 2);
}
