// Parses Markdown into blocks: {tag, children, start, isFinal, …}. Pure. HTML is text, and a link is only what `safeHref` accepts.

import { parseInline } from './inline.js';

const NESTING_MAX = 8;
const FENCE = /^ {0,3}(\x60{3,}|~{3,})([^\x60]*)$/; // \x60 is the backtick.
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]|$)/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( {1,4}|\t|$)/;
const DELIMITERS = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

/**
 * The blocks of a text, each with the offset of its start. A text that grows changes only its last block, and the one before
 * while the first line of the last block is not complete; `isFinal` tells which blocks cannot change.
 */
export function parseBlocks(source) {
  const lines = split(source);
  const blocks = read(lines, 0).map(({ from, to, ...block }) => ({ ...block, start: lines[from].at }));
  blocks.forEach((block, index) => {
    const next = blocks[index + 1];
    block.isFinal = next !== undefined && source.indexOf('\n', next.start) !== -1;
  });
  return blocks;
}

function split(source) {
  const lines = [];
  let at = 0;
  for (const text of source.split('\n')) {
    const line = text.endsWith('\r') ? text.slice(0, -1) : text;
    lines.push({ text: line.replace(/^\t+/, (tabs) => '    '.repeat(tabs.length)), at });
    at += text.length + 1;
  }
  return lines;
}

const isBlank = ({ text }) => text.trim() === '';

function read(lines, depth) {
  const blocks = [];
  for (let from = 0; from < lines.length; ) {
    if (isBlank(lines[from])) from += 1;
    else {
      const block = blockAt(lines, from, depth);
      blocks.push({ ...block, from });
      from = block.to;
    }
  }
  return blocks;
}

function blockAt(lines, from, depth) {
  const { text } = lines[from];
  const isNested = depth < NESTING_MAX;
  if (FENCE.test(text)) return fence(lines, from);
  if (HEADING.test(text)) return heading(text, from);
  if (RULE.test(text)) return { tag: 'hr', children: [], to: from + 1 };
  if (isNested && QUOTE.test(text)) return quote(lines, from, depth);
  if (isNested && ITEM.test(text)) return list(lines, from, depth);
  if (isTable(lines, from)) return table(lines, from);
  return paragraph(lines, from);
}

function fence(lines, from) {
  const [, mark, info] = FENCE.exec(lines[from].text);
  const isEnd = ({ text }) => {
    const trimmed = text.trim();
    return trimmed.length >= mark.length && trimmed === mark[0].repeat(trimmed.length);
  };
  let to = from + 1;
  while (to < lines.length && !isEnd(lines[to])) to += 1;
  const code = lines.slice(from + 1, to).map(({ text }) => text).join('\n');
  const language = info.trim().split(/\s/)[0].slice(0, 32);
  return { tag: 'pre', language, children: [code], to: Math.min(to + 1, lines.length) };
}

function heading(text, from) {
  const [whole, { length }] = HEADING.exec(text);
  const content = text.slice(whole.length).trim();
  let end = content.length;
  while (content[end - 1] === '#') end -= 1;
  const isClosed = end === 0 || /\s/.test(content[end - 1]);
  return { tag: `h${length}`, children: parseInline(isClosed ? content.slice(0, end).trim() : content), to: from + 1 };
}

const interrupts = ({ text }) => FENCE.test(text) || HEADING.test(text) || RULE.test(text) || QUOTE.test(text) || /^ {0,3}(?:[-*+]|1[.)]) +\S/.test(text);

function quote(lines, from, depth) {
  let to = from + 1;
  while (to < lines.length && (QUOTE.test(lines[to].text) || (!isBlank(lines[to]) && !interrupts(lines[to])))) to += 1;
  const inner = lines.slice(from, to).map(({ text }) => ({ text: text.replace(QUOTE, '') }));
  return { tag: 'blockquote', children: read(inner, depth + 1), to };
}

const kindOf = (mark) => (/\d/.test(mark) ? mark.at(-1) : mark);

function list(lines, from, depth) {
  const [, , mark] = ITEM.exec(lines[from].text);
  const isOrdered = /\d/.test(mark);
  const children = [];
  let isLoose = false;
  let to = from;
  for (let found; to < lines.length && (found = ITEM.exec(lines[to].text)) && kindOf(found[2]) === kindOf(mark) && !RULE.test(lines[to].text); ) {
    const item = itemAt(lines, to, found[0].length || 2);
    children.push({ tag: 'li', children: read(item.lines, depth + 1) });
    to = item.to;
    let next = to;
    while (next < lines.length && isBlank(lines[next])) next += 1;
    const isNext = next > to && ITEM.test(lines[next]?.text ?? '');
    isLoose ||= isNext || item.lines.some((line, index) => index && isBlank(line));
    if (isNext) to = next;
  }
  while (to > from + 1 && isBlank(lines[to - 1])) to -= 1;
  if (!isLoose) for (const item of children) item.children = item.children.flatMap(unwrap);
  return { tag: isOrdered ? 'ol' : 'ul', first: isOrdered ? Number.parseInt(mark, 10) : undefined, children, to };
}

const unwrap = (block) => (block.tag === 'p' ? block.children : [block]);

/** The lines of an item: its first, those that are indented below it, and those that continue its paragraph. */
function itemAt(lines, from, width) {
  const inner = [{ text: lines[from].text.slice(width) }];
  const isIndented = ({ text }) => text.slice(0, width).trim() === '' && text.length > width;
  let to = from + 1;
  for (; to < lines.length; to += 1) {
    const line = lines[to];
    if (isBlank(line)) {
      let next = to;
      while (next < lines.length && isBlank(lines[next])) next += 1;
      if (next === lines.length || !isIndented(lines[next])) break;
      inner.push(...Array.from({ length: next - to }, () => ({ text: '' })));
      to = next - 1;
    } else if (isIndented(line)) inner.push({ text: line.text.slice(width) });
    else if (ITEM.test(line.text) || interrupts(line) || isBlank(lines[to - 1])) break;
    else inner.push({ text: line.text.trimStart() });
  }
  return { lines: inner, to };
}

function isTable(lines, from) {
  const next = lines[from + 1]?.text;
  return next !== undefined && lines[from].text.includes('|') && next.includes('-') && DELIMITERS.test(next) && cells(lines[from].text).length === cells(next).length;
}

function cells(text) {
  const row = text.trim().replace(/^\|/, '');
  const parts = row.split(/(?<!\\)\|/);
  if (parts.length > 1 && parts.at(-1).trim() === '') parts.pop();
  return parts.map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function table(lines, from) {
  const row = (text, tag) => ({ tag: 'tr', children: cells(text).map((cell) => ({ tag, children: parseInline(cell) })) });
  const children = [row(lines[from].text, 'th')];
  let to = from + 2;
  for (; to < lines.length && !isBlank(lines[to]) && !interrupts(lines[to]); to += 1) children.push(row(lines[to].text, 'td'));
  return { tag: 'table', children, to };
}

function paragraph(lines, from) {
  let to = from + 1;
  while (to < lines.length && !isBlank(lines[to]) && !interrupts(lines[to])) to += 1;
  const text = lines.slice(from, to).map((line) => line.text.trimStart()).join('\n').trimEnd();
  return { tag: 'p', children: parseInline(text), to };
}
