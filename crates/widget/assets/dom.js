// Builds elements. Nothing here or elsewhere parses HTML.

const TAGS = new Set('a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre strong table td th tr ul'.split(' '));

/** An element with properties, attributes and `on…` listeners. */
export function h(name, members = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(members)) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value === undefined) continue;
    else if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== undefined && child !== false));
  return node;
}

const SVG = 'http://www.w3.org/2000/svg';
const ICONS = {
  attach: 'M8 12l6-6a3 3 0 0 1 4 4l-8 8a5 5 0 0 1-7-7l7-7',
  close: 'M6 6l12 12M18 6L6 18',
  erase: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
  fresh: 'M12 5v14M5 12h14',
  history: 'M4 6h16M4 12h16M4 18h16',
  rename: 'M4 20h4L19 9l-4-4L4 16z',
  restore: 'M4 12a8 8 0 1 0 3-6L4 8M4 3v5h5',
  search: 'M10 4a6 6 0 1 0 0 12a6 6 0 0 0 0-12M15 15l5 5',
};

export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg');
  const path = document.createElementNS(SVG, 'path');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  path.setAttribute('d', ICONS[name]);
  svg.append(path);
  return svg;
}

export const button = (text, onclick, members = {}) => h('button', { type: 'button', title: members['aria-label'], onclick, ...members }, text);

/** Whether a key belongs to an input method. Safari ends the composition before the key that confirms a candidate: its code is 229. */
export const isComposing = (event) => event.isComposing || event.keyCode === 229;

/** A link that tells its target nothing about the page. */
export const link = (href, ...children) => h('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow', part: 'link' }, ...children);

/** A button that copies a text; none where the clipboard is not available. */
export function copyButton(texts, textOf) {
  if (!navigator.clipboard) return undefined;
  const node = button(texts.copy, async () => {
    const isDone = await navigator.clipboard.writeText(textOf()).then(() => true, () => false);
    node.textContent = isDone ? texts.copied : texts.notCopied;
    setTimeout(() => (node.textContent = texts.copy), 2_000);
  });
  return node;
}

/** The nodes of a parsed Markdown tree. */
export function nodesOf(tree, texts) {
  return tree.map((node) => {
    if (typeof node === 'string') return node;
    const children = nodesOf(node.children, texts);
    if (node.tag === 'a') return link(node.href, ...children);
    // Loading an image would tell its server who reads.
    if (node.tag === 'image') return link(node.href, `${texts.image}: `, ...(children.length ? children : [node.href]));
    if (node.tag === 'pre') return codeBlock(node, texts);
    if (node.tag === 'table') return h('div', { className: 'table', tabIndex: 0, role: 'region', 'aria-label': texts.table }, h('table', { dir: 'auto' }, ...children));
    if (!TAGS.has(node.tag)) return h('span', {}, ...children);
    const isBlock = /^(p|h\d|li|blockquote)$/.test(node.tag);
    return h(node.tag, { ...(isBlock && { dir: 'auto' }), ...(node.tag === 'ol' && { start: node.first }), ...(node.tag === 'code' && { dir: 'ltr' }) }, ...children);
  });
}

function codeBlock({ children: [code], language }, texts) {
  const copy = copyButton(texts, () => code);
  const body = h('pre', { dir: 'ltr', tabIndex: 0, part: 'code' }, h('code', {}, code));
  return h('div', { className: 'code' }, h('div', { className: 'code-head' }, language ?? '', copy), body);
}
