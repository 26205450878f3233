// The client of frontends: the chats of a session or a user, with the public key of an agent.

import { openAnswer, type Answer } from './answer.js';
import { HansardError, unlessMissing } from './errors.js';
import { Http, segment, type Call, type ClientOptions, type Query, type RequestOptions } from './http.js';
import { uuidv4 } from './ids.js';
import { liveEvents, type WatchOptions } from './live.js';
import type {
  ChatChanges,
  ChatPage,
  ChatQuery,
  ChatsPage,
  ChatsQuery,
  ConversationInfo,
  NewChat,
  NewFork,
  NewMessage,
  RecordedEvent,
  SearchPage,
  SearchQuery,
} from './types.js';

/** A caller's chats share their position tokens, because listings show all of them. */
const SCOPE = '';
/** How many requests one claim makes at most; each one moves up to 1,000 chats. */
const CLAIMS_MAX = 100;
const TOKEN_CODES = ['USER_TOKEN_EXPIRED', 'USER_TOKEN_INVALID', 'USER_TOKEN_REQUIRED'];

export interface HansardChatOptions extends ClientOptions {
  /** The public key of the agent. */
  apiKey: string;
  /** The session of an earlier visit. Without a session and a user, one is created with the first request. It is a secret. */
  session?: string | undefined;
  /** Called with a new or renewed session: keep it for the next visit. */
  onSession?(session: string): void;
  /** The token of the signed-in user, or what returns the current one. */
  userToken?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
}

export class HansardChat {
  readonly #options: HansardChatOptions;
  readonly #http: Http;
  #session: string | undefined;
  #creating: Promise<string> | undefined;

  constructor(options: HansardChatOptions) {
    this.#options = options;
    this.#session = options.session;
    this.#http = new Http(options, {
      credentials: () => this.#credentials(),
      newKey: uuidv4,
      received: (response) => this.#keep(response.headers.get('x-session-id')),
      // A function can return a newer token.
      mended: async ({ code }) => TOKEN_CODES.includes(code) && typeof options.userToken === 'function',
    });
  }

  /** The session; created if there is none. */
  async session(): Promise<string> {
    return this.#session ?? (this.#creating ??= this.#create().finally(() => (this.#creating = undefined)));
  }

  /** Creates a chat. */
  async createChat(chat: Omit<NewChat, 'sessionId' | 'userId'> = {}, options?: RequestOptions): Promise<Chat> {
    const created = await this.#http.json<{ id: string }>({ method: 'POST', path: '/api/chats', body: chat, scope: SCOPE, options });
    return this.chat(created.id);
  }

  /** A chat that may exist. */
  chat(id: string): Chat {
    return new Chat(id, this.#http);
  }

  /** A page of the caller's chats, the one with the latest event first. */
  chatsPage(query: ChatsQuery = {}, options?: RequestOptions): Promise<ChatsPage> {
    return this.#http.json({ method: 'GET', path: '/api/chats', query: query as Query, scope: SCOPE, options });
  }

  /** All of the caller's chats, page by page. */
  async *chats(query: Omit<ChatsQuery, 'cursor'> = {}, options?: RequestOptions): AsyncGenerator<ConversationInfo, void, undefined> {
    for (let cursor: string | undefined; ; ) {
      const page: ChatsPage = await this.chatsPage({ ...query, ...(cursor && { cursor }) }, options);
      yield* page.conversations;
      if (!page.nextCursor) return;
      cursor = page.nextCursor;
    }
  }

  /** Searches the caller's chats. */
  search(query: SearchQuery, options?: RequestOptions): Promise<SearchPage> {
    return this.#http.json({ method: 'GET', path: '/api/search', query: query as Query, scope: SCOPE, options });
  }

  /** Moves the chats of the session to the signed-in user, and returns how many. */
  async claimSession(options?: RequestOptions): Promise<number> {
    const call = { method: 'POST', path: '/api/sessions/claim', body: { sessionId: await this.session() }, scope: SCOPE, options } as const;
    let claimed = 0;
    for (let request = 0; request < CLAIMS_MAX; request += 1) {
      const page = await this.#http.json<{ claimed: number; pending?: boolean }>(call);
      claimed += page.claimed;
      if (!page.pending) break;
    }
    return claimed;
  }

  /** Sends a message as the AI SDK's chat does; the chat is created with its first message. */
  async sendUiMessages(body: { id: string } & Record<string, unknown>, options: UiRequestOptions = {}): Promise<Answer> {
    const { hasOwnKey = false, headers = {}, ...rest } = options;
    const call = { method: 'POST', path: '/api/chat', body, headers, hasOwnKey, scope: SCOPE, options: rest } as const;
    return withAnswer(await openAnswer(this.#http, pathOf(body.id), call));
  }

  async #credentials(): Promise<Record<string, string>> {
    const { apiKey, userToken } = this.#options;
    const token = typeof userToken === 'function' ? await userToken() : userToken;
    const session = this.#session ?? (token ? undefined : await this.session());
    return { 'x-api-key': apiKey, ...(token && { 'x-user-token': token }), ...(session && { 'x-session-id': session }) };
  }

  async #create(): Promise<string> {
    const credentials = async () => ({ 'x-api-key': this.#options.apiKey });
    const http = new Http(this.#options, { credentials, newKey: uuidv4 });
    const { sessionId } = await http.json<{ sessionId: string }>({ method: 'POST', path: '/api/sessions', body: {}, scope: SCOPE });
    this.#keep(sessionId);
    return sessionId;
  }

  #keep(session: string | null): void {
    if (!session) return;
    this.#session = session;
    this.#options.onSession?.(session);
  }
}

export interface UiRequestOptions extends RequestOptions {
  /** More headers. */
  headers?: Record<string, string>;
  /** The id of the user's message identifies the request: no key is made. */
  hasOwnKey?: boolean;
}

/** A chat of the caller. */
export class Chat {
  readonly #http: Http;
  readonly id: string;

  constructor(id: string, http: Http) {
    this.id = id;
    this.#http = http;
  }

  /** The chat and its newest messages. */
  get(query: ChatQuery = {}, options?: RequestOptions): Promise<ChatPage> {
    return this.#http.json({ ...this.#call('GET', ''), query, options });
  }

  /** Sends a message, results of calls or approvals, and returns the answer while it is written. */
  async send(message: string | NewMessage, options?: RequestOptions): Promise<Answer> {
    const body = typeof message === 'string' ? { content: message } : message;
    return withAnswer(await openAnswer(this.#http, pathOf(this.id), { ...this.#call('POST', '/messages'), body, options }));
  }

  /** The answer that is being written, from its start; undefined: there is none, the messages are complete. */
  async resume(query: { run?: string } = {}, options?: RequestOptions): Promise<Answer | undefined> {
    return openAnswer(this.#http, pathOf(this.id), { ...this.#call('GET', '/stream'), query, options });
  }

  /** Stops the answer that is being written, and keeps what it has; false: there is none. */
  async stop(options?: RequestOptions): Promise<boolean> {
    return (await this.#http.json({ ...this.#call('POST', '/stop'), options })) !== undefined;
  }

  /** Changes title or metadata, archives or restores the chat. */
  update(changes: ChatChanges, options?: RequestOptions): Promise<ConversationInfo> {
    return this.#http.json({ ...this.#call('PATCH', ''), body: changes, options });
  }

  /** A new chat that continues this one from a version or a message; from the newest version if neither is given. */
  async fork(fork: NewFork = {}, options?: RequestOptions): Promise<Chat> {
    const isNamed = fork.version !== undefined || fork.messageId !== undefined;
    // A retry must name the same version.
    const point = isNamed ? fork : { ...fork, version: (await this.get({ limit: 1 }, options)).version };
    const { id } = await this.#http.json<{ id: string }>({ ...this.#call('POST', '/fork'), body: point, options });
    return new Chat(id, this.#http);
  }

  /** Erases the chat, finally; also successful if it does not exist. */
  async erase(query: { forks?: 'refuse' | 'erase' } = {}, options?: RequestOptions): Promise<void> {
    await unlessMissing(this.#http.json({ ...this.#call('DELETE', ''), query, options }));
  }

  /** The history, then each new event when it is recorded, also those of other tabs and back ends. */
  watch(options: WatchOptions = {}): AsyncGenerator<RecordedEvent, void, undefined> {
    return liveEvents({ http: this.#http, path: this.#call('GET', '/events').path, scope: SCOPE }, options);
  }

  #call<Method extends Call['method']>(method: Method, path: string): { method: Method; path: string; scope: string } {
    return { method, path: pathOf(this.id) + path, scope: SCOPE };
  }
}

const pathOf = (id: string): string => `/api/chats/${segment(id)}`;

function withAnswer(answer: Answer | undefined): Answer {
  if (answer) return answer;
  throw new HansardError('ANSWER_UNREADABLE', 'the gateway answered a message without a stream: check the url');
}
