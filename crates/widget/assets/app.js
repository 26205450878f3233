// The chat of one element: connects its settings, the visitor, the conversation and the panel.

import { createApi } from './api.js';
import { pause } from './answer.js';
import { acceptedOf } from './attachments.js';
import { createChat } from './chat.js';
import { textOf } from './message.js';
import { createPanel } from './panel.js';
import { openStore } from './store.js';
import { texts as english } from './texts.js';
import { texts as german } from './texts-de.js';

const CLAIMS_MAX = 5;
/** The details of tool calls, the least first: of the page, and of the agent. */
const DETAILS = ['hidden', 'names', 'details'];
const AGENT_DETAILS = ['hidden', 'names', 'full'];
const CONTEXT = {
  'page-url': () => ({ pageUrl: location.href.slice(0, 4_000) }),
  referrer: () => document.referrer && { referrer: document.referrer.slice(0, 4_000) },
  locale: () => ({ locale: navigator.language }),
  timezone: () => ({ timezone: Intl.DateTimeFormat().resolvedOptions().timeZone }),
  'user-agent': () => ({ userAgent: navigator.userAgent.slice(0, 4_000) }),
};

/**
 * Shows the chat in a shadow root. `settings` are those of the element's attributes; `page` is what the page gives: `tools`,
 * `texts`, `context`, `token()`, `renewToken()`; `emit(name, detail)` tells the page.
 */
export async function mount({ root, settings, page, emit, onClose, onUnread }) {
  const { gateway, key } = settings;
  const texts = { ...(settings.lang.startsWith('de') ? german : english), ...page.texts() };
  const anonymous = openStore(gateway, key, '');
  const visitor = subjectOf(page.token());
  const store = visitor ? openStore(gateway, key, visitor) : anonymous;
  const identity = { token: page.token, renew: page.renewToken };
  const api = createApi({ gateway, key, store, identity });
  let learning;
  let agent; // Its settings for pages, once they are known.
  let isOpen = false;
  let isEnded = false;

  const contextOf = () => {
    const custom = page.context();
    const given = settings.sendContext.map((name) => CONTEXT[name]?.());
    const all = Object.assign({}, ...given, Object.keys(custom).length && { customMetadata: custom });
    const isRecorded = ([name]) => agent?.context?.includes(name) ?? true;
    return Object.fromEntries(Object.entries(all).filter(isRecorded));
  };

  const isSeen = () => isOpen && document.visibilityState === 'visible';
  const onAnswer = (message) => emit('answer', { chatId: chat.state.id, text: textOf(message) });
  let problem;
  const onChange = () => {
    if (isEnded) return;
    panel?.update();
    chat.watch(document.visibilityState === 'visible');
    const { version, messages, phase } = chat.state;
    if (isSeen() && version) store.set('read', `${chat.state.id} ${version}`);
    const [id, read] = (store.get('read') ?? '').split(' ');
    const isRead = id === chat.state.id && version <= Number(read);
    const isUnread = !isSeen() && !isRead && phase === 'idle' && messages.at(-1)?.role === 'assistant';
    onUnread(isUnread, texts);
    if (chat.state.problem !== problem && (problem = chat.state.problem)) emit('error', { code: problem.code });
  };

  const onSent = (chatId, message) => emit('message', { chatId, text: textOf(message) });
  const chat = createChat({ api, store, contextOf, onChange, onAnswer, onSent });
  const panel = createPanel({ settings, texts, store, api, chat, tools: page.tools, onClose });
  root.append(panel.node);
  document.addEventListener('visibilitychange', onChange);

  /** The page can show and send less than the agent allows. The gateway enforces the agent's settings. */
  const learn = async () => {
    learning ??= api.frontend();
    agent = await learning;
    if (!agent) learning = undefined;
    if (!agent || isEnded) return;
    const least = Math.min(DETAILS.indexOf(settings.toolCalls), AGENT_DETAILS.indexOf(agent.tool_calls));
    settings.toolCalls = DETAILS[Math.max(least, 0)];
    panel.accept(acceptedOf(agent.attachments, settings.attachments));
  };

  const start = async () => {
    await learn();
    if (visitor && anonymous.get('session')) await claim(api, anonymous, store);
    if (store.get('chat')) await chat.open(store.get('chat'));
  };
  const started = start().catch((error) => chat.fail(error, start));

  return {
    show(isShown) {
      isOpen = isShown;
      if (isShown) learn();
      panel.node.hidden = !isShown;
      onChange();
      panel.update();
    },
    focus: panel.focus,
    async send(text) {
      await started;
      return panel.send([{ type: 'text', text }]);
    },
    fresh: chat.fresh,
    openChat: chat.open,
    end() {
      isEnded = true;
      document.removeEventListener('visibilitychange', onChange);
      chat.end();
      panel.node.remove();
    },
    signOut() {
      store.clear();
      anonymous.clear();
    },
  };
}

/** The user that a token names. It only chooses what of the storage is used: the gateway verifies the token. */
function subjectOf(token) {
  try {
    const payload = token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/');
    return String(JSON.parse(atob(payload)).sub);
  } catch {
    return token ? 'user' : '';
  }
}

/** What the visitor did before signing in becomes the user's. */
async function claim(api, anonymous, store) {
  const sessionId = anonymous.get('session');
  for (let attempt = 0; attempt < CLAIMS_MAX; attempt += 1) {
    try {
      const { pending } = await api.json('POST', '/api/sessions/claim', { body: { sessionId } });
      if (!pending) break;
    } catch (error) {
      // The agent has no users: the session stays the visitor's identity.
      if (error.code === 'USERS_NOT_KNOWN') return store.set('session', sessionId);
      if (error.code?.startsWith('SESSION_')) break;
      throw error;
    }
    await pause(500 * (attempt + 1));
  }
  for (const name of ['chat', 'draft']) if (!store.get(name) && anonymous.get(name)) store.set(name, anonymous.get(name));
  anonymous.clear();
}
