// Histories under a bot's own keys, such as `telegram:42`.

import { segment, type Http, type RequestOptions } from './http.js';
import type { History, HistoryMessage, RecordedMessages } from './types.js';

/** A history under a key. If its store does not answer, the result has `warnings`, and the bot continues with its own messages. */
export class KeyedHistory {
  readonly #http: Http;
  readonly #namespace: string | undefined;
  readonly key: string;

  constructor(key: string, namespace: string | undefined, http: Http) {
    this.key = key;
    this.#namespace = namespace;
    this.#http = http;
  }

  /** What is stored: the newest messages, oldest first. */
  get(query: { limit?: number } = {}, options?: RequestOptions): Promise<History> {
    return this.#http.json({ ...this.#call('GET', '', query), options });
  }

  /** What the model reads next: the stored messages, merged with new ones. Nothing is recorded. */
  load(messages: HistoryMessage[], query: { limit?: number } = {}, options?: RequestOptions): Promise<History> {
    return this.#http.json({ ...this.#call('POST', '/load', query), body: { messages }, options });
  }

  /** Records the messages that are not stored yet. `loadedVersion` is the version of the load. */
  record(messages: HistoryMessage[], { loadedVersion }: { loadedVersion?: number } = {}, options?: RequestOptions): Promise<RecordedMessages> {
    const body = { messages, ...(loadedVersion !== undefined && { loadedVersion }) };
    return this.#http.json({ ...this.#call('POST', '/messages'), body, options });
  }

  #call<Method extends 'GET' | 'POST'>(method: Method, path: string, query: { limit?: number } = {}) {
    const namespace = this.#namespace;
    return { method, path: `/v1/histories/${segment(this.key)}${path}`, query: { ...query, namespace }, scope: `${namespace ?? ''} ${this.key}` };
  }
}
