// The headless Chromium of the npm package, with the libraries and the font that come with it: nothing of the machine's.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';

/** Unpacks the browser into a folder, and starts it there. */
export async function browser(folder) {
  // Where the package unpacks to, and that it is to unpack libraries too.
  process.env.TMPDIR = folder;
  process.env.AWS_EXECUTION_ENV = 'AWS_Lambda_nodejs20.x';
  const { default: chromium } = await import('@sparticuz/chromium');
  chromium.setGraphicsMode = false;
  const executablePath = await chromium.executablePath();
  // The package's own file names a folder of Lambda's.
  const fonts = join(folder, 'fonts');
  const found = `<dir>${fonts}</dir><cachedir>${join(folder, 'font-cache')}</cachedir>`;
  writeFileSync(join(fonts, 'fonts.conf'), `<?xml version="1.0"?><fontconfig>${found}</fontconfig>`);
  // Its sandbox refuses root and most containers; it sees a page of ours alone.
  return puppeteer.launch({ executablePath, headless: 'shell', args: ['--no-sandbox'] });
}
