// Parses the inline Markdown of one block into a tree: strings and {tag, children, href?}. Pure, and linear in the text.

const NESTING_MAX = 16;
const URL_CHARS_MAX = 2048;
const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', '#39': "'" };
// \x60 is the backtick.
const SPECIAL = /[\\\x60*_~[\]!<&\n]|https?:\/\//g;
const BARE_URL = /https?:\/\/[^\s<>"'\x60\]]+/y;
const TAGS = { '*1': 'em', _1: 'em', '*2': 'strong', _2: 'strong', '~2': 'del' };

/** The absolute address of a link; undefined unless it is http, https or mailto. */
export function safeHref(text) {
  if (text.length > URL_CHARS_MAX || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : undefined;
}

export function parseInline(text) {
  const scan = { text, at: 0, items: [], runs: [], brackets: [], deadBelow: 0, ticks: undefined };
  while (scan.at < text.length) step(scan);
  matchRuns(scan.runs, 0);
  return build(scan.items);
}

/** Consumes plain text up to the next special character, or what that character begins. */
function step(scan) {
  SPECIAL.lastIndex = scan.at;
  const found = SPECIAL.exec(scan.text);
  const end = found?.index ?? scan.text.length;
  if (end > scan.at) return push(scan, scan.text.slice(scan.at, end), end);
  const read = READERS[found[0]] ?? bareUrl;
  read(scan, found[0]);
}

const push = (scan, node, end) => {
  scan.items.push(node);
  scan.at = end;
};

const READERS = {
  '\\': (scan) => {
    const next = scan.text[scan.at + 1] ?? '';
    if (next === '\n') push(scan, { tag: 'br', children: [] }, scan.at + 2);
    else if (/[!-/:-@[-\x60{-~]/.test(next)) push(scan, next, scan.at + 2);
    else push(scan, '\\', scan.at + 1);
  },
  '\x60': code,
  '*': run,
  _: run,
  '~': run,
  '[': (scan) => bracket(scan, '['),
  '!': (scan) => (scan.text[scan.at + 1] === '[' ? bracket(scan, '![') : push(scan, '!', scan.at + 1)),
  ']': closeBracket,
  '<': (scan) => {
    const [whole, address] = /^<([a-z]+:[^\s<>]{1,2048})>/i.exec(scan.text.slice(scan.at, scan.at + URL_CHARS_MAX)) ?? [];
    const href = address && safeHref(address);
    if (href) push(scan, { tag: 'a', href, children: [address] }, scan.at + whole.length);
    else push(scan, '<', scan.at + 1);
  },
  '&': (scan) => {
    const [whole, name] = /^&(#?\w{2,6});/.exec(scan.text.slice(scan.at, scan.at + 9)) ?? ['&'];
    push(scan, ENTITIES[name] ?? whole, scan.at + whole.length);
  },
  '\n': (scan) => {
    const last = scan.items.at(-1);
    const isHard = typeof last === 'string' && last.endsWith('  ');
    push(scan, isHard ? { tag: 'br', children: [] } : '\n', scan.at + 1);
  },
};

/** A code span ends with a run of as many backticks as it begins with. */
function code(scan) {
  scan.ticks ??= tickRuns(scan.text);
  const length = scan.ticks.lengths.get(scan.at);
  const ends = scan.ticks.starts.get(length);
  while (ends.length && ends.at(-1) <= scan.at) ends.pop();
  const begin = scan.at + length;
  const end = ends.at(-1);
  if (end === undefined) return push(scan, scan.text.slice(scan.at, begin), begin);
  const inner = scan.text.slice(begin, end).replaceAll('\n', ' ');
  const isPadded = inner.startsWith(' ') && inner.endsWith(' ') && inner.trim();
  push(scan, { tag: 'code', children: [isPadded ? inner.slice(1, -1) : inner] }, end + length);
}

/** The length of each run of backticks by its start, and the starts by length, the last one first. */
function tickRuns(text) {
  const runs = { lengths: new Map(), starts: new Map() };
  for (const { 0: { length }, index } of text.matchAll(/\x60+/g)) {
    runs.lengths.set(index, length);
    if (!runs.starts.has(length)) runs.starts.set(length, []);
    runs.starts.get(length).push(index);
  }
  for (const starts of runs.starts.values()) starts.reverse();
  return runs;
}

function run(scan, mark) {
  let end = scan.at;
  while (scan.text[end] === mark) end += 1;
  const count = end - scan.at;
  const before = scan.text[scan.at - 1] ?? ' ';
  const after = scan.text[end] ?? ' ';
  const isWord = (char) => /[\p{L}\p{N}]/u.test(char);
  const isInner = mark === '_' && isWord(before) && isWord(after);
  const item = { mark, count, rest: count, opens: [], closes: [] };
  item.canOpen = /\S/.test(after) && !isInner;
  item.canClose = /\S/.test(before) && !isInner;
  scan.runs.push(item);
  push(scan, item, end);
}

/** Pairs the runs from an index on, as CommonMark does with its stack of delimiters, and removes them. */
function matchRuns(runs, from) {
  const stack = [];
  const unmatched = {}; // By mark: below this height of the stack, nothing opens it.
  for (const closer of runs.splice(from)) {
    while (closer.canClose && closer.rest) {
      let index = stack.length - 1;
      const floor = unmatched[closer.mark] ?? 0;
      while (index >= floor && stack[index].mark !== closer.mark) index -= 1;
      if (index < floor) {
        unmatched[closer.mark] = stack.length;
        break;
      }
      const opener = stack[index];
      const width = Math.min(2, opener.rest, closer.rest);
      const tag = TAGS[closer.mark + width];
      if (!tag) break;
      opener.opens.unshift(tag);
      closer.closes.push(tag);
      opener.rest -= width;
      closer.rest -= width;
      stack.length = opener.rest ? index + 1 : index;
      for (const mark of Object.keys(unmatched)) unmatched[mark] = Math.min(unmatched[mark], stack.length);
    }
    if (closer.canOpen && closer.rest) stack.push(closer);
  }
}

function bracket(scan, mark) {
  const item = { bracket: mark, runs: scan.runs.length };
  scan.brackets.push(item);
  push(scan, item, scan.at + mark.length);
}

function closeBracket(scan) {
  const opener = scan.brackets.pop();
  const isDead = scan.brackets.length < scan.deadBelow && opener?.bracket === '[';
  scan.deadBelow = Math.min(scan.deadBelow, scan.brackets.length);
  const target = opener && destination(scan.text, scan.at + 1);
  const href = target && safeHref(target.address);
  if (!href || isDead) return push(scan, ']', scan.at + 1);
  matchRuns(scan.runs, opener.runs);
  opener.link = { tag: opener.bracket === '[' ? 'a' : 'image', href, children: [] };
  // A link contains no other link.
  if (opener.bracket === '[') scan.deadBelow = scan.brackets.length;
  push(scan, { end: true }, target.end);
}

/** `(address "title")` at an index; the title is not used. */
function destination(text, at) {
  const part = text.slice(at, at + URL_CHARS_MAX + 512);
  const found = /^\(\s?<?((?:[^\s()<>]|\([^\s()<>]*\))+)>?(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\s?\)/.exec(part);
  return found && { address: found[1], end: at + found[0].length };
}

function bareUrl(scan) {
  BARE_URL.lastIndex = scan.at;
  const found = BARE_URL.exec(scan.text)?.[0].slice(0, URL_CHARS_MAX).replace(/[.,;:!?*_~]{1,64}$/, '') ?? '';
  const isOpen = found.endsWith(')') && !found.includes('(');
  const address = isOpen ? found.slice(0, -1) : found;
  const href = safeHref(address);
  if (!href) return push(scan, scan.text.slice(scan.at, scan.at + 4), scan.at + 4);
  push(scan, { tag: 'a', href, children: [address] }, scan.at + address.length);
}

/** Nests the items. What is nested deeper than the bound is shown without its markup. */
function build(items) {
  const root = { children: [] };
  const open = [root];
  let skipped = 0;
  const begin = (node) => {
    if (open.length > NESTING_MAX) return (skipped += 1);
    open.at(-1).children.push(node);
    open.push(node);
  };
  const end = () => (skipped ? (skipped -= 1) : open.pop());
  const add = (node) => {
    const { children } = open.at(-1);
    if (typeof node === 'string' && typeof children.at(-1) === 'string') children.push(children.pop() + node);
    else if (node) children.push(node);
  };
  for (const item of items) {
    if (typeof item === 'string' || item.children) add(item);
    else if (item.mark) {
      item.closes.forEach(end);
      add(item.mark.repeat(item.rest));
      for (const tag of item.opens) begin({ tag, children: [] });
    } else if (item.link) begin(item.link);
    else if (item.bracket) add(item.bracket);
    else end();
  }
  return root.children;
}
