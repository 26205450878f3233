// A session of @openai/agents in a conversation of the record.

import type { AgentInputItem, SessionHistoryTransactionArgs, SessionHistoryTransactionAwareSession } from '@openai/agents';

import { HansardError, isHansardError, unlessMissing } from '../errors.js';
import type { Conversation, Hansard } from '../hansard.js';
import { appendOrCreate, inCommits, newestEvents, withoutRace, type Values } from '../history.js';
import { uuidOf, uuidv7 } from '../ids.js';
import { canonical } from '../json.js';
import type { NewEvent, RecordedEvent } from '../types.js';
import { eventOf, inTransaction, itemOf, ITEM_KINDS, transactionOf, wholeEvent } from './items.js';

/** Among how many of the newest events an operation is searched. */
const SEARCHED_MAX = 1_000;
/** How many items are recorded whole one by one; after that all calls and results of the commit are. */
const REJECTIONS_MAX = 4;

export interface HansardSessionOptions {
  /** A client whose key has the scopes `append` and `read`. */
  hansard: Hansard;
  /** The conversation; absent: a new one. It is created with the first items if it does not exist. */
  id?: string;
  /** The owner and the values of a conversation that is created. Without an owner it belongs to a session that nobody has. */
  conversation?: Values;
}

/**
 * The items are recorded verbatim, each as one event. `popItem`, `clearSession` and replaced suffixes are rewinds: models and later
 * reads do not see what they remove, and the record keeps it until the conversation is erased.
 */
export class HansardSession implements SessionHistoryTransactionAwareSession {
  readonly #options: HansardSessionOptions;
  /** The conversation of the items. */
  readonly conversation: Conversation;

  constructor(options: HansardSessionOptions) {
    this.#options = options;
    this.conversation = options.hansard.conversation(options.id ?? uuidv7());
  }

  async getSessionId(): Promise<string> {
    return this.conversation.id;
  }

  async getItems(limit?: number): Promise<AgentInputItem[]> {
    const { items } = await this.#newest(limit ?? Infinity);
    return items.map(({ item }) => item);
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    for (const commit of inCommits(items)) await this.#record(commit, {});
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    return withoutRace(async () => {
      const { items, version } = await this.#newest(1);
      const [last] = items;
      if (last) await this.conversation.append({ events: [rewindBefore(last)], expectedVersion: version });
      return last?.item;
    });
  }

  async clearSession(): Promise<void> {
    await unlessMissing(this.conversation.append({ events: [{ type: 'HistoryRewound', to: 1 }] }));
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
      else await withoutRace(() => this.#replace(transaction.expectedSuffix, transaction.replacement, operation));
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
    // A conversation that this creates has version 1.
    await this.#record(replacement, { before: first ? [rewindBefore(first)] : [], expectedVersion: version || 1, operation });
  }

  /** Whether the operation is recorded, with the same transaction. */
  async #isApplied({ key, digest }: Operation): Promise<boolean> {
    const page = await unlessMissing(this.conversation.eventsPage({ order: 'desc', limit: SEARCHED_MAX }));
    return (page?.events ?? []).some((event) => event.commitId === key && transactionOf(event) === digest);
  }

  /** The newest items, at most `limit`, oldest first; and the version of the conversation. */
  async #newest(limit: number): Promise<{ items: FoundItem[]; version: number }> {
    const items: FoundItem[] = [];
    const take = (event: RecordedEvent) => {
      const item = items.length < limit ? itemOf(event) : undefined;
      if (item) items.push({ item, version: event.version });
      return items.length < limit;
    };
    const version = await newestEvents(this.conversation, ITEM_KINDS, take, limit);
    return { items: items.reverse(), version };
  }

  /** Records items as one commit; those that the record rejects as typed events, whole. */
  async #record(items: AgentInputItem[], { before = [], operation, expectedVersion }: Recorded): Promise<void> {
    // All attempts have one key: at most one of them is recorded.
    const key = operation?.key ?? uuidv7();
    const target = { hansard: this.#options.hansard, conversation: this.conversation, values: this.#options.conversation };
    const events = items.map(eventOf);
    for (let rejections = 0; before.length + events.length > 0; rejections += 1) {
      const all = [...before, ...events].map((event) => (operation ? inTransaction(event, operation.digest) : event));
      try {
        await appendOrCreate(target, { events: all, ...(expectedVersion && { expectedVersion }) }, key);
        return;
      } catch (error) {
        const index = rejectedIndex(error) - before.length;
        const [item, event] = [items[index], events[index]];
        if (!item || !event || isWhole(event)) throw error;
        events[index] = wholeEvent(item);
        if (rejections >= REJECTIONS_MAX) items.forEach((each, at) => (events[at] = withoutCall(each, events[at])));
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

const rewindBefore = ({ version }: FoundItem): NewEvent => ({ type: 'HistoryRewound', to: version - 1 });
const isWhole = (event: NewEvent): boolean => event.type === 'MessageAppended' && event.parts[0]?.type === 'providerItem';

/** The event of an item, whole if it is a call or a result. */
const withoutCall = (item: AgentInputItem, event = eventOf(item)): NewEvent => (event.type === 'MessageAppended' ? event : wholeEvent(item));

/** The index of the event that the record rejects; NaN: the error is about something else. */
function rejectedIndex(error: unknown): number {
  const field = error instanceof HansardError && error.status < 500 ? error.field : undefined;
  return Number(/^events\[(\d+)\]/.exec(field ?? '')?.[1] ?? NaN);
}
