// Items of @openai/agents as events, and back.
//
// Messages, calls and results are recorded as typed events, so that contexts, pages and searches contain them. What such an event
// does not have of its item is in its metadata: the item with `null` in place of the texts that the event has. Every other item, and
// an item that does not fit, is recorded whole as a provider item of the assistant, which models do not read.

import type { AgentInputItem } from '@openai/agents';

import { fromJson, isLabel, isObject, isText, toJson, type Json, type JsonObject } from '../json.js';
import type { NewEvent, NewPart, Part, RecordedEvent } from '../types.js';

/** The kinds of events that are items. */
export const ITEM_KINDS = ['MessageAppended', 'ToolCalled', 'ToolReturned'];
/** The metadata's member with the rest of an item. */
const REST = 'openai_agents_item';
/** The metadata's member with the digest of a transaction. */
const TRANSACTION = 'openai_agents_transaction';
/** The provider of items that are recorded whole. */
const PROVIDER = 'openai-agents';
/** The gateway accepts 64 KiB of metadata; the rest is for the transaction. */
const REST_BYTES_MAX = 63 * 1024;
/** What metadata cannot contain, as JSON spells it: halves of characters, and U+0000. */
const UNRECORDABLE_ESCAPES = /\\u(0000|d[89a-f])/;

/** The event of an item. */
export function eventOf(item: AgentInputItem): NewEvent {
  const json = toJson(item) as JsonObject;
  const typed = typedEvent(json);
  if (!typed) return wholeEvent(item);
  const rest = JSON.stringify(typed.rest);
  const fits = new TextEncoder().encode(rest).length <= REST_BYTES_MAX && !UNRECORDABLE_ESCAPES.test(rest);
  return fits ? { ...typed.event, metadata: { [REST]: typed.rest } } : wholeEvent(item);
}

/** The event of an item that is not read by models. */
export function wholeEvent(item: AgentInputItem): NewEvent {
  return { type: 'MessageAppended', role: 'assistant', parts: [{ type: 'providerItem', provider: PROVIDER, item: toJson(item) }] };
}

/** The event with the digest of its transaction. */
export function inTransaction(event: NewEvent, digest: string): NewEvent {
  return { ...event, metadata: { ...event.metadata, [TRANSACTION]: digest } };
}

/** The digest of the event's transaction. */
export function transactionOf(event: RecordedEvent): string | undefined {
  const digest = metadataOf(event)[TRANSACTION];
  return typeof digest === 'string' ? digest : undefined;
}

/** The item of an event; undefined: it is none. Events of other clients become items with the same content. */
export function itemOf(event: RecordedEvent): AgentInputItem | undefined {
  const rest = metadataOf(event)[REST];
  const json = isObject(rest) ? restored(rest, event) : foreign(event);
  return json && (fromJson(json) as AgentInputItem);
}

interface TypedEvent {
  event: NewEvent;
  rest: JsonObject;
}

function typedEvent(item: JsonObject): TypedEvent | undefined {
  if (item.type === 'function_call') return calledEvent(item);
  if (item.type === 'function_call_result') return returnedEvent(item);
  return item.type === undefined || item.type === 'message' ? messageEvent(item) : undefined;
}

function messageEvent(item: JsonObject): TypedEvent | undefined {
  const { role, content } = item;
  if (role !== 'user' && role !== 'assistant' && role !== 'system') return undefined;
  const parts: NewPart[] = [];
  if (isText(content)) {
    parts.push({ type: 'text', text: content });
    return { event: { type: 'MessageAppended', role, parts }, rest: { ...item, content: null } };
  }
  if (!Array.isArray(content) || content.some(keptMember)) return undefined;
  const entries = content.map((entry) => {
    const member = isObject(entry) ? memberOf(entry) : undefined;
    if (!isObject(entry) || !member) return entry;
    parts.push(partOf(entry, member));
    return { ...entry, [member]: null };
  });
  return { event: { type: 'MessageAppended', role, parts }, rest: { ...item, content: entries } };
}

/** The member of an entry that its part has, by the type of the entry. */
const MEMBERS: Record<string, string> = { input_text: 'text', output_text: 'text', refusal: 'refusal', input_image: 'image' };

/** The member of an entry of a content that its part has. */
function memberOf(entry: JsonObject): string | undefined {
  const member = MEMBERS[String(entry.type)];
  if (member === undefined || !isText(entry[member])) return undefined;
  return member !== 'image' || /^(https?|data):/.test(entry.image as string) ? member : undefined;
}

/** The member whose place a `null` keeps. */
function keptMember(entry: Json): string | undefined {
  const member = isObject(entry) ? MEMBERS[String(entry.type)] : undefined;
  return isObject(entry) && member && entry[member] === null ? member : undefined;
}

function partOf(entry: JsonObject, member: string): NewPart {
  const value = entry[member] as string;
  if (member === 'image') return { type: 'image', url: value, ...(isLabel(entry.detail) && { detail: entry.detail }) };
  return { type: member === 'refusal' ? 'refusal' : 'text', text: value };
}

function calledEvent(item: JsonObject): TypedEvent | undefined {
  const { callId, name, arguments: text } = item;
  if (!isLabel(callId) || !isLabel(name) || typeof text !== 'string') return undefined;
  const input = parsed(text);
  const event: NewEvent = { type: 'ToolCalled', callId, toolName: name, input: input ?? text };
  // Only arguments that are spelled in this way can be made of the event again.
  const isLifted = input !== undefined && JSON.stringify(input) === text;
  return { event, rest: isLifted ? { ...item, arguments: null } : item };
}

function returnedEvent(item: JsonObject): TypedEvent | undefined {
  const { callId, name, output } = item;
  if (!isLabel(callId) || !isLabel(name) || output === undefined || output === null) return undefined;
  const text = isObject(output) && output.type === 'text' ? output.text : output;
  // Models read a text, and other outputs as JSON.
  if (!isText(text)) return { event: { type: 'ToolReturned', callId, toolName: name, output }, rest: { ...item, output: null } };
  const event: NewEvent = { type: 'ToolReturned', callId, toolName: name, outputParts: [{ type: 'text', text }] };
  return { event, rest: { ...item, output: isObject(output) ? { ...output, text: null } : null } };
}

function restored(rest: JsonObject, event: RecordedEvent): JsonObject {
  if (event.type === 'ToolCalled') {
    return rest.arguments === null ? { ...rest, arguments: JSON.stringify(event.input) } : rest;
  }
  if (event.type === 'ToolReturned') {
    const output = event.outputParts ? textOf(event.outputParts) : (event.output as Json);
    return { ...rest, output: isObject(rest.output) ? { ...rest.output, text: output } : output };
  }
  if (event.type !== 'MessageAppended') return rest;
  const values = event.parts.map(valueOf);
  if (rest.content === null) return { ...rest, content: values[0] ?? '' };
  const content = (rest.content as Json[]).map((entry) => {
    const member = keptMember(entry);
    return isObject(entry) && member ? { ...entry, [member]: values.shift() ?? '' } : entry;
  });
  return { ...rest, content };
}

function valueOf(part: Part): string {
  if (part.type === 'image' && 'url' in part) return part.url;
  return 'text' in part ? part.text : '';
}

const textOf = (parts: Part[]): string => parts.map((part) => (part.type === 'text' || part.type === 'refusal' ? part.text : '')).join('');

/** The item of an event that another client recorded. */
function foreign(event: RecordedEvent): JsonObject | undefined {
  if (event.type === 'ToolCalled') {
    const { callId, toolName: name, input } = event;
    return { type: 'function_call', callId, name, arguments: JSON.stringify(input), status: 'completed' };
  }
  if (event.type === 'ToolReturned') {
    const output = event.outputParts ? textOf(event.outputParts) : (event.output as Json);
    const text = typeof output === 'string' ? output : JSON.stringify(output);
    return { type: 'function_call_result', callId: event.callId, name: event.toolName ?? '', output: text, status: 'completed' };
  }
  if (event.type !== 'MessageAppended') return undefined;
  const [first] = event.parts;
  if (first?.type === 'providerItem' && first.provider === PROVIDER) return first.item as JsonObject;
  const text = textOf(event.parts);
  if (text === '') return undefined;
  if (event.role !== 'assistant') return { type: 'message', role: event.role === 'user' ? 'user' : 'system', content: text };
  return { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] };
}

function metadataOf(event: RecordedEvent): JsonObject {
  const metadata = event.metadata as Json | undefined;
  return isObject(metadata) ? metadata : {};
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
