// Files of the journeys, in a temporary folder.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'widget-'));

/** Writes a file; returns its path. */
export function file(name, content) {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}
