// Shows a tool call as the page asks for: not at all, by name, or with input and result. Approvals are always shown.

import { button, copyButton, h } from './dom.js';

const HEAD_CHARS = 4_000;

/** The node of a call; undefined: nothing is shown. `decide(callId, isApproved)` is absent while nobody can decide. */
export function toolCall(call, { texts, detail, decide }) {
  const isWaiting = call.state === 'approval-requested';
  if (detail === 'hidden' && !isWaiting) return undefined;
  const title = `${texts.tool} ${call.toolName}: ${texts.toolStates[call.state] ?? ''}`;
  const hasDetail = detail === 'details' || isWaiting;
  const body = hasDetail
    ? h('details', { open: isWaiting }, h('summary', {}, title), document_(texts.toolInput, call.input, texts), document_(texts.toolOutput, call.output ?? call.errorText, texts))
    : h('span', {}, title);
  const node = h('div', { className: 'tool', part: 'tool', dir: 'auto' }, body);
  if (isWaiting && decide) {
    const choose = (isApproved) => () => decide(call.toolCallId, isApproved);
    node.append(h('div', { className: 'row' }, button(texts.approve, choose(true), { part: 'button primary' }), button(texts.refuse, choose(false), { part: 'button' })));
  }
  return node;
}

/** A document: its beginning, and the rest by a click. */
function document_(title, value, texts) {
  if (value === undefined) return undefined;
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  const code = h('code', {}, text.slice(0, HEAD_CHARS));
  const all = text.length > HEAD_CHARS && button(`${texts.showAll} (${text.length.toLocaleString()})`, () => {
    code.textContent = text;
    all.remove();
  });
  return h('div', {}, h('div', { className: 'code-head' }, title, copyButton(texts, () => text)), h('pre', { dir: 'ltr', tabIndex: 0 }, code), all);
}
