// Requests to the gateway: key, session or user token, positions, and every failure as a Problem with a code.

import { exclusive } from './store.js';

const REQUEST_MS_MAX = 30_000;
const POSITIONS_MAX = 8;
const TOKEN_PROBLEMS = ['USER_TOKEN_EXPIRED', 'USER_TOKEN_INVALID', 'USER_TOKEN_REQUIRED'];
const SESSION_PROBLEMS = ['SESSION_EXPIRED', 'SESSION_INVALID'];

export class Problem extends Error {
  constructor(code, { status = 0, detail = code, retryAfterS } = {}) {
    super(detail);
    Object.assign(this, { code, status, retryAfterS });
  }
}

/**
 * `identity`: `token()` is the user's token, if there is one; `renew()` asks the page for another.
 * Returns `request(method, path, {body, headers, signal})`, which resolves to a successful response, and `frontend()`.
 */
export function createApi({ gateway, key, store, identity }) {
  let positions = []; // Of the last writes: reads include them.

  async function send(method, path, { body, headers = {}, signal } = {}) {
    const common = { 'x-api-key': key, ...(positions.length && { 'x-position-token': positions.join(',') }) };
    const late = new AbortController(); // The bound is for the headers: answers are streamed.
    const timer = setTimeout(() => late.abort(), REQUEST_MS_MAX);
    const response = await fetch(gateway + path, {
      method,
      signal: AbortSignal.any([late.signal, ...(signal ? [signal] : [])]),
      headers: { ...common, ...headers, ...(body && { 'content-type': 'application/json' }) },
      body: body && JSON.stringify(body),
      credentials: 'omit',
      cache: 'no-store',
    }).catch(async (error) => {
      if (signal?.aborted) throw error;
      throw new Problem(await unreachable());
    }).finally(() => clearTimeout(timer));
    if (!response.ok) throw await problemOf(response);
    const written = (method !== 'GET' && response.headers.get('x-position-token')?.split(',')) || [];
    positions = [...positions, ...written].slice(-POSITIONS_MAX);
    const renewed = response.headers.get('x-session-id');
    if (renewed) store.set('session', renewed);
    return response;
  }

  /** Browsers hide answers to pages that the key does not allow, and those of unknown keys; the loader is for every page. */
  async function unreachable() {
    const probe = fetch(`${gateway}/widget/1/hansard-chat.js`, { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(5_000) });
    return (await probe.then(({ ok }) => ok, () => false)) ? 'KEY_REJECTED' : 'UNREACHABLE';
  }

  const session = () =>
    store.get('session') ??
    exclusive('session', async () => {
      if (!store.get('session') && store.get('chat')) throw new Problem('SESSION_EXPIRED'); // Another session cannot read the chat.
      const issue = async () => (await (await send('POST', '/api/sessions', { body: {} })).json()).sessionId;
      if (!store.get('session')) store.set('session', await issue());
      return store.get('session');
    });

  async function credentials() {
    const token = identity.token();
    if (!token) return { 'x-session-id': await session() };
    const own = store.get('session'); // Only of agents without users.
    return { 'x-user-token': token, ...(own && { 'x-session-id': own }) };
  }

  /** Whether the request can be tried once more, with other credentials. */
  async function isMended({ code }) {
    if (TOKEN_PROBLEMS.includes(code)) return Boolean(await identity.renew());
    if (code === 'SESSION_REQUIRED') return Boolean(await session());
    if (!SESSION_PROBLEMS.includes(code)) return false;
    store.remove('session', 'read');
    return !store.get('chat');
  }

  async function request(method, path, options = {}) {
    const attempt = async () => send(method, path, { ...options, headers: { ...(await credentials()), ...options.headers } });
    return attempt().catch(async (problem) => {
      if (problem instanceof Problem && (await isMended(problem))) return attempt();
      throw problem;
    });
  }

  /** What the agent accepts from pages and shows them; undefined: it is not known. */
  const frontend = () =>
    fetch(`${gateway}/v1/limits`, { headers: { 'x-api-key': key }, credentials: 'omit', cache: 'no-store', signal: AbortSignal.timeout(REQUEST_MS_MAX) })
      .then((response) => response.json())
      .then(({ frontend }) => frontend, () => undefined);

  return { request, frontend, json: async (...call) => (await request(...call)).json() };
}

async function problemOf(response) {
  const body = await response.json().catch(() => ({}));
  const retryAfterS = Number(response.headers.get('retry-after')) || undefined;
  return new Problem(body.code ?? `HTTP_${response.status}`, { status: response.status, detail: body.detail, retryAfterS });
}
