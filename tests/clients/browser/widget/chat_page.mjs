// A page with the widget, under a strict policy, and what a visitor sees and does there.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';

// Longer than a run of a killed gateway lives: it is ended 15 s after its last part, at the next round.
const DEADLINE_MS = 45_000;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const escaped = text => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

/** The policy of a page that allows only what the widget needs. */
export const policy = gateway =>
  `default-src 'none'; script-src ${gateway}; connect-src ${gateway}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'`;

/** A site of a tenant: each page has the body that its query names. */
export async function site(gateways) {
  const server = createServer((request, response) => {
    const query = new URL(request.url, 'http://site').searchParams;
    const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy(gateways()) };
    const html = `<!doctype html><html lang="${escaped(query.get('lang') ?? 'en')}" dir="${escaped(query.get('dir') ?? 'ltr')}"><title>Shop</title><meta name="viewport" content="width=device-width"><main><h1>Shop</h1>${query.get('body')}</main></html>`;
    response.writeHead(200, headers).end(html);
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${server.address().port}`;
  return { server, url: (body, query = {}) => `${url}/?${new URLSearchParams({ body, ...query })}` };
}

/** An element of the widget, with its script. */
export function element({ url, key }, attributes = {}) {
  const all = Object.entries({ gateway: url, 'api-key': key, ...attributes });
  return `<script type="module" src="${url}/widget/1/hansard-chat.js"></script><hansard-chat ${all.map(([name, value]) => `${name}="${escaped(value)}"`).join(' ')}></hansard-chat>`;
}

/** What a page shows: messages with their notes, problem, status, names of the buttons, and the input. */
function seen() {
  const root = document.querySelector('hansard-chat').shadowRoot;
  const isShown = node => node.getClientRects().length > 0;
  const textOf = node => node.innerText.trim();
  const lines = [...root.querySelectorAll('.message')].map(message => {
    const role = message.classList.contains('user') ? 'user' : 'assistant';
    const parts = [...message.querySelectorAll('.body > *')].filter(node => !node.classList.contains('typing'));
    return [role, parts.map(textOf).join('\n').replace(/\s*Try again$/, '')];
  });
  const buttons = [...root.querySelectorAll('button')].filter(isShown).map(node => node.ariaLabel ?? node.textContent);
  const visible = selector => [...root.querySelectorAll(selector)].filter(isShown).map(textOf).join('\n');
  const canSend = [...root.querySelectorAll('.composer button[type=submit]')].some(node => isShown(node) && !node.disabled);
  return { lines, buttons, canSend, problem: visible('.alert span'), status: root.querySelector('[role=status]')?.textContent ?? '', text: root.querySelector('textarea')?.value };
}

export class ChatPage {
  /** Opens an address in a context of its own, or in that of another page. */
  static async open(browser, address, { context, size = { width: 900, height: 800 } } = {}) {
    const own = context ?? (await browser.createBrowserContext());
    const page = await own.newPage();
    page.setDefaultTimeout(DEADLINE_MS);
    await page.setViewport(size);
    const chat = new ChatPage(page, own);
    page.on('pageerror', fault => chat.faults.push(fault.message));
    page.on('request', request => chat.requests.push(`${request.method()} ${request.url()}`));
    await page.evaluateOnNewDocument(() => {
      window.violations = [];
      window.told = [];
      document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => window.violations.push(`${violatedDirective} ${blockedURI}`));
      for (const name of ['open', 'close', 'message', 'answer', 'error', 'unread', 'token-expired']) {
        document.addEventListener(`hansard:${name}`, ({ detail }) => window.told.push([name, detail]));
      }
    });
    await page.goto(address);
    return chat;
  }

  constructor(page, context) {
    Object.assign(this, { page, context, faults: [], requests: [] });
  }

  /** Waits until `read` of what is seen equals a value. */
  async until(read, expected) {
    const end = Date.now() + DEADLINE_MS;
    for (;;) {
      const found = read(await this.seen().catch(() => ({ lines: [], buttons: [] })));
      if (JSON.stringify(found) === JSON.stringify(expected)) return;
      if (Date.now() > end) assert.deepEqual(found, expected);
      await new Promise(done => setTimeout(done, 50));
    }
  }

  seen = () => this.page.evaluate(seen);
  lines = expected => this.until(({ lines }) => lines, expected);
  problem = pattern => this.until(({ problem }) => pattern.test(problem ?? ''), true);
  hasButton = (name, is = true) => this.until(({ buttons }) => buttons.includes(name), is);
  /** Until then, the element does not send: what is written stays in the input. */
  ready = () => this.until(({ canSend }) => canSend, true);

  /** Clicks the last shown button with a name. One that is replaced while it is clicked is looked for again. */
  async press(name) {
    const end = Date.now() + DEADLINE_MS;
    for (;;) {
      await this.hasButton(name);
      const button = await this.page.evaluateHandle(wanted => {
        const root = document.querySelector('hansard-chat').shadowRoot;
        return [...root.querySelectorAll('button')].findLast(node => node.getClientRects().length && (node.ariaLabel ?? node.textContent) === wanted);
      }, name);
      try {
        return await button.click();
      } catch (error) {
        if (Date.now() > end) throw error;
      }
    }
  }

  /** Runs a function in the page, with the element. */
  run = (work, ...values) => this.page.evaluate(`(${work})(document.querySelector('hansard-chat'), ...${JSON.stringify(values)})`);

  /** Waits for a button; tries again where the rate of the address was used up. */
  async hasButtonAgain(name) {
    for (;;) {
      await this.until(({ buttons }) => [name, 'Try again'].some(one => buttons.includes(one)), true);
      if ((await this.seen()).buttons.includes(name)) return;
      await this.press('Try again');
    }
  }

  async type(text) {
    await this.run(chat => chat.shadowRoot.querySelector('textarea').focus());
    await this.page.keyboard.type(text);
  }

  async say(text) {
    await this.ready();
    await this.type(text);
    await this.page.keyboard.press('Enter');
  }

  focused = () => this.run(chat => {
    const node = chat.shadowRoot.activeElement;
    return node && (node.ariaLabel ?? node.getAttribute('aria-label') ?? node.textContent);
  });

  /** Serious and critical findings of axe; the policy of the page does not allow its script, so it is evaluated. */
  async isAccessible(state) {
    await this.page.evaluate(AXE);
    const findings = await this.page.evaluate(async () => {
      const { violations } = await globalThis.axe.run(document, { resultTypes: ['violations'] });
      return violations.filter(({ impact }) => ['serious', 'critical'].includes(impact)).map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`).join(' | ')}`);
    });
    assert.deepEqual(findings, [], state);
  }

  reload = () => this.page.reload();

  async end() {
    const violations = await this.page.evaluate(() => window.violations);
    assert.deepEqual([this.faults, violations], [[], []]);
    await this.page.close();
  }
}
