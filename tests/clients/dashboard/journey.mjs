// What journeys through the dashboard share: pages whose violations of the policy are collected, and accessibility rules.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { browser as start } from '../browser/chromium.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Finds what the accessibility rules call serious or critical. */
export async function accessible(page, name) {
  await page.evaluate(axe);
  const found = await page.evaluate((rules) => window.axe.run(document, { runOnly: rules }), RULES);
  const bad = found.violations.filter((one) => ['serious', 'critical'].includes(one.impact));
  assert.deepEqual(bad.map((one) => [one.id, one.nodes.slice(0, 3).map((node) => node.html)]), [], name);
}

/** Checks a page in both themes and at 320 px; makes screenshots if a folder is given. */
export async function themes(page, name, screenshots) {
  for (const theme of ['light', 'dark']) {
    // Without transitions: a rule must not see a colour between two themes.
    const still = { name: 'prefers-reduced-motion', value: 'reduce' };
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }, still]);
    await accessible(page, `${name}, ${theme}`);
    if (screenshots) await page.screenshot({ path: join(screenshots, `${name}-${theme}.png`) });
  }
  await page.setViewport({ width: 320, height: 640 });
  await accessible(page, `${name}, narrow`);
  const wide = await page.evaluate(() => {
    if (document.documentElement.scrollWidth <= window.innerWidth) return [];
    const all = [...document.querySelectorAll('main *')];
    return all.filter((one) => one.getBoundingClientRect().right > window.innerWidth).map((one) => one.outerHTML.slice(0, 80));
  });
  assert.deepEqual(wide.slice(0, 8), [], `${name} is too wide at 320 px`);
  await page.setViewport({ width: 1280, height: 800 });
  await page.emulateMediaFeatures([]);
}

/** A browser whose pages, each of a person of their own, add to `violations`. */
export async function journey(folder) {
  const browser = await start(folder);
  const violations = [];
  const person = async () => {
    const page = await (await browser.createBrowserContext()).newPage();
    await page.setViewport({ width: 1280, height: 800 });
    page.on('console', (message) => {
      if (/Content Security Policy|Trusted/.test(message.text())) violations.push(message.text());
    });
    page.on('pageerror', (error) => violations.push(String(error)));
    page.on('dialog', (dialog) => {
      violations.push(`a script of a text was run: ${dialog.message()}`);
      dialog.dismiss();
    });
    return page;
  };
  return { browser, violations, person };
}
