// Faults: a stopped gateway, a killed one, an expired session, a quota, an erased conversation, a slow connection, keys that are
// not accepted.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { ChatPage, element } from './chat_page.mjs';

const DEADLINE_MS = 20_000;

export async function expiredSession({ browser, site, gateway }) {
  const chat = await ChatPage.open(browser, site.url(element(gateway)));
  await chat.say('hello');
  await chat.lines([['user', 'hello'], ['assistant', 'echo: hello']]);
  await chat.page.evaluate(() => {
    const name = Object.keys(localStorage).find(name => name.endsWith(' session'));
    localStorage[name] = 'hsess_of_nobody';
  });
  await chat.say('Are you there?');
  await chat.problem(/session has expired/);
  await chat.until(({ text }) => text, 'Are you there?');
  // The button of the problem, before that of the header.
  await chat.run(element => element.shadowRoot.querySelector('.alert button').click());
  await chat.lines([]);
  await chat.until(({ text }) => text, 'Are you there?');
  await chat.say('');
  await chat.lines([['user', 'Are you there?'], ['assistant', 'echo: Are you there?']]);
  await chat.end();
}

export async function quota({ browser, site, gateway, command }) {
  const chat = await ChatPage.open(browser, site.url(element(gateway)));
  await command('agent', 'set', 'demo', '--quota', 'owner.runs=0');
  await chat.say('too much');
  await chat.problem(/too many requests/);
  await chat.until(({ text }) => text, 'too much');
  await chat.isAccessible('quota');
  await command('agent', 'set', 'demo', '--quota', 'owner.runs=default');
  await chat.press('Try again');
  await chat.lines([['user', 'too much'], ['assistant', 'echo: too much']]);
  await chat.end();
}

export async function erased({ browser, site, gateway, api }) {
  const chat = await ChatPage.open(browser, site.url(element(gateway)));
  await chat.say('hello');
  await chat.until(({ lines: { length } }) => length, 2);
  await chat.ready();
  await chat.type('not sent yet');
  const { headers, chat: id } = await api(chat, 0);
  await fetch(`${gateway.url}/api/chats/${id}`, { method: 'DELETE', headers });
  await chat.problem(/was deleted/);
  await chat.run(element => element.shadowRoot.querySelector('.alert button').click());
  await chat.lines([]);
  await chat.until(({ text }) => text, 'not sent yet');
  await chat.end();
}

/** Lines of a proxy before two gateways: the first one that answers gets a connection. */
async function proxy(ports) {
  const open = new Set();
  const server = createServer(client => {
    open.add(client);
    const dial = ([port, ...others]) => {
      const target = connect(port, '127.0.0.1');
      target.once('connect', () => {
        client.pipe(target).pipe(client);
        for (const [one, other] of [[client, target], [target, client]]) one.on('error', () => other.destroy()).on('close', () => other.destroy());
      });
      target.once('error', () => (others.length ? dial(others) : client.destroy()));
    };
    client.on('close', () => open.delete(client));
    dial(ports);
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  const close = () => {
    server.close();
    for (const client of open) client.destroy();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, close };
}

/** A second gateway, which is killed in the middle of an answer. The other one ends the run, and its text is kept. */
export async function killedGateway({ browser, site, gateway, gateways, hansard, command, release, ask }) {
  const free = () => new Promise(done => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
  const ports = [await free(), await free(), await free()];
  const writerToken = (await command('token', 'create', '--name', 'second', '--scope', 'append', '--scope', 'read')).trim();
  const set = { 'http.server.addr': `127.0.0.1:${ports[0]}`, 'grpc.addr': `127.0.0.1:${ports[1]}`, admin_addr: `127.0.0.1:${ports[2]}` };
  const environment = {
    ...{ ...process.env, ...gateway.environment, HANSARD_WRITER_TOKEN: writerToken },
    ...{ HANSARD_MODELS__DEV__KIND: 'openai_chat', HANSARD_MODELS__DEV__BASE_URL: (await ask('model')).url },
  };
  const second = spawn(hansard, ['gateway', ...Object.entries(set).flatMap(([name, value]) => ['--set', `${name}=${value}`])], { env: environment, stdio: 'inherit' });
  const front = await proxy([ports[0], Number(new URL(gateway.url).port)]);
  gateways.push(front.url);
  try {
    const isReady = () => fetch(`http://127.0.0.1:${ports[0]}/healthz`).then(({ ok }) => ok, () => false);
    for (const end = Date.now() + 20_000; !(await isReady()); await new Promise(done => setTimeout(done, 100))) assert.ok(Date.now() < end, 'the second gateway is not ready');
    const chat = await ChatPage.open(browser, site.url(element({ ...gateway, url: front.url })));
    await chat.say('one hold two');
    const part = [['user', 'one hold two'], ['assistant', 'echo: one']];
    await chat.lines(part);
    second.kill('SIGKILL');
    await chat.until(({ status }) => status, 'The connection was lost. Reconnecting…');
    await chat.until(({ lines: [, answer], buttons }) => [answer?.[1], buttons.includes('Send')], ['echo: one\nThe answer failed.', true]);
    await chat.press('Try again');
    await chat.hasButton('Stop');
    await chat.lines(part);
    await release();
    await chat.lines([['user', 'one hold two'], ['assistant', 'echo: one hold two']]);
    await chat.end();
  } finally {
    second.kill('SIGKILL');
    front.close();
    gateways.splice(gateways.indexOf(front.url), 1);
  }
}

/** A visitor writes more while a message is sent, and the message fails. The page writes its language as many pages do. */
export async function slowConnection({ browser, site, gateway }) {
  const chat = await ChatPage.open(browser, site.url(element(gateway, { suggestions: 'One' }), { lang: 'en_US' }));
  await chat.ready();
  const next = await heldSends(chat);
  await chat.press('One');
  const suggested = await next();
  await suggested.abort();
  await chat.hasButton('Try again');
  await chat.type('one');
  await chat.press('Try again');
  const repeated = await next();
  assert.deepEqual(repeated.body, suggested.body);
  await repeated.answer();
  const lines = [['user', 'One'], ['assistant', 'echo: One']];
  await chat.lines(lines);
  await chat.until(({ text }) => text, 'one');
  await chat.say('');
  const first = await next();
  await chat.type('two');
  await first.abort();
  await chat.until(({ text }) => text, 'one\ntwo');
  await chat.press('Try again');
  const both = await next();
  assert.notEqual(both.body.messages[0].id, first.body.messages[0].id);
  await both.answer();
  lines.push(['user', 'one\ntwo'], ['assistant', 'echo: one two']);
  await chat.lines(lines);
  await chat.end();
}

/** A visitor begins another conversation while a message is sent. */
export async function slowMessage({ browser, site, gateway }) {
  const chat = await ChatPage.open(browser, site.url(element(gateway)));
  await chat.ready();
  const next = await heldSends(chat);
  await chat.say('left behind');
  const left = await next();
  await chat.press('New conversation');
  await chat.lines([]);
  await left.answer();
  await chat.say('elsewhere');
  const other = await next();
  assert.notEqual(other.body.id, left.body.id);
  await other.answer();
  await chat.lines([['user', 'elsewhere'], ['assistant', 'echo: elsewhere']]);
  await chat.end();
}

/** Holds the messages of a page back. The result resolves to the next one: its body, `abort()`, and `answer()` of the gateway. */
async function heldSends({ page }) {
  const held = [];
  await page.setRequestInterception(true);
  page.on('request', request => {
    if (request.method() === 'POST' && request.url().endsWith('/api/chat')) held.push(request);
    else request.continue();
  });
  return async () => {
    for (const end = Date.now() + DEADLINE_MS; !held.length; await new Promise(done => setTimeout(done, 20))) assert.ok(Date.now() < end, 'nothing is sent');
    const request = held.shift();
    const answer = () => Promise.all([page.waitForResponse(response => response.request() === request), request.continue()]);
    return { body: JSON.parse(request.postData()), abort: () => request.abort('failed'), answer };
  };
}

export async function keys({ browser, site, gateway, command }) {
  const made = JSON.parse(await command('key', 'create', '--agent', 'demo', '--name', 'other', '--origin', 'https://other.example', '--json'));
  const chat = await ChatPage.open(browser, site.url(element({ ...gateway, key: made.secret })));
  await chat.say('hello');
  await chat.problem(/key is not accepted/);
  await chat.until(({ text }) => text, 'hello');
  await chat.end();
}

/** The last journey: afterwards the page has another gateway at the same address. */
export async function stoppedGateway({ browser, site, gateway, ask }) {
  const chat = await ChatPage.open(browser, site.url(element(gateway)));
  await chat.say('hello');
  const lines = [['user', 'hello'], ['assistant', 'echo: hello']];
  await chat.lines(lines);
  await chat.ready();
  await ask('stop');
  await chat.say('Are you there?');
  await chat.problem(/cannot be reached/);
  await chat.lines(lines);
  await chat.until(({ text }) => text, 'Are you there?');
  await chat.isAccessible('stopped gateway');
  assert.equal((await ask('start scripted')).url, gateway.url);
  await chat.press('Try again');
  lines.push(['user', 'Are you there?'], ['assistant', 'echo: Are you there?']);
  await chat.lines(lines);
  await chat.until(({ text }) => text, '');
  await chat.reload();
  await chat.lines(lines);
  await chat.end();
}
