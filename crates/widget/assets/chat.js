// One conversation: its state, and everything that a visitor can do with it. The record is the gateway's: after each turn, and
// when another tab changes something, the newest messages are read again.

import { Problem } from './api.js';
import { followAnswer } from './answer.js';
import { fromRecord } from './message.js';
import { uuid } from './store.js';
import { watchChat } from './watch.js';

const PAGE = 50;
const none = { messages: [], phase: 'idle', version: 0 };

/**
 * `onChange` is called after each change of `chat.state`: `{id, title, status, messages, nextBefore, pending, live, phase, isLost,
 * problem}`. The phase is `loading`, `idle`, `sending`, `answering` or `stopping`. `contextOf()` describes the page to a new
 * conversation; `onAnswer` gets each finished answer.
 */
export function createChat({ api, store, contextOf, onChange, onAnswer }) {
  const chat = { state: { ...none } };
  let life = new AbortController(); // Of the conversation that is shown.
  let watching;
  let isUpdating = false;
  let seen = 0; // The version of the last event that was watched.
  let turns = 0;

  const set = (members) => {
    Object.assign(chat.state, members);
    onChange();
  };
  const path = () => `/api/chats/${encodeURIComponent(chat.state.id)}`;
  const fail = (error, retry) => {
    if (!(error instanceof Problem) && error.name !== 'AbortError') console.error(error);
    const { name, code = 'INTERNAL', retryAfterS, bound } = error;
    if (name !== 'AbortError') set({ problem: { code, retryAfterS, bound, retry } });
  };

  /** Reads the newest messages; earlier ones that are loaded stay. An answer from before a turn is out of date. */
  async function refresh() {
    const { signal } = life;
    const turn = turns;
    const isRecorded = chat.state.phase !== 'sending';
    const page = await api.json('GET', `${path()}?limit=${PAGE}`);
    if (signal.aborted || turn !== turns) return {};
    const newest = page.messages.map(fromRecord);
    const known = chat.state.messages.findIndex(({ id }) => id === newest[0]?.id);
    const messages = known > 0 ? [...chat.state.messages.slice(0, known), ...newest] : newest;
    const nextBefore = known > 0 ? chat.state.nextBefore : page.nextBefore;
    set({ messages, nextBefore, title: page.title, status: page.status, version: page.version, isLost: false });
    if (isRecorded) set({ pending: undefined });
    return page;
  }

  async function follow(run, response, message) {
    const { signal } = life;
    let isHeard = false;
    set({ phase: 'answering', live: message });
    const isActive = async () => {
      const { activeRunId } = await refresh();
      return activeRunId === run;
    };
    await followAnswer({
      ...{ api, path: path(), run, response, message, isActive, signal },
      onMessage: (live) => {
        isHeard = true;
        if (!signal.aborted) set({ live, isLost: false });
      },
      onLoss: () => !signal.aborted && set({ isLost: true }),
    });
    if (signal.aborted) return;
    set({ phase: 'idle', live: undefined, isLost: false });
    const answer = chat.state.messages.at(-1);
    if (isHeard && answer?.role === 'assistant') onAnswer(answer);
  }

  const isBusy = () => ['sending', 'answering', 'stopping'].includes(chat.state.phase);

  /** The conversation as it is recorded, and the answer that is being written. */
  async function resume() {
    for (let page = await refresh(); page.activeRunId && !isBusy(); page = await refresh()) await follow(page.activeRunId);
    if (chat.state.phase === 'loading') set({ phase: 'idle' });
  }

  /** Reads what somebody else has changed. */
  async function update() {
    if (isUpdating) return;
    isUpdating = true;
    try {
      while (seen > chat.state.version && chat.state.phase === 'idle') await resume();
    } catch (error) {
      fail(error, chat.reload);
    }
    isUpdating = false;
  }

  chat.watch = async (isVisible) => {
    if (!isVisible || !chat.state.id || !chat.state.version) {
      watching?.abort();
      watching = undefined;
      return;
    }
    if (watching && !watching.signal.aborted) return;
    watching = new AbortController();
    const { signal } = watching;
    const onEvent = ({ version }) => {
      seen = version;
      update();
    };
    await watchChat({ api, path: path(), after: chat.state.version, onEvent, signal }).catch((error) => !signal.aborted && fail(error));
  };

  /** Shows another conversation, or none. */
  const show = (state) => {
    life.abort();
    life = new AbortController();
    watching?.abort();
    seen = 0;
    chat.state = { ...none };
    set(state);
  };

  chat.fresh = () => {
    store.remove('chat');
    show({});
  };

  chat.open = async (id) => {
    show({ id, phase: 'loading' });
    const { signal } = life;
    try {
      await resume();
      store.set('chat', id);
    } catch (error) {
      if (signal.aborted) return;
      set({ phase: 'idle' });
      fail(error, () => chat.open(id));
    }
  };

  chat.reload = () => chat.open(chat.state.id);

  chat.loadEarlier = async () => {
    const { nextBefore } = chat.state;
    if (!nextBefore) return;
    try {
      const page = await api.json('GET', `${path()}?limit=${PAGE}&before=${nextBefore}`);
      if (chat.state.nextBefore === nextBefore) set({ messages: [...page.messages.map(fromRecord), ...chat.state.messages], nextBefore: page.nextBefore });
    } catch (error) {
      fail(error, chat.loadEarlier);
    }
  };

  /** Starts a run by a request, and follows its answer. Resolves to whether the gateway has accepted it. */
  async function turn(start, { message, retry, onFailure = () => {} }) {
    if (chat.state.phase !== 'idle') return false;
    const { signal } = life;
    turns += 1;
    set({ phase: 'sending', problem: undefined });
    let response;
    try {
      response = await start();
    } catch (error) {
      if (signal.aborted) return false;
      onFailure();
      set({ phase: 'idle', pending: undefined });
      fail(error, retry);
      if (error.code === 'RUN_ACTIVE') finish(resume());
      return false;
    }
    if (signal.aborted) return true;
    finish(follow(response.headers.get('x-run-id'), response, message));
    return true;
  }

  /** Another run may have begun meanwhile. */
  async function finish(followed) {
    const { signal } = life;
    try {
      await followed;
      if (!signal.aborted) await update();
    } catch (error) {
      if (signal.aborted) return;
      set({ phase: 'idle' });
      fail(error, chat.reload);
    }
  }

  /**
   * Sends a message. `draft.id` and `draft.chat` name message and conversation in all retries, so that it is recorded once.
   * `replaces` is the message that it edits.
   */
  chat.send = async (parts, { draft = {}, replaces, key = uuid(), retry } = {}) => {
    const isNew = !chat.state.id;
    const id = chat.state.id ?? draft.chat ?? uuid();
    const message = { id: replaces ?? draft.id ?? uuid(), role: 'user', parts };
    const before = chat.state.messages;
    const index = before.findIndex((known) => known.id === replaces);
    if (chat.state.phase === 'idle') set({ pending: message, messages: replaces && index >= 0 ? before.slice(0, index) : before });
    const body = { id, messages: [message], trigger: 'submit-message', ...(replaces && { messageId: replaces }), ...(isNew && { context: contextOf() }) };
    const start = async () => {
      const response = await api.request('POST', '/api/chat', { body, ...(replaces && { headers: { 'idempotency-key': key } }) });
      store.set('chat', id);
      set({ id });
      return response;
    };
    return turn(start, { retry: retry ?? (() => chat.send(parts, { draft, replaces, key })), onFailure: () => set({ messages: before }) });
  };

  /** Another answer instead of a message of the assistant, or an answer to a message of the visitor. */
  chat.regenerate = async (messageId, key = uuid()) => {
    const { messages } = chat.state;
    const index = messages.findIndex(({ id }) => id === messageId);
    const body = { id: chat.state.id, messages: [], trigger: 'regenerate-message', messageId };
    const kept = messages[index]?.role === 'user' ? index + 1 : index;
    return turn(
      async () => {
        const response = await api.request('POST', '/api/chat', { body, headers: { 'idempotency-key': key } });
        set({ messages: messages.slice(0, kept) });
        return response;
      },
      { retry: () => chat.regenerate(messageId, key) },
    );
  };

  /** Results and approvals of calls, all that the last message waits for. */
  chat.answerCalls = (answers, key = uuid()) => {
    const start = () => api.request('POST', `${path()}/messages`, { body: answers, headers: { 'idempotency-key': key } });
    return turn(start, { message: chat.state.messages.at(-1), retry: () => chat.answerCalls(answers, key) });
  };

  chat.stop = async () => {
    if (chat.state.phase !== 'answering') return;
    set({ phase: 'stopping' });
    await api.request('POST', `${path()}/stop`).catch((error) => {
      if (chat.state.phase === 'stopping') set({ phase: 'answering' });
      fail(error, chat.stop);
    });
  };

  chat.change = async (id, members) => {
    const page = await api.json('PATCH', `/api/chats/${encodeURIComponent(id)}`, { body: members });
    if (id === chat.state.id) set({ title: page.title, status: page.status, problem: undefined });
  };

  chat.erase = async (id) => {
    if (id === chat.state.id) watching?.abort();
    await api.request('DELETE', `/api/chats/${encodeURIComponent(id)}`);
    if (id === chat.state.id) chat.fresh();
  };

  chat.dismiss = () => set({ problem: undefined });
  chat.fail = fail;
  chat.end = () => show({});
  return chat;
}
