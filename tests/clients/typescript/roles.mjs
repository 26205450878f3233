// Gateways and writers beside those of `hansard dev`, which a test kills and starts again at the same address.

import { spawn } from 'node:child_process';
import { createServer } from 'node:net';

import { until } from './fixture.mjs';

const { CHECK_PROGRAM: program, CHECK_ROLE_TOKEN: roleToken, HANSARD_WRITER_URL: devWriter } = process.env;
const MODEL = { 'models.dev.kind': process.env.CHECK_MODEL_KIND, 'models.dev.base_url': process.env.CHECK_MODEL_URL };

async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => server.listening || new Promise((done) => server.once('listening', done))));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

/** A role: `start()` waits until it is ready, `kill()` until it has ended. */
function roleOf(name, settings, adminPort) {
  const set = { ...settings, admin_addr: `127.0.0.1:${adminPort}` };
  const options = Object.entries(set).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
  let child;
  const isReady = () => fetch(`http://127.0.0.1:${adminPort}/readyz`).then(({ ok }) => ok, () => false);
  return {
    async start() {
      child = spawn(program, [name, ...options], { stdio: 'ignore' });
      await until(isReady, `the start of a ${name}`);
    },
    async kill() {
      if (!child || child.exitCode !== null || child.signalCode) return;
      const ended = new Promise((done) => child.once('exit', done));
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** A writer with the address `url`. */
export async function writerRole() {
  const [port, adminPort] = await freePorts(2);
  const role = roleOf('writer', { 'grpc.addr': `127.0.0.1:${port}` }, adminPort);
  return { ...role, url: `http://127.0.0.1:${port}` };
}

/** A gateway with the address `url`, of the writer of `hansard dev` or of another one. */
export async function gatewayRole(writerUrl = devWriter) {
  const [port, grpcPort, adminPort] = await freePorts(3);
  const addresses = { 'http.server.addr': `127.0.0.1:${port}`, 'grpc.addr': `127.0.0.1:${grpcPort}` };
  return { ...roleOf('gateway', { ...MODEL, ...addresses, writer_url: writerUrl, writer_token: roleToken }, adminPort), url: `http://127.0.0.1:${port}` };
}
