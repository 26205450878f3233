// What the types accept and reject; `check.py` compiles it.

import type { Session, SessionHistoryTransactionAwareSession } from '@openai/agents';
import { isHansardError, type AnswerChunk, type Chat, type Conversation, type Hansard, type HansardChat, type NewEvent } from '@hansard/client';
import type { HansardSession } from '@hansard/client/agents';
import { loadChat, saveChat, type HansardChatTransport } from '@hansard/client/ai';
import { useConversation } from '@hansard/client/react';
import type { ChatTransport, UIMessage } from 'ai';

export const sessionOf = (session: HansardSession): Session & SessionHistoryTransactionAwareSession => session;
export const transportOf = (transport: HansardChatTransport): ChatTransport<UIMessage> => transport;
export const stateOf = (source: Chat | Conversation): string | undefined => useConversation(source).answer;

export async function keep(hansard: Hansard, chatId: string): Promise<void> {
  const messages: UIMessage[] = await loadChat({ hansard, chatId });
  await saveChat({ hansard, chatId, messages });
}

export function codeOf(error: unknown): 'VERSION_CONFLICT' | 'TIMEOUT' | undefined {
  if (isHansardError(error, 'VERSION_CONFLICT', 'TIMEOUT')) return error.code;
  // @ts-expect-error No such code.
  isHansardError(error, 'VERSION_CONFLICTS');
  return undefined;
}

export const returned: NewEvent = { type: 'ToolReturned', callId: 'c', output: [1] };
// @ts-expect-error A message has a role.
export const message: NewEvent = { type: 'MessageAppended', parts: [] };
// @ts-expect-error A call has no text.
export const called: NewEvent = { type: 'ToolCalled', callId: 'c', toolName: 't', input: 1, text: 'x' };

export function textOf(chunk: AnswerChunk): string {
  if (chunk.type === 'text-delta') return chunk.delta;
  return chunk.type === 'error' ? chunk.errorText : '';
}

export async function read(hansard: Hansard, chats: HansardChat): Promise<void> {
  for await (const event of hansard.conversation('c').events({ kinds: 'ToolCalled', order: 'desc' })) {
    if (event.type === 'ToolCalled') event.toolName.toUpperCase();
    if (event.type === 'MessageAppended') event.parts.map((part) => (part.type === 'text' ? part.text : ''));
  }
  const { messages } = await chats.chat('c').get({ limit: 1 });
  messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])));
  // @ts-expect-error No such format.
  await hansard.conversation('c').context({ format: 'openai' });
}
