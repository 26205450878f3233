// The headless Chromium of the npm package, with its own libraries and font; it uses nothing of the machine.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';

/** Unpacks the browser into a folder, and starts it there. */
export async function browser(folder) {
  // The folder to unpack into, and the setting to unpack libraries, too.
  process.env.TMPDIR = folder;
  process.env.AWS_EXECUTION_ENV = 'AWS_Lambda_nodejs20.x';
  const { default: chromium } = await import('@sparticuz/chromium');
  chromium.setGraphicsMode = false;
  const executablePath = await chromium.executablePath();
  // The package's own file names a folder of AWS Lambda.
  const fonts = join(folder, 'fonts');
  const found = `<dir>${fonts}</dir><cachedir>${join(folder, 'font-cache')}</cachedir>`;
  writeFileSync(join(fonts, 'fonts.conf'), `<?xml version="1.0"?><fontconfig>${found}</fontconfig>`);
  // Its sandbox does not run as root or in most containers; the browser only opens our page.
  return puppeteer.launch({ executablePath, headless: 'shell', args: ['--no-sandbox'] });
}
