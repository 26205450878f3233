// Random JSON for tests. SEED repeats a run.

export const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32));

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
function randomOf(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const random = randomOf(seed);
export const below = (end) => Math.floor(random() * end);
export const one = (...values) => values[below(values.length)];
export const some = (make) => Array.from({ length: below(4) }, make);
export const optional = (name, make) => (random() < 0.3 ? { [name]: make() } : {});

const CHARS = ['a', ' ', '\n', '"', '\\', '\\u0000', '\u0000', '\ud800', '\udc00', '😀', 'é', '\u2028', '{', '0', '\\ud800'];
export const text = () => Array.from({ length: below(12) }, () => one(...CHARS)).join('');
const json = (depth = 3) => one(null, true, below(9), -1.5e300, text(), ...(depth > 0 ? [some(() => json(depth - 1)), members(depth - 1)] : []));
export const members = (depth = 2) => Object.fromEntries(some(() => [one('a', 'text', 'content', 'null', '1', 'é'), json(depth)]));
