// The settings of the demo agent, as its owner changes them.

import { setTimeout as pause } from 'node:timers/promises';
import { file } from './files.mjs';

const DEADLINE_MS = 20_000;

/** Replaces all settings: the scripted model, and at most one tool. */
export async function settings({ command }, tool) {
  const path = file('settings.json', JSON.stringify({ model: { server: 'dev', model: 'scripted' }, tools: tool ? [tool] : [] }));
  await command('agent', 'set', 'demo', '--settings-file', path);
}

/** Changes what pages get and may send; waits until the gateway applies it. */
export async function allow({ command, gateway }, options, isApplied) {
  await command('agent', 'set', 'demo', ...options);
  const end = Date.now() + DEADLINE_MS;
  for (;;) {
    const limits = await fetch(`${gateway.url}/v1/limits`, { headers: { 'x-api-key': gateway.key } });
    const { frontend } = await limits.json();
    if (isApplied(frontend)) return;
    if (Date.now() > end) throw new Error(`the gateway has ${JSON.stringify(frontend)} after ${options.join(' ')}`);
    await pause(50);
  }
}

/** The agent accepts files of these types. */
export const acceptFiles = (world, ...types) =>
  allow(world, types.flatMap(type => ['--attachment', type]), ({ attachments }) => attachments?.media_types.join() === types.filter(type => type !== 'none').join());

/** The agent shows this detail of tool calls. */
export const showTools = (world, detail) => allow(world, ['--tool-calls', detail], ({ tool_calls: shown }) => shown === detail);

/** The agent records these fields of the page. */
export const recordContext = (world, fields, members) => allow(world, fields.flatMap(field => ['--context', field]), ({ context }) => context?.join() === members.join());
