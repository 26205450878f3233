// <hansard-chat>: the element, its launcher and its API. Everything else is imported when it is first needed.

// The other files, with their integrity. The gateway replaces this line; without a gateway, the modules are imported as they are.
const FILES = { script: ['app.js'], style: ['chat.css'] };

const LAUNCHER = `
:host([mode="floating"]) { position: fixed; z-index: 2147483000; inset-block-end: 1rem; inset-inline-end: 1rem; font: 1rem/1.5 system-ui, sans-serif; }
:host([position="start"]) { inset-inline: 1rem auto; }
[hidden] { display: none !important; }
.launcher { position: relative; inline-size: 3.5rem; block-size: 3.5rem; border: 2px solid transparent; border-radius: 50%; font-size: 1.5rem; cursor: pointer; color: var(--hansard-on-accent, #fff); background: var(--hansard-accent, #1d4ed8); }
.launcher svg { inline-size: 1.5rem; vertical-align: middle; fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
.launcher:focus-visible { outline: 3px solid var(--hansard-focus, Highlight); outline-offset: 3px; }
.badge { position: absolute; inset-block-start: 0; inset-inline-end: 0; inline-size: .9rem; block-size: .9rem; border: 2px solid Canvas; border-radius: 50%; background: #b91c1c; }
@media print { :host([mode="floating"]) { display: none; } }`;
const LABELS = { de: ['Chat öffnen', 'Chat kann nicht geladen werden'], en: ['Open chat', 'The chat cannot be loaded'] };
const CONTEXT = 'page-url referrer locale timezone';

const urlOf = ([path]) => new URL(path, import.meta.url).href;

/** Imports the chat. Its preload carries the integrity, which `import` cannot. */
function loadScript() {
  const [, integrity] = FILES.script;
  const href = urlOf(FILES.script);
  if (integrity && !document.querySelector(`link[href="${href}"]`)) {
    const preload = { rel: 'modulepreload', href, integrity, crossOrigin: 'anonymous' };
    document.head.append(Object.assign(document.createElement('link'), preload));
  }
  return import(href);
}

let style;
async function loadStyle() {
  const [, integrity] = FILES.style;
  const response = await fetch(urlOf(FILES.style), { credentials: 'omit', ...(integrity && { integrity }) });
  if (!response.ok) throw new Error(`chat.css: ${response.status}`);
  return sheetOf(await response.text());
}

function sheetOf(css) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  return sheet;
}

function icon() {
  const [svg, path] = ['svg', 'path'].map((name) => document.createElementNS('http://www.w3.org/2000/svg', name));
  svg.setAttribute('viewBox', '0 0 24 24');
  path.setAttribute('d', 'M4 4h16v12H9l-5 4z');
  svg.append(path);
  return svg;
}

class HansardChat extends HTMLElement {
  static observedAttributes = ['api-key', 'gateway', 'user-token', 'mode', 'lang', 'heading', 'greeting', 'suggestions', 'tool-calls', 'attachments', 'send-context'];

  #root = this.attachShadow({ mode: 'open' });
  #app; // A promise, from when it is first needed.
  #launcher;
  #isOpen = false;
  #isQueued = false;

  constructor() {
    super();
    // A page may have set them before the element was defined.
    this.tools ??= {};
    this.texts ??= {};
    this.context ??= {};
    this.#root.adoptedStyleSheets = [sheetOf(LAUNCHER)];
  }

  connectedCallback() {
    if (this.hasAttribute('mode')) this.#renew();
    else this.setAttribute('mode', 'inline'); // The change makes the chat.
  }

  disconnectedCallback() {
    this.#end();
  }

  /** Changes of attributes in one task make one new chat. */
  attributeChangedCallback(name, before, after) {
    if (before === after || !this.isConnected || this.#isQueued) return;
    this.#isQueued = true;
    queueMicrotask(() => {
      this.#isQueued = false;
      if (this.isConnected) this.#renew();
    });
  }

  #renew() {
    this.#end();
    const isFloating = this.getAttribute('mode') === 'floating';
    this.#launcher?.remove();
    this.#launcher = isFloating ? this.#makeLauncher() : undefined;
    if (!isFloating) this.#isOpen = true;
    if (!this.getAttribute('api-key')) return;
    if (this.#isOpen) this.#start();
    // An earlier conversation may have an answer that was not read.
    else if (this.#hasChat()) (globalThis.requestIdleCallback ?? setTimeout)(() => this.isConnected && this.#start());
  }

  #makeLauncher() {
    const launcher = document.createElement('button');
    Object.assign(launcher, { type: 'button', className: 'launcher', part: 'launcher' });
    launcher.append(icon());
    launcher.setAttribute('aria-label', this.#labels()[0]);
    launcher.setAttribute('aria-expanded', String(this.#isOpen));
    launcher.addEventListener('click', () => this.toggle());
    this.#root.prepend(launcher);
    return launcher;
  }

  #lang = () => this.getAttribute('lang') || this.closest('[lang]')?.lang || navigator.language;
  #labels = () => LABELS[this.#lang().slice(0, 2)] ?? LABELS.en;
  #gateway = () => new URL(this.getAttribute('gateway') || new URL('../..', import.meta.url), location.href).href.replace(/\/$/, '');

  #hasChat() {
    try {
      const prefix = `hansard-chat ${this.#gateway()} ${this.getAttribute('api-key')} `;
      return Object.keys(localStorage).some((name) => name.startsWith(prefix) && name.endsWith(' chat'));
    } catch {
      return false; // Storage is blocked.
    }
  }

  #settings() {
    const words = (name, given = '') => (this.getAttribute(name) ?? given).split(/\s+/).filter(Boolean);
    const text = (name) => this.getAttribute(name) ?? '';
    return {
      gateway: this.#gateway(),
      key: text('api-key'),
      mode: text('mode'),
      lang: this.#lang(),
      heading: text('heading'),
      greeting: text('greeting'),
      suggestions: text('suggestions').split('|').map((one) => one.trim()).filter(Boolean).slice(0, 8),
      toolCalls: text('tool-calls') || 'names',
      attachments: this.hasAttribute('attachments') ? words('attachments') : undefined,
      sendContext: words('send-context', CONTEXT),
    };
  }

  #start() {
    this.#app ??= this.#mount().catch((error) => {
      this.#app = style = undefined;
      this.#launcher?.setAttribute('aria-label', this.#labels()[1]);
      this.#emit('error', { code: 'NOT_LOADED' });
      throw error;
    });
    return this.#app;
  }

  async #mount() {
    const [{ mount }, sheet] = await Promise.all([loadScript(), (style ??= loadStyle())]);
    this.#root.adoptedStyleSheets = [sheetOf(LAUNCHER), sheet];
    const app = await mount({
      root: this.#root,
      settings: this.#settings(),
      page: {
        tools: () => this.tools,
        texts: () => this.texts,
        context: () => this.context,
        token: () => this.userToken || undefined,
        renewToken: () => this.#renewToken(),
      },
      emit: (name, detail) => this.#emit(name, detail),
      onClose: () => this.getAttribute('mode') === 'floating' && this.close(),
      onUnread: (isUnread, texts) => this.#mark(isUnread, texts),
    });
    app.show(this.#isOpen);
    return app;
  }

  /** A new token of the same user goes on with the chat; `getUserToken` is given by the page. */
  async #renewToken() {
    const token = await this.getUserToken?.();
    if (token) this.#token = token;
    else this.#emit('token-expired', {});
    return token;
  }
  #token;

  #mark(isUnread, { launcher, unread }) {
    if (!this.#launcher) return;
    const badge = Object.assign(document.createElement('span'), { className: 'badge', part: 'badge' });
    this.#launcher.replaceChildren(icon(), ...(isUnread ? [badge] : []));
    this.#launcher.setAttribute('aria-label', isUnread ? `${launcher} (${unread})` : launcher);
    if (isUnread !== this.hasAttribute('unread')) {
      this.toggleAttribute('unread', isUnread);
      this.#emit('unread', { isUnread });
    }
  }

  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(`hansard:${name}`, { detail, bubbles: true }));
  }

  #end() {
    this.#app?.then((app) => app.end(), () => {});
    this.#app = undefined;
    this.#token = undefined;
  }

  get isOpen() {
    return this.#isOpen;
  }

  get userToken() {
    return this.#token ?? this.getAttribute('user-token') ?? '';
  }

  set userToken(token) {
    if (token) this.setAttribute('user-token', token);
    else this.removeAttribute('user-token');
  }

  async open() {
    this.#isOpen = true;
    this.#launcher?.setAttribute('aria-expanded', 'true');
    const app = await this.#start();
    app.show(this.#isOpen);
    if (!this.#isOpen) return;
    app.focus();
    this.#emit('open', {});
  }

  async close() {
    if (!this.#isOpen || !this.#launcher) return;
    this.#isOpen = false;
    this.#launcher.setAttribute('aria-expanded', 'false');
    (await this.#app)?.show(false);
    this.#launcher.focus();
    this.#emit('close', {});
  }

  toggle() {
    return this.#isOpen ? this.close() : this.open();
  }

  /** Sends a message; resolves to whether the gateway has accepted it. */
  async send(text) {
    return (await this.#start()).send(String(text));
  }

  async newChat() {
    (await this.#start()).fresh();
  }

  async openChat(id) {
    await (await this.#start()).openChat(String(id));
  }

  /** Values for the conversations that the visitor begins from now on. */
  setContext(values) {
    this.context = { ...this.context, ...values };
  }

  /** Forgets the visitor: session, conversation, unsent text and token. */
  async signOut() {
    (await this.#start()).signOut();
    const had = this.hasAttribute('user-token');
    this.removeAttribute('user-token');
    if (!had) this.#renew();
  }
}

customElements.define('hansard-chat', HansardChat);

// `<script type="module" src="…" data-api-key="…">` alone makes a floating chat; its other data- attributes are the element's.
for (const script of document.querySelectorAll('script[data-api-key]')) {
  if (script.src !== import.meta.url) continue;
  const chat = document.createElement('hansard-chat');
  chat.setAttribute('mode', 'floating');
  for (const { name, value } of script.attributes) if (name.startsWith('data-')) chat.setAttribute(name.slice(5), value);
  document.body.append(chat);
}
