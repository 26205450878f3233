// What the adapters share: they keep a history in one conversation, which is created with its first events.

import { isHansardError, unlessMissing } from './errors.js';
import type { Appended, Conversation, Hansard } from './hansard.js';
import { uuidv4, uuidv7 } from './ids.js';
import type { Commit, NewConversation, RecordedEvent } from './types.js';

/** The gateway accepts 500 events and 4 MiB in a commit. */
const COMMIT_EVENTS_MAX = 500;
/** The rest is for what events have besides an item. */
const COMMIT_BYTES_MAX = 3 * 1024 * 1024;
/** The events of a page. */
const PAGE_MAX = 1_000;
/** How often a change that lost a race is tried again. */
const ATTEMPTS_MAX = 8;

/** Values of a conversation that is created. Without an owner it belongs to a session that nobody has. */
export type Values = Omit<NewConversation, 'id'>;

/**
 * Gives the events that readers see to `take`, the newest first, until it returns false; `wanted` of them are expected to suffice. What a rewind hides is left out. Returns the
 * version of the conversation; 0 if it does not exist.
 */
export async function newestEvents(
  conversation: Conversation,
  kinds: string[],
  take: (event: RecordedEvent) => boolean,
  wanted = PAGE_MAX,
): Promise<number> {
  const query = { order: 'desc', kinds: [...kinds, 'HistoryRewound'].join(','), limit: Math.min(Math.max(wanted, 1), PAGE_MAX) } as const;
  let version: number | undefined;
  let visible = Infinity;
  for (let to: number | undefined; ; ) {
    const page = await unlessMissing(conversation.eventsPage({ ...query, ...(to && { to }) }));
    version ??= page?.version ?? 0;
    for (const event of page?.events ?? []) {
      if (event.version > visible) continue;
      if (event.type === 'HistoryRewound') visible = event.to;
      else if (!take(event)) return version;
    }
    if (!page?.next) return version;
    to = Math.min(page.next, visible);
  }
}

/** The values of each commit, in order: as many as one accepts. */
export function inCommits<T>(values: T[]): T[][] {
  const commits: T[][] = [];
  let bytes = 0;
  for (const value of values) {
    const size = new TextEncoder().encode(JSON.stringify(value)).length;
    const last = commits.at(-1);
    if (last && last.length < COMMIT_EVENTS_MAX && bytes + size <= COMMIT_BYTES_MAX) last.push(value);
    else commits.push([value]);
    bytes = last === commits.at(-1) ? bytes + size : size;
  }
  return commits;
}

/** Appends as one request, and creates the conversation if it does not exist. */
export async function appendOrCreate(
  { hansard, conversation, values = {} }: { hansard: Hansard; conversation: Conversation; values?: Values | undefined },
  body: Appended,
  idempotencyKey: string = uuidv7(),
): Promise<Commit> {
  const created = await unlessMissing(conversation.append(body, { idempotencyKey }));
  if (created) return created;
  const hasOwner = values.userId !== undefined || values.sessionId !== undefined;
  try {
    await hansard.createConversation({ ...(!hasOwner && { sessionId: uuidv4() }), ...values, id: conversation.id });
  } catch (error) {
    if (!isHansardError(error, 'CONVERSATION_EXISTS')) throw error;
  }
  return conversation.append(body, { idempotencyKey });
}

/** Reads and changes again if another client was faster. */
export async function withoutRace<T>(change: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await change();
    } catch (error) {
      if (!isHansardError(error, 'VERSION_CONFLICT') || attempt >= ATTEMPTS_MAX) throw error;
    }
  }
}
