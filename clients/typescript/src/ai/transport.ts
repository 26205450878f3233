// The transport of `useChat` for Hansard's chats.

import type { ChatRequestOptions, ChatTransport, UIMessage, UIMessageChunk } from 'ai';

import type { Answer } from '../answer.js';
import { HansardChat, type HansardChatOptions } from '../chat.js';
import { unlessMissing } from '../errors.js';

/** Of the page's messages the gateway reads the user's last one, and the results in the assistant's last one. */
const MESSAGES_READ = 2;

type SendOptions<Message extends UIMessage> = Parameters<ChatTransport<Message>['sendMessages']>[0];

/**
 * Sends messages with the credentials, position tokens and bounded retries of `HansardChat`. A stream continues over lost
 * connections and stopped gateways, without a gap or a repeat. Ending the stream does not stop the answer: `chats.chat(id).stop()` does.
 */
export class HansardChatTransport<Message extends UIMessage = UIMessage> implements ChatTransport<Message> {
  /** The client, for everything but the messages of one chat. */
  readonly chats: HansardChat;
  /** A resumed stream has the answer from its start. */
  readonly resumeStreamIsReplay = true;

  constructor(options: HansardChatOptions | { chats: HansardChat }) {
    this.chats = 'chats' in options ? options.chats : new HansardChat(options);
  }

  async sendMessages(options: SendOptions<Message>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, messages, trigger, messageId, body, headers, abortSignal } = options;
    const request = { ...body, id: chatId, messages: messages.slice(-MESSAGES_READ), trigger, ...(messageId && { messageId }) };
    // Without a key, the id of the user's message identifies a new message: sent again, it is not recorded again.
    const hasOwnKey = trigger === 'submit-message' && messageId === undefined;
    const answer = await this.chats.sendUiMessages(request, { signal: abortSignal, headers: plain(headers), hasOwnKey });
    return streamOf(answer);
  }

  async reconnectToStream({ chatId, abortSignal }: { chatId: string; abortSignal?: AbortSignal | undefined } & ChatRequestOptions) {
    const answer = await unlessMissing(this.chats.chat(chatId).resume({}, { signal: abortSignal }));
    return answer ? streamOf(answer) : null;
  }
}

const plain = (headers: ChatRequestOptions['headers']): Record<string, string> => Object.fromEntries(new Headers(headers));

/** The chunks of the gateway are those of the AI SDK, which it is tested with. */
function streamOf(answer: Answer): ReadableStream<UIMessageChunk> {
  const chunks = answer[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value as UIMessageChunk);
    },
    async cancel() {
      await chunks.return(undefined);
    },
  });
}
