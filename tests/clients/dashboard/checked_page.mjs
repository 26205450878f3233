// A page in a real headless Chromium whose accessibility and whose violations of the Content-Security-Policy are checked.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Opens a page. `screenshots`: a folder, or nothing. */
export async function checkedPage(browser, screenshots) {
  const page = await browser.newPage();
  const violations = [];
  await page.setViewport({ width: 1280, height: 800 });
  page.on('console', (message) => {
    if (/Content Security Policy|Trusted/.test(message.text())) violations.push(message.text());
  });
  page.on('pageerror', (error) => violations.push(String(error)));

  /** Finds what the accessibility rules call serious or critical. */
  async function accessible(name) {
    await page.evaluate(axe);
    const found = await page.evaluate(() => window.axe.run(document, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    }));
    const bad = found.violations.filter((one) => ['serious', 'critical'].includes(one.impact));
    assert.deepEqual(bad.map((one) => [one.id, one.nodes.slice(0, 3).map((node) => node.html)]), [], name);
  }

  /** Checks the page in both themes and in a narrow window. */
  async function themes(name) {
    for (const theme of ['light', 'dark']) {
      // Without transitions: a rule must not see a colour between two themes.
      const still = { name: 'prefers-reduced-motion', value: 'reduce' };
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }, still]);
      await accessible(`${name}, ${theme}`);
      if (screenshots) await page.screenshot({ path: join(screenshots, `${name}-${theme}.png`), fullPage: true });
    }
    await page.setViewport({ width: 320, height: 640 });
    await accessible(`${name}, narrow`);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(overflow <= 0, `${name} is ${overflow} px too wide at 320 px`);
    await page.setViewport({ width: 1280, height: 800 });
    await page.emulateMediaFeatures([]);
  }

  return { page, violations, themes };
}
