// The messages of `useChat` for back ends that run their own model.

import type { UIMessage } from 'ai';

import type { Hansard } from '../hansard.js';
import { appendOrCreate, inCommits, newestEvents, withoutRace, type Values } from '../history.js';
import { canonical } from '../json.js';
import type { NewEvent } from '../types.js';
import { eventsOf, MESSAGE_KINDS, messagesOf, type StoredMessage } from './messages.js';

export interface ChatStoreOptions {
  /** A client whose key has the scopes `append` and `read`. */
  hansard: Hansard;
  /** The chat: the id of its conversation. */
  chatId: string;
}

export interface SaveChatOptions<Message extends UIMessage> extends ChatStoreOptions {
  /** All messages of the chat. */
  messages: Message[];
  /** The owner and the values of a conversation that is created. Without an owner it belongs to a session that nobody has. */
  conversation?: Values;
}

/** The messages as they were saved, in order; none if the chat does not exist. */
export async function loadChat<Message extends UIMessage = UIMessage>(options: ChatStoreOptions): Promise<Message[]> {
  const { messages } = await stored(options);
  return messages.map(({ message }) => message as Message);
}

/**
 * Records what differs from the stored messages: new messages are appended, changed and removed ones are rewound. To save the same
 * messages again changes nothing, so that a failed call can be repeated.
 */
export async function saveChat<Message extends UIMessage>(options: SaveChatOptions<Message>): Promise<void> {
  const { hansard, chatId, messages, conversation: values } = options;
  const target = { hansard, conversation: hansard.conversation(chatId), values };
  await withoutRace(async () => {
    let { messages: known, version } = await stored(options);
    const equal = messages.findIndex((message, index) => canonical(message) !== canonical(known[index]?.message ?? null));
    const kept = equal < 0 ? messages.length : equal;
    const changed = known[kept];
    const events: NewEvent[] = changed ? [{ type: 'HistoryRewound', to: changed.version - 1 }] : [];
    events.push(...messages.slice(kept).flatMap(eventsOf));
    for (const commit of inCommits(events)) {
      // A conversation that this creates has version 1.
      version = (await appendOrCreate(target, { events: commit, expectedVersion: version || 1 })).version;
    }
  });
}

async function stored({ hansard, chatId }: ChatStoreOptions): Promise<{ messages: StoredMessage[]; version: number }> {
  const events: Parameters<typeof messagesOf>[0] = [];
  const version = await newestEvents(hansard.conversation(chatId), MESSAGE_KINDS, (event) => events.push(event) > 0);
  return { messages: messagesOf(events.reverse()), version };
}
