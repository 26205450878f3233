// The client of back ends, which run their own models: they record events and read contexts with a secret key.

import { unlessMissing } from './errors.js';
import { Http, segment, type ClientOptions, type Query, type RequestOptions } from './http.js';
import { uuidv7 } from './ids.js';
import { KeyedHistory } from './keyed.js';
import { liveEvents, type WatchOptions } from './live.js';
import type {
  Commit,
  Context,
  ContextQuery,
  ConversationChanges,
  ConversationInfo,
  EventsPage,
  EventsQuery,
  NewConversation,
  NewEvent,
  RecordedEvent,
  SearchPage,
  SearchQuery,
} from './types.js';

/** Events of a page when all are read. */
const PAGE = 500;

export interface HansardOptions extends ClientOptions {
  /** A secret key, as `hansard token create` prints it. It must not reach a page. */
  token: string;
  /** The agent, if the key acts for several. */
  agentId?: string;
}

/** What to append: typed events, or messages of an OpenAI chat. */
export type Appended =
  | { events: NewEvent[]; expectedVersion?: number }
  | { messages: object[]; metadata?: object; expectedVersion?: number };

export class Hansard {
  readonly #http: Http;

  constructor(options: HansardOptions) {
    const headers = { authorization: `Bearer ${options.token}`, ...(options.agentId && { 'x-agent-id': options.agentId }) };
    this.#http = new Http(options, { credentials: async () => headers, newKey: uuidv7 });
  }

  /** Creates a conversation of a user or of a session. */
  async createConversation(conversation: NewConversation, options?: RequestOptions): Promise<Conversation> {
    // The scope of the tokens is the conversation, so its id must be known before it exists.
    const id = conversation.id ?? options?.idempotencyKey ?? uuidv7();
    const body = { ...conversation, id };
    await this.#http.json<Commit>({ method: 'POST', path: '/v1/conversations', body, scope: id, options });
    return this.conversation(id);
  }

  /** A conversation that may exist. */
  conversation(id: string): Conversation {
    return new Conversation(id, this.#http);
  }

  /** The history of a bot under its own key, such as `telegram:42`. */
  history(key: string, { namespace }: { namespace?: string } = {}): KeyedHistory {
    return new KeyedHistory(key, namespace, this.#http);
  }

  /** Searches the conversations of the key's agents. */
  search(query: SearchQuery, options?: RequestOptions): Promise<SearchPage> {
    return this.#http.json({ method: 'GET', path: '/v1/search', query: query as Query, scope: '', options });
  }
}

/** A conversation of the record. */
export class Conversation {
  readonly #http: Http;
  readonly id: string;

  constructor(id: string, http: Http) {
    this.id = id;
    this.#http = http;
  }

  /** The conversation without its events. */
  get(options?: RequestOptions): Promise<ConversationInfo> {
    return this.#http.json({ ...this.#call('GET', ''), options });
  }

  /** Changes title, metadata or ids of the provider. */
  update(changes: ConversationChanges, options?: RequestOptions): Promise<Commit> {
    return this.#http.json({ ...this.#call('PATCH', ''), body: changes, options });
  }

  /** Records all of the events or none, as one commit. */
  append(appended: Appended, options?: RequestOptions): Promise<Commit> {
    return this.#http.json({ ...this.#call('POST', '/events'), body: appended, options });
  }

  /** A page of the recorded events, also of those that a rewind hides. */
  eventsPage(query: EventsQuery = {}, options?: RequestOptions): Promise<EventsPage> {
    return this.#http.json({ ...this.#call('GET', '/events'), query, options });
  }

  /** The recorded events of a range, page by page. */
  async *events(query: Omit<EventsQuery, 'limit'> = {}, options?: RequestOptions): AsyncGenerator<RecordedEvent, void, undefined> {
    const bound = query.order === 'desc' ? 'to' : 'from';
    for (let next = query[bound]; ; ) {
      const page = await this.eventsPage({ limit: PAGE, ...query, ...(next && { [bound]: next }) }, options);
      yield* page.events;
      if (!page.next) return;
      next = page.next;
    }
  }

  /** The history, then each new event when it is recorded. */
  watch(options: WatchOptions = {}): AsyncGenerator<RecordedEvent, void, undefined> {
    return liveEvents({ http: this.#http, path: this.#call('GET', '/events/stream').path, scope: this.id }, options);
  }

  /** What a model reads next, with the receipt that proves it. */
  context(query: ContextQuery, options?: RequestOptions): Promise<Context> {
    return this.#http.json({ ...this.#call('GET', '/context'), query, options });
  }

  /** Erases the conversation, finally; also successful if it does not exist. The key needs the scope `erase`. */
  async erase(options?: RequestOptions): Promise<void> {
    const path = `/openai/v1/conversations/${segment(this.id)}`;
    await unlessMissing(this.#http.json({ method: 'DELETE', path, scope: this.id, options }));
  }

  #call<Method extends 'GET' | 'POST' | 'PATCH'>(method: Method, path: string): { method: Method; path: string; scope: string } {
    return { method, path: `/v1/conversations/${segment(this.id)}${path}`, scope: this.id };
  }
}
