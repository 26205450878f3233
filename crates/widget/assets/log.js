// The list of messages: a bounded number of nodes, and a position that only the reader moves.

import { createBubble } from './bubble.js';
import { button, h } from './dom.js';

const SHOWN = 50;
const AT_END_PX = 48;

export function createLog(view, chat) {
  const { texts } = view;
  const earlier = button(texts.earlier, showEarlier, { part: 'button', className: 'earlier', hidden: true });
  const list = h('div', { className: 'list' });
  const node = h('div', { className: 'log', part: 'log', role: 'log', 'aria-live': 'off', 'aria-label': texts.log, tabIndex: 0, onscroll: onScroll }, earlier, list);
  const latest = button(texts.latest, toLatest, { className: 'latest', part: 'button latest', hidden: true });
  let bubbles = [];
  let shown = SHOWN;
  let isAtEnd = true;

  function onScroll() {
    isAtEnd = node.scrollHeight - node.scrollTop - node.clientHeight < AT_END_PX;
    if (isAtEnd) latest.hidden = true;
  }

  function toLatest() {
    isAtEnd = true;
    shown = SHOWN;
    update(chat.state);
    node.focus({ preventScroll: true });
  }

  async function showEarlier() {
    shown += SHOWN;
    isAtEnd = false;
    if (chat.state.messages.length < shown) await chat.loadEarlier();
    update(chat.state);
    if (earlier.hidden) node.focus({ preventScroll: true });
  }

  /** A node stays when its message gets the id of the record. */
  function bubbleOf(message, index) {
    const known = bubbles.find((bubble) => bubble.key() === message.id);
    const same = !known && bubbles[index]?.isSame(message) && bubbles[index];
    return known ?? (same || createBubble(message, view));
  }

  function update(state) {
    const all = state.messages.filter(({ id }) => id !== state.live?.id);
    if (state.pending) all.push(state.pending);
    const isOpen = ['answering', 'stopping'].includes(state.phase);
    if (state.live || isOpen) all.push(state.live ?? { id: 'open', role: 'assistant', parts: [] });
    if (isAtEnd) shown = Math.min(shown, SHOWN);
    const messages = all.slice(-shown);
    const isIdle = state.phase === 'idle' && state.status !== 'archived';
    const before = bubbles.length && messages.length > bubbles.length;
    const first = bubbles[0];
    const fromEnd = node.scrollHeight - node.scrollTop;
    bubbles = messages.map((message, index) => {
      const bubble = bubbleOf(message, index);
      const isLast = index === messages.length - 1;
      const isUnanswered = isLast && isIdle && message.role === 'user' && !state.problem;
      bubble.update(message, { isOpen: isOpen && isLast, isIdle, isLast, isUnanswered });
      return bubble;
    });
    const nodes = bubbles.map((bubble) => bubble.node);
    nodes.forEach((child, index) => list.childNodes[index] !== child && list.insertBefore(child, list.childNodes[index] ?? null));
    while (list.childNodes.length > nodes.length) list.lastChild.remove();
    earlier.hidden = all.length <= shown && !state.nextBefore;
    // The reader stays at the message that was the first one.
    if (!isAtEnd && bubbles.indexOf(first) > 0) node.scrollTop = node.scrollHeight - fromEnd;
    if (isAtEnd) node.scrollTop = node.scrollHeight;
    else if (isOpen || before) latest.hidden = false;
  }

  return { node, latest, update, pin: () => (isAtEnd = true), lastText: () => bubbles.at(-1)?.node.querySelector('.body').innerText ?? '' };
}
