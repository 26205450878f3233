// Position tokens of the latest writes: reads that send them include those writes, on every replica.

/** The gateway accepts this many tokens in a request. */
const TOKENS_MAX = 8;
/** Conversations whose tokens are kept; the one that was written least recently is dropped first. */
const SCOPES_MAX = 1_024;

export class Positions {
  readonly #tokens = new Map<string, string[]>();

  /** The value of the header for a scope, such as a conversation, with tokens that the caller gives. */
  header(scope: string, given?: string): string {
    return [...(this.#tokens.get(scope) ?? []), ...(given?.split(',') ?? [])].slice(-TOKENS_MAX).join(',');
  }

  /** Adds the tokens of an answer to a write. */
  add(scope: string, header: string | null): void {
    if (!header) return;
    const added = header.split(',').map((token) => token.trim());
    const known = (this.#tokens.get(scope) ?? []).filter((token) => !added.includes(token));
    this.#tokens.delete(scope);
    this.#tokens.set(scope, [...known, ...added].slice(-TOKENS_MAX));
    const oldest = this.#tokens.keys().next();
    if (this.#tokens.size > SCOPES_MAX && !oldest.done) this.#tokens.delete(oldest.value);
  }

  /** Forgets the tokens of a scope: the gateway has another record. */
  forget(scope: string): void {
    this.#tokens.delete(scope);
  }
}
