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
 * conversation; `onAnswer` gets each finished answer; `onSent` gets the conversation and the message that the gateway has accepted.
 */
export function createChat({ api, store, contextOf, onChange, onAnswer, onSent }) {
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
  /** Shows a failure, unless its conversation was left. */
  const fail = (error, retry, { aborted } = life.signal) => {
    if (!(error instanceof Problem) && error.name !== 'AbortError') console.error(error);
    const { name, code = 'INTERNAL', retryAfterS, bound } = error;
    if (name !== 'AbortError' && !aborted) set({ problem: { code, retryAfterS, bound, retry } });
  };

  /**
   * Reads the newest messages of the conversation of `signal`, unless it was left; earlier ones that are loaded stay. An answer
   * from before a turn is out of date.
   */
  async function refresh(signal) {
    if (signal.aborted) return {};
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
      const { activeRunId } = await refresh(signal);
      return activeRunId === run;
    };
    await followAnswer({
      ...{ api, path: path(), run, response, message, isActive, signal },
      onMessage: (live) => {
        isHeard = true;
        if (!signal.aborted) set({ live, isLost: false });
      },
      onLoss: () => !signal.aborted && set({ isLost: true }),
    }).finally(() => !signal.aborted && set({ phase: 'idle', live: undefined, isLost: false }));
    if (signal.aborted) return;
    const answer = chat.state.messages.at(-1);
    if (isHeard && answer?.role === 'assistant') onAnswer(answer);
  }

  const isBusy = () => ['sending', 'answering', 'stopping'].includes(chat.state.phase);

  /** The conversation as it is recorded, and the answer that is being written. */
  async function resume() {
    const { signal } = life;
    for (let page = await refresh(signal); page.activeRunId && !isBusy(); page = await refresh(signal)) await follow(page.activeRunId);
    if (!signal.aborted && chat.state.phase === 'loading') set({ phase: 'idle' });
  }

  /** Reads what somebody else has changed. */
  async function update() {
    if (isUpdating) return;
    isUpdating = true;
    const { signal } = life;
    try {
      while (!signal.aborted && seen > chat.state.version && chat.state.phase === 'idle') await resume();
    } catch (error) {
      fail(error, chat.reload, signal);
    }
    if (!signal.aborted) isUpdating = false;
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
    await watchChat({ api, path: path(), after: chat.state.version, onEvent, signal }).catch((error) => fail(error, undefined, signal));
  };

  /** Shows another conversation, or none. */
  const show = (state) => {
    life.abort();
    life = new AbortController();
    watching?.abort();
    isUpdating = false;
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
      if (!signal.aborted) store.set('chat', id);
    } catch (error) {
      if (signal.aborted) return;
      set({ phase: 'idle' });
      fail(error, () => chat.open(id));
    }
  };

  chat.reload = () => chat.open(chat.state.id);

  chat.loadEarlier = async () => {
    const { nextBefore } = chat.state;
    const { signal } = life;
    if (!nextBefore) return;
    try {
      const page = await api.json('GET', `${path()}?limit=${PAGE}&before=${nextBefore}`);
      if (!signal.aborted && chat.state.nextBefore === nextBefore) set({ messages: [...page.messages.map(fromRecord), ...chat.state.messages], nextBefore: page.nextBefore });
    } catch (error) {
      fail(error, chat.loadEarlier, signal);
    }
  };

  /**
   * Starts a run by a request, and follows its answer. Resolves to whether the gateway has accepted it. `onAccepted` and
   * `onFailure` change the state: they are not called when the conversation was left meanwhile.
   */
  async function turn(start, { message, retry, onAccepted = () => {}, onFailure = () => {} }) {
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
    onAccepted();
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
      fail(error, chat.reload, signal);
    }
  }

  /**
   * Sends a message. `draft.id` and `draft.chat` name message and conversation in all retries, so that it is recorded once.
   * `replaces` is the message that it edits.
   */
  chat.send = async (parts, { draft = { id: uuid(), chat: uuid() }, replaces, key = uuid(), retry } = {}) => {
    const isNew = !chat.state.id;
    const id = chat.state.id ?? draft.chat;
    const message = { id: replaces ?? draft.id, role: 'user', parts };
    const before = chat.state.messages;
    const index = before.findIndex((known) => known.id === replaces);
    if (chat.state.phase === 'idle') set({ pending: message, messages: replaces && index >= 0 ? before.slice(0, index) : before });
    const body = { id, messages: [message], trigger: 'submit-message', ...(replaces && { messageId: replaces }), ...(isNew && { context: contextOf() }) };
    const start = async () => {
      const response = await api.request('POST', '/api/chat', { body, ...(replaces && { headers: { 'idempotency-key': key } }) });
      onSent(id, message);
      return response;
    };
    const onAccepted = () => {
      store.set('chat', id);
      set({ id });
    };
    // Nothing but its problem keeps the message: the problem stays until the message can be sent.
    const again = () => (isBusy() ? fail(new Problem('RUN_ACTIVE'), again) : chat.send(parts, { draft, replaces, key }));
    return turn(start, { retry: retry ?? again, onAccepted, onFailure: () => set({ messages: before }) });
  };

  /** Another answer instead of a message of the assistant, or an answer to a message of the visitor. */
  chat.regenerate = async (messageId, key = uuid()) => {
    const { messages } = chat.state;
    const index = messages.findIndex(({ id }) => id === messageId);
    const body = { id: chat.state.id, messages: [], trigger: 'regenerate-message', messageId };
    const kept = messages[index]?.role === 'user' ? index + 1 : index;
    const start = () => api.request('POST', '/api/chat', { body, headers: { 'idempotency-key': key } });
    return turn(start, { retry: () => chat.regenerate(messageId, key), onAccepted: () => set({ messages: messages.slice(0, kept) }) });
  };

  /** Results and approvals of calls, all that the last message waits for. */
  chat.answerCalls = (answers, key = uuid()) => {
    const start = () => api.request('POST', `${path()}/messages`, { body: answers, headers: { 'idempotency-key': key } });
    return turn(start, { message: chat.state.messages.at(-1), retry: () => chat.answerCalls(answers, key) });
  };

  chat.stop = async () => {
    if (chat.state.phase !== 'answering') return;
    const { signal } = life;
    set({ phase: 'stopping' });
    await api.request('POST', `${path()}/stop`).catch((error) => {
      if (!signal.aborted && chat.state.phase === 'stopping') set({ phase: 'answering' });
      fail(error, chat.stop, signal);
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
