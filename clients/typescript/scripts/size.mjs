// The size of each entry: bundled without peer dependencies, minified and gzipped. Fails if one is over its bound, or imports a module of
// Node.

import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';

const KB = 1_000;
const BYTES_MAX = { index: 12 * KB, 'ai/index': 12 * KB, 'agents/index': 12 * KB, 'react/index': 12 * KB };

for (const [entry, max] of Object.entries(BYTES_MAX)) {
  const { outputFiles } = await build({
    entryPoints: [new URL(`../dist/${entry}.js`, import.meta.url).pathname],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    external: ['react', 'ai', '@openai/agents'],
    write: false,
  });
  const bytes = gzipSync(outputFiles[0].contents, { level: 9 }).length;
  console.log(`${entry}: ${(bytes / KB).toFixed(1)} kB`);
  if (bytes > max) {
    console.error(`${entry} has more than ${max / KB} kB`);
    process.exitCode = 1;
  }
}
