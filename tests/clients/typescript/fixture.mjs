// What the tests share: the gateway that check.py runs, clients of it, and a proxy that loses connections.

import { createServer, request } from 'node:http';

import { Hansard, HansardChat } from '@hansard/client';

export const { CHECK_URL: url, CHECK_SECRET_KEY: token, CHECK_PUBLIC_KEY: apiKey } = process.env;

export const hansardOf = (options = {}) => new Hansard({ url, token, ...options });
export const chatsOf = (options = {}) => new HansardChat({ url, apiKey, ...options });

/** A text whose answer by the model `echo` takes a moment. */
export const words = (count) => Array.from({ length: count }, (_, word) => `w${word}`).join(' ');

/** Waits for a condition, at most 20 s. */
export async function until(condition, what) {
  for (const end = Date.now() + 20_000; !(await condition()); await new Promise((done) => setTimeout(done, 10))) {
    if (Date.now() > end) throw new Error(`${what} did not happen within 20 s`);
  }
}

/**
 * A proxy of the gateway. `plan(request, number)` decides about each request: `{refuse: true}` closes the connection, `{lose: true}`
 * forwards the request and loses its answer, `{cut: bytes}` cuts the answer's body after these bytes, `{wait: true}` never answers,
 * `{status, code, headers}` answers instead of the gateway, and undefined passes.
 */
export async function proxyOf(plan = () => undefined, target = url) {
  const requests = [];
  const open = new Set();
  const server = createServer((incoming, outgoing) => {
    requests.push({ method: incoming.method, path: incoming.url, headers: incoming.headers });
    open.add(outgoing);
    outgoing.on('close', () => open.delete(outgoing));
    const fate = plan(incoming, requests.length - 1) ?? {};
    if (fate.refuse) return incoming.socket.destroy();
    if (fate.wait) return undefined;
    if (fate.status) return outgoing.writeHead(fate.status, fate.headers).end(JSON.stringify({ code: fate.code ?? 'OVERLOADED' }));
    const forwarded = request(target + incoming.url, { method: incoming.method, headers: incoming.headers }, (answer) => {
      if (fate.lose) return answer.resume().on('end', () => incoming.socket.destroy());
      outgoing.writeHead(answer.statusCode, answer.headers);
      forward(answer, outgoing, fate.cut ?? Infinity);
    });
    forwarded.on('error', () => incoming.socket.destroy());
    outgoing.on('close', () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const close = () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  };
  return { url: `http://127.0.0.1:${server.address().port}`, requests, open, close };
}

function forward(answer, outgoing, cut) {
  let left = cut;
  answer.on('data', (bytes) => {
    outgoing.write(bytes.subarray(0, left));
    left -= bytes.length;
    if (left <= 0) outgoing.socket?.end();
    if (left <= 0) answer.destroy();
  });
  answer.on('end', () => outgoing.end());
  answer.on('error', () => outgoing.destroy());
}
