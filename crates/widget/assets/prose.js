// Shows a Markdown text that may grow: only its open blocks are parsed and built again.

import { h, nodesOf } from './dom.js';
import { parseBlocks } from './markdown.js';

export function createProse(texts) {
  const node = h('div', { className: 'prose', part: 'prose' });
  let shown = '';
  let from = 0; // Where the first open block starts …
  let built = 0; // … and the number of nodes before it.

  function update(text) {
    if (text === shown) return;
    if (!text.startsWith(shown)) from = built = 0;
    shown = text;
    const blocks = parseBlocks(text.slice(from));
    while (node.childNodes.length > built) node.lastChild.remove();
    node.append(...nodesOf(blocks, texts));
    const open = blocks.findIndex(({ isFinal }) => !isFinal);
    if (open > 0) {
      from += blocks[open].start;
      built += open;
    }
  }

  return { node, update };
}
