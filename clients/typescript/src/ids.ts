// UUIDs: idempotency keys of calls, and of operations that callers name.

/** A UUIDv7: the gateway settles retries with a fresh one without a look at its database. */
export function uuidv7(): string {
  const bytes = random();
  const now = Date.now();
  for (let index = 0; index < 6; index += 1) bytes[index] = Math.floor(now / 2 ** (8 * (5 - index)));
  return format(bytes, 7);
}

/** A random UUID; for callers whose clock may be wrong. */
export const uuidv4 = (): string => format(random(), 4);

/** The UUID of a text: equal texts have equal UUIDs. */
export async function uuidOf(value: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(value));
  return format(new Uint8Array(digest).slice(0, 16), 8);
}

const random = (): Uint8Array => crypto.getRandomValues(new Uint8Array(16));

function format(bytes: Uint8Array, version: number): string {
  bytes[6] = ((bytes[6] ?? 0) & 15) | (version << 4);
  bytes[8] = ((bytes[8] ?? 0) & 63) | 128;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
