// A session of @openai/agents in a conversation of the record.

import type { AgentInputItem, SessionHistoryTransactionArgs, SessionHistoryTransactionAwareSession } from '@openai/agents';

import { HansardError, isHansardError, unlessMissing } from '../errors.js';
import type { Conversation, Hansard } from '../hansard.js';
import { uuidOf, uuidv4, uuidv7 } from '../ids.js';
import type { Commit, NewConversation, NewEvent, RecordedEvent } from '../types.js';
import { eventOf, inTransaction, itemOf, ITEM_KINDS, transactionOf, wholeEvent } from './items.js';
import { canonical } from './json.js';

/** The events of a commit. */
const EVENTS_MAX = 500;
/** The events of a page. */
const PAGE_MAX = 1_000;
/** How often a change that lost a race is tried again. */
const ATTEMPTS_MAX = 8;
/** Items that the record rejects as typed events one by one; after that all calls and results of the commit are recorded whole. */
const REJECTIONS_MAX = 4;

export interface HansardSessionOptions {
  /** A client whose key has the scopes `append` and `read`. */
  hansard: Hansard;
  /** The conversation; absent: a new one. It is created with the first items if it does not exist. */
  id?: string;
  /** The owner and the values of a conversation that is created. Without an owner it belongs to a session that nobody has. */
  conversation?: Omit<NewConversation, 'id'>;
}

/**
 * The items are recorded verbatim, each as one event. `popItem`, `clearSession` and replaced suffixes are rewinds: models and later
 * reads do not see what they remove, and the record keeps it until the conversation is erased.
 */
export class HansardSession implements SessionHistoryTransactionAwareSession {
  readonly #options: HansardSessionOptions;
  /** The conversation of the items. */
  readonly conversation: Conversation;
  #created: Promise<void> | undefined;

  constructor(options: HansardSessionOptions) {
    this.#options = options;
    this.conversation = options.hansard.conversation(options.id ?? uuidv7());
  }

  async getSessionId(): Promise<string> {
    return this.conversation.id;
  }

  async getItems(limit?: number): Promise<AgentInputItem[]> {
    const { items } = await this.#newest(Math.max(limit ?? Infinity, 0));
    return items.map(({ item }) => item);
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    for (let start = 0; start < items.length; start += EVENTS_MAX) {
      await this.#record(items.slice(start, start + EVENTS_MAX), {});
    }
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    return this.#withoutRace(async () => {
      const { items, version } = await this.#newest(1);
      const [last] = items;
      if (last) await this.#append([{ type: 'HistoryRewound', to: last.version - 1 }], { expectedVersion: version });
      return last?.item;
    });
  }

  async clearSession(): Promise<void> {
    await unlessMissing(this.#append([{ type: 'HistoryRewound', to: 1 }], {}));
  }

  /** Repeating an operation changes nothing. Fails with `SUFFIX_MISMATCH` if the newest items are not the expected ones. */
  async applyHistoryTransaction({ operationId, transaction }: SessionHistoryTransactionArgs): Promise<void> {
    if (!operationId.trim()) throw new TypeError('operationId is empty');
    const operation = {
      key: await uuidOf(`${this.conversation.id}\n${operationId}`),
      digest: await uuidOf(canonical(transaction)),
    };
    try {
      if (transaction.type === 'append_items') await this.#record(transaction.items, { operation });
      else await this.#withoutRace(() => this.#replace(transaction.expectedSuffix, transaction.replacement, operation));
    } catch (error) {
      if (!isHansardError(error, 'IDEMPOTENCY_KEY_REUSED', 'SUFFIX_MISMATCH') || !(await this.#isApplied(operation))) throw error;
    }
  }

  async #replace(expected: AgentInputItem[], replacement: AgentInputItem[], operation: Operation): Promise<void> {
    const { items, version } = await this.#newest(expected.length);
    if (canonical(items.map(({ item }) => item)) !== canonical(expected)) {
      throw new HansardError('SUFFIX_MISMATCH', 'the newest items are not the expected ones: read them again');
    }
    const [first] = items;
    const before: NewEvent[] = first ? [{ type: 'HistoryRewound', to: first.version - 1 }] : [];
    await this.#record(replacement, { before, expectedVersion: version, operation });
  }

  /** Whether the operation is recorded, with the same transaction. */
  async #isApplied({ key, digest }: Operation): Promise<boolean> {
    const { events } = await this.conversation.eventsPage({ order: 'desc', limit: PAGE_MAX });
    return events.some((event) => event.commitId === key && transactionOf(event) === digest);
  }

  /** The newest items of the effective history, at most `limit`, oldest first; and the version of the conversation. */
  async #newest(limit: number): Promise<{ items: FoundItem[]; version: number }> {
    const items: FoundItem[] = [];
    let version: number | undefined;
    for (let to: number | undefined; ; ) {
      const query = { order: 'desc', kinds: [...ITEM_KINDS, 'HistoryRewound'].join(','), limit: Math.min(limit + 1, PAGE_MAX) } as const;
      const page = await unlessMissing(this.conversation.eventsPage({ ...query, ...(to && { to }) }));
      version ??= page?.version ?? 0;
      const next = collect(page?.events ?? [], items, limit) ?? page?.next;
      if (!next || items.length >= limit) return { items: items.reverse(), version };
      to = next;
    }
  }

  /** Records items as one commit; those that the record rejects as typed events, whole. */
  async #record(items: AgentInputItem[], { before = [], operation, ...rest }: Recorded): Promise<void> {
    const events = items.map(eventOf);
    for (let rejections = 0; before.length + events.length > 0; rejections += 1) {
      const all = [...before, ...events];
      try {
        await this.#append(operation ? all.map((event) => inTransaction(event, operation.digest)) : all, { ...rest, operation });
        return;
      } catch (error) {
        const index = rejectedIndex(error) - before.length;
        const [item, event] = [items[index], events[index]];
        if (!item || !event || !event.metadata) throw error;
        events[index] = wholeEvent(item);
        if (rejections >= REJECTIONS_MAX) items.forEach((each, at) => (events[at] = withoutCall(each, events[at])));
      }
    }
  }

  async #append(events: NewEvent[], { expectedVersion, operation }: Recorded): Promise<Commit> {
    // All attempts are one request, also that after the creation of the conversation.
    const idempotencyKey = operation?.key ?? uuidv7();
    const body = { events, ...(expectedVersion && { expectedVersion }) };
    try {
      return await this.conversation.append(body, { idempotencyKey });
    } catch (error) {
      if (!isHansardError(error, 'CONVERSATION_NOT_FOUND') || events[0]?.type === 'HistoryRewound') throw error;
      await (this.#created ??= this.#create());
      return this.conversation.append(body, { idempotencyKey });
    }
  }

  async #create(): Promise<void> {
    const { hansard, conversation = {} } = this.#options;
    const hasOwner = conversation.userId !== undefined || conversation.sessionId !== undefined;
    const owner = hasOwner ? {} : { sessionId: uuidv4() };
    try {
      await hansard.createConversation({ ...owner, ...conversation, id: this.conversation.id });
    } catch (error) {
      if (!isHansardError(error, 'CONVERSATION_EXISTS')) throw error;
    }
  }

  /** Reads and changes again if another client was faster. */
  async #withoutRace<T>(change: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await change();
      } catch (error) {
        if (!isHansardError(error, 'VERSION_CONFLICT') || attempt >= ATTEMPTS_MAX) throw error;
      }
    }
  }
}

interface Operation {
  key: string;
  digest: string;
}

interface Recorded {
  before?: NewEvent[];
  expectedVersion?: number;
  operation?: Operation | undefined;
}

interface FoundItem {
  item: AgentInputItem;
  version: number;
}

/**
 * Adds the items of a page, newest first, until there are `limit`. What a rewind hides is left out: if it reaches beyond the page, the
 * result is the version to read on from.
 */
function collect(events: RecordedEvent[], items: FoundItem[], limit: number): number | undefined {
  let visible = Infinity;
  for (const event of events) {
    if (items.length >= limit) return undefined;
    if (event.version > visible) continue;
    if (event.type === 'HistoryRewound') visible = event.to;
    const item = itemOf(event);
    if (item) items.push({ item, version: event.version });
  }
  const last = events.at(-1)?.version ?? 0;
  return visible < last ? visible : undefined;
}

/** The event of an item, whole if it is a call or a result. */
const withoutCall = (item: AgentInputItem, event = eventOf(item)): NewEvent => (event.type === 'MessageAppended' ? event : wholeEvent(item));

/** The index of the event that the record rejects; NaN: the error is about something else. */
function rejectedIndex(error: unknown): number {
  const field = error instanceof HansardError && error.status < 500 ? error.field : undefined;
  return Number(/^events\[(\d+)\]/.exec(field ?? '')?.[1] ?? NaN);
}
