// What a check in JavaScript shows of a client: lines of JSON, as report.py writes them.

import { appendFileSync, readFileSync } from 'node:fs';

/** The client of a package, installed in the folder of the module with this URL; `folder` is the name of an alias. */
export function javascriptClient(module, name, folder = name) {
  const { version } = JSON.parse(readFileSync(new URL(`node_modules/${folder}/package.json`, module)));
  const append = (api, feature, reason) => {
    const line = { name: `\`${name}\` for JavaScript`, version, api, feature, reason };
    if (process.env.CLIENTS_REPORT) appendFileSync(process.env.CLIENTS_REPORT, `${JSON.stringify(line)}\n`);
  };
  return {
    works: (api, ...features) => features.forEach((feature) => append(api, feature, null)),
    doesNot: append,
  };
}
