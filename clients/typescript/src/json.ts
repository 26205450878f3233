// JSON of items: their bytes as base64, a spelling that is equal for equal items, and what events can have of it.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

const BYTES = '$bytes';

/** The value as JSON. Members that are undefined are left out, and bytes become `{"$bytes": BASE64}`. */
export function toJson(value: unknown): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (value instanceof Uint8Array) return { [BYTES]: btoa(Array.from(value, (byte) => String.fromCharCode(byte)).join('')) };
  if (Array.isArray(value)) return value.map((entry) => toJson(entry ?? null));
  if (typeof value !== 'object') throw new TypeError(`an item contains a ${typeof value}, which JSON cannot represent`);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, toJson(member)]));
}

/** The value that `toJson` had. */
export function fromJson(json: Json): unknown {
  if (json === null || typeof json !== 'object') return json;
  if (Array.isArray(json)) return json.map(fromJson);
  const members = Object.entries(json);
  const [first] = members;
  if (members.length === 1 && first?.[0] === BYTES && typeof first[1] === 'string') {
    return Uint8Array.from(atob(first[1]), (char) => char.charCodeAt(0));
  }
  return Object.fromEntries(members.map(([name, member]) => [name, fromJson(member)]));
}

/** The same text for values that differ only in the order of members. */
export function canonical(value: unknown): string {
  return JSON.stringify(toJson(value), (_, member: Json) => {
    if (member === null || typeof member !== 'object' || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1)));
  });
}

/** The gateway accepts ids and names of this size. */
const LABEL_BYTES_MAX = 256;

/** Whether an event can have the text: it is not empty, and has no half of a character. */
export const isText = (value: Json | undefined): value is string => typeof value === 'string' && value !== '' && !/\p{Surrogate}/u.test(value);

/** Whether an event can have the text as an id or a name. */
export const isLabel = (value: Json | undefined): value is string =>
  isText(value) && !/\p{Cc}/u.test(value) && new TextEncoder().encode(value).length <= LABEL_BYTES_MAX;

export const isObject = (value: Json | undefined): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);
