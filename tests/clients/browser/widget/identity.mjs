// Users: what a visitor did before signing in is claimed; tokens are renewed; another user and a signed-out page see nothing.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { ChatPage, element } from './chat_page.mjs';
import { file } from './files.mjs';

const HELLO = [['user', 'hello'], ['assistant', 'echo: hello']];
const encoded = value => Buffer.from(JSON.stringify(value)).toString('base64url');

export async function users({ browser, site, gateway, command }) {
  const secret = 'a secret of the widget check, long enough';
  await command('signing-key', 'add', 'widget', '--tenant', 'demo', '--use', 'user', '--secret-file', file('secret', secret));
  await command('agent', 'set', 'demo', '--identity-mode', 'signed');
  const token = (sub, seconds = 600) => {
    const now = Math.floor(Date.now() / 1000);
    const body = `${encoded({ alg: 'HS256', typ: 'JWT', kid: 'widget' })}.${encoded({ sub, iat: now - 600, exp: now + seconds })}`;
    return `${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`;
  };
  const chat = await ChatPage.open(browser, site.url(element(gateway)));
  await chat.say('hello');
  await chat.lines(HELLO);
  await chat.ready();
  await chat.run((element, value) => (element.userToken = value), token('ada'));
  await chat.lines(HELLO);
  const stored = () => chat.page.evaluate(() => Object.keys(localStorage).filter(name => / (session|chat|draft)$/.test(name)).map(name => name.split(' ').slice(3).join(' ')));
  assert.deepEqual(await stored(), ['ada chat']);
  // An expired token: the page is asked for another one, and the message is sent once.
  await chat.run((element, [expired, fresh]) => {
    element.getUserToken = async () => fresh;
    element.userToken = expired;
  }, [token('ada', -300), token('ada')]);
  await chat.lines(HELLO);
  await chat.say('more');
  await chat.lines([...HELLO, ['user', 'more'], ['assistant', 'echo: more']]);
  // Without a new token the page is told, and the text stays.
  await chat.run((element, expired) => {
    element.getUserToken = undefined;
    element.userToken = expired;
  }, token('ada', -301));
  await chat.problem(/sign-in has expired/);
  assert.ok((await chat.page.evaluate(() => window.told.map(([name]) => name))).includes('token-expired'));
  // Another user of this browser sees nothing of the first one.
  await chat.run((element, value) => (element.userToken = value), token('bob'));
  await chat.problem(/^$/);
  await chat.lines([]);
  await chat.press('Conversations');
  await chat.until(() => true, true);
  assert.equal(await chat.run(element => element.shadowRoot.querySelectorAll('.chats li').length), 0);
  await chat.run((element, value) => (element.userToken = value), token('ada'));
  await chat.until(({ lines: { length } }) => length, 4);
  await chat.run(element => element.signOut());
  await chat.lines([]);
  assert.deepEqual(await stored(), []);
  await chat.end();
  await command('agent', 'set', 'demo', '--identity-mode', 'issued');
}
