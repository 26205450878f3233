// Makes pictures of pages, light and dark. Usage: pictures.mjs SETTINGS FOLDER; SETTINGS is JSON of pictures.py.

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { browser as start } from '../browser/chromium.mjs';

const [, , text, folder] = process.argv;
const settings = JSON.parse(text);
const BYTES_MAX = 120 * 1024;
const PAGES = {
  'conversations': '',
  'search': '/search?q=4711',
  'transcript': '/conversations/parcel',
  'what-the-model-read': '/conversations/parcel/context',
  'erasure': '/conversations/parcel/erase',
  'usage': '/usage',
  'policy': `/settings/agents/${settings.agent}/policy`,
  'system': '/system',
};

const browser = await start(folder);
const page = await browser.newPage();
const faults = [];
page.on('pageerror', (error) => faults.push(String(error)));
page.on('response', (response) => response.status() >= 400 && faults.push(`${response.status()} ${response.url()}`));
await page.setViewport({ width: 1280, height: 800 });
await page.emulateTimezone('UTC');

try {
  await page.goto(settings.link);
  await Promise.all([page.waitForNavigation(), page.click('main button')]);
  for (const [name, path] of Object.entries(PAGES)) {
    await page.goto(`${settings.url}/dashboard${path}`, { waitUntil: 'networkidle2' });
    for (const theme of ['light', 'dark']) {
      const still = { name: 'prefers-reduced-motion', value: 'reduce' };
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }, still]);
      const file = join(settings.target, `${name}-${theme}.webp`);
      await page.screenshot({ path: file, type: 'webp', quality: 80 });
      const { size } = statSync(file);
      assert.ok(size > 0 && size <= BYTES_MAX, `${file}: ${size} bytes`);
    }
  }
  assert.deepEqual(faults, []);
  console.log(`pictures of ${Object.keys(PAGES).length} pages, light and dark`);
} finally {
  await browser.close();
}
