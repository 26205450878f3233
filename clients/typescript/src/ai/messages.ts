// Messages of the AI SDK as events, and back.
//
// The first event of a message has the whole message as a provider item, with `null` in place of the texts and URLs that its events
// have as parts. Texts, files, and calls with their results are typed, so that contexts, pages and searches contain them.

import type { UIMessage } from 'ai';

import { fromJson, isLabel, isText, toJson, type Json, type JsonObject } from '../json.js';
import type { NewEvent, NewPart, Part, RecordedEvent } from '../types.js';

/** The kinds of events that messages are made of. */
export const MESSAGE_KINDS = ['MessageAppended'];
/** The provider of the items. */
const PROVIDER = 'ai-sdk';
/** The metadata's member of events that continue the message before them. */
const CONTINUES = 'ai_sdk_continues';

export interface StoredMessage {
  message: UIMessage;
  /** The version of its first event. */
  version: number;
}

/** The events of a message. */
export function eventsOf(message: UIMessage): NewEvent[] {
  const { role, parts: given, ...rest } = toJson(message) as JsonObject & { parts: JsonObject[] };
  const metadata = { [CONTINUES]: true };
  const events: NewEvent[] = [];
  let parts: NewPart[] = [];
  const flush = () => {
    if (events.length === 0 || parts.length > 0) events.push({ type: 'MessageAppended', role: role as UIMessage['role'], parts, metadata });
    parts = [];
  };
  const entries = given.map((entry): Json => {
    const [member, part] = partOf(entry) ?? [];
    if (member && part) {
      parts.push(part);
      return { ...entry, [member]: null };
    }
    const call = callOf(entry);
    if (call) {
      flush();
      events.push(...call.map((event) => ({ ...event, metadata })));
    }
    return entry;
  });
  flush();
  const item = { ...rest, role, parts: entries };
  const [first] = events;
  if (first?.type === 'MessageAppended') first.parts = [{ type: 'providerItem', provider: PROVIDER, item }, ...first.parts];
  return events;
}

/** The messages of events in order. Messages of other clients have the id of their event, and their texts. */
export function messagesOf(events: RecordedEvent[]): StoredMessage[] {
  const stored: { item: JsonObject; values: string[]; version: number }[] = [];
  for (const event of events) {
    if (event.type !== 'MessageAppended') continue;
    const values = event.parts.flatMap(valueOf);
    const item = event.parts.find((part) => part.type === 'providerItem' && part.provider === PROVIDER);
    const last = stored.at(-1);
    const { [CONTINUES]: continues } = (event.metadata ?? {}) as JsonObject;
    if (item?.type === 'providerItem') stored.push({ item: item.item as JsonObject, values, version: event.version });
    else if (last && continues === true) last.values.push(...values);
    else stored.push({ item: foreign(event), values, version: event.version });
  }
  return stored.map(({ item, values, version }) => ({ message: restored(item, values), version }));
}

/** The part of an entry, and the member of the entry that the part has. */
function partOf(entry: JsonObject): [string, NewPart] | undefined {
  const { type, text, url, mediaType, filename } = entry;
  if (type === 'text' && isText(text)) return ['text', { type, text }];
  if (type !== 'file' || !isText(url) || !isLabel(mediaType)) return undefined;
  if (mediaType.startsWith('image/')) return ['url', { type: 'image', url, mediaType }];
  return ['url', { type, url, mediaType, ...(isLabel(filename) && { filename }) }];
}

/** The call of an entry and its result, if it has one. */
function callOf({ type, toolCallId: callId, toolName, state, input, output, errorText }: JsonObject): NewEvent[] | undefined {
  const isError = state === 'output-error';
  if (!isLabel(callId) || !isText(type) || (!isError && state !== 'output-available')) return undefined;
  const name = type === 'dynamic-tool' ? toolName : type.replace(/^tool-/, '');
  if (!isLabel(name)) return undefined;
  // The record has no output that is null.
  const result = (isError ? errorText : output) ?? 'null';
  const shown = isText(result) ? { outputParts: [{ type: 'text' as const, text: result }] } : { output: result };
  return [
    { type: 'ToolCalled', callId, toolName: name, input: input ?? {} },
    { type: 'ToolReturned', callId, toolName: name, isError, ...shown },
  ];
}

function restored(item: JsonObject, values: string[]): UIMessage {
  const parts = (item.parts as JsonObject[]).map((entry) => {
    const member = entry.type === 'text' ? 'text' : entry.type === 'file' ? 'url' : undefined;
    return member && entry[member] === null ? { ...entry, [member]: values.shift() ?? '' } : entry;
  });
  return fromJson({ ...item, parts }) as unknown as UIMessage;
}

function foreign({ eventId, role, parts }: RecordedEvent & { type: 'MessageAppended' }): JsonObject {
  const texts = parts.filter((part) => part.type === 'text' || part.type === 'refusal');
  return { id: eventId, role: role === 'developer' ? 'system' : role, parts: texts.map(({ text }) => ({ type: 'text', text })) };
}

function valueOf(part: Part): string[] {
  if (part.type === 'text' || part.type === 'refusal') return [part.text];
  return (part.type === 'image' || part.type === 'file') && 'url' in part ? [part.url] : [];
}
