// The examples of docs/how-to/use-typescript.md.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';

import { assistantMessage, ScriptedModel } from '@openai/agents/testing';

import { apiKey, token, url } from './fixture.mjs';

const PAGE = new URL('../../../docs/how-to/use-typescript.md', import.meta.url);
/** Modules find the packages of this folder from here. */
const FOLDER = new URL('node_modules/.pages/', import.meta.url);

const page = await readFile(PAGE, 'utf8');
const examples = [...page.matchAll(/```js\n(.*?)```/gs)].map(([, example]) => example);
await mkdir(FOLDER, { recursive: true });
assert.equal(examples.length, 5);

for (const [index, example] of examples.entries()) {
  test(`example ${index + 1}: ${example.split('\n')[0]}`, async () => {
    const shown = [];
    const model = new ScriptedModel([[assistantMessage('In Leeds.')]]);
    globalThis.example = { url, apiKey, token, chatId: randomUUID(), stored: {}, show: (...values) => shown.push(values), model };
    const file = new URL(`${index}.mjs`, FOLDER);
    // The names of the page stand after the imports.
    await writeFile(file, example.replace('\n\n', '\nconst { url, apiKey, token, chatId, stored, show, model } = globalThis.example;\n'));
    await import(file);
    if (example.includes('show(')) assert.ok(shown.length > 0);
  });
}
