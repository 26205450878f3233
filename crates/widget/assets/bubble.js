// Shows one message.

import { button, copyButton, h, icon, link } from './dom.js';
import { safeHref } from './inline.js';
import { textOf } from './message.js';
import { createProse } from './prose.js';
import { toolCall } from './tool-call.js';

/** `view`: texts, the detail of tools, a formatter of times, and what a visitor can do: `copy`, `edit`, `again`, `decide`. */
export function createBubble(message, view) {
  const { texts } = view;
  const isUser = message.role === 'user';
  const body = h('div', { className: 'body' });
  const foot = h('div', { className: 'foot' });
  const node = h('article', { className: `message ${message.role}`, part: `message message-${message.role}` }, body, foot);
  const proses = [];
  let shown;
  let shownFlags;

  /** `state`: whether the message is being written, whether it may be changed, whether it is the last. */
  function update(next, state) {
    const flags = JSON.stringify(state);
    if (next === message && flags === shownFlags) return;
    message = next;
    shownFlags = flags;
    const key = JSON.stringify(next) + flags;
    if (key === shown) return;
    shown = key;
    const when = message.createdAt && new Date(message.createdAt);
    node.setAttribute('aria-label', [isUser ? texts.you : texts.assistant, when && view.time(when)].filter(Boolean).join(', '));
    node.setAttribute('aria-busy', String(state.isOpen));
    const nodes = message.parts.map((part, index) => nodeOf(part, index, state)).filter(Boolean);
    nodes.push(...notes(state));
    // A node that stays is not moved: a selection in it survives.
    nodes.forEach((child, index) => body.childNodes[index] !== child && body.insertBefore(child, body.childNodes[index] ?? null));
    while (body.childNodes.length > nodes.length) body.lastChild.remove();
    foot.replaceChildren(...[when && h('time', { dateTime: message.createdAt }, view.time(when)), ...actions(state)].filter(Boolean));
  }

  function nodeOf(part, index, state) {
    if (part.type === 'text' && isUser) return h('div', { className: 'plain', dir: 'auto' }, part.text);
    if (part.type === 'text') {
      proses[index] ??= createProse(texts);
      proses[index].update(part.text);
      return proses[index].node;
    }
    if (part.type === 'file') return file(part, texts);
    if (part.type === 'tool') return toolCall(part, { texts, detail: view.detail(), decide: state.isIdle && state.isLast ? view.decide : undefined });
    return undefined;
  }

  function notes({ isOpen, isIdle, isLast, isUnanswered }) {
    const { outcome, errorText } = message.metadata ?? {};
    const note = (name, text, ...more) => h('div', { className: name, part: name }, text, ...more);
    const again = isIdle && isLast && button(texts.tryAgain, () => view.again(message.id), { part: 'button' });
    if (isUnanswered) return [note('note error', texts.notAnswered, again)];
    if (isOpen) return message.parts.length ? [] : [h('div', { className: 'typing' })];
    if (outcome === 'stopped') return [note('note', texts.stopped)];
    return errorText || outcome === 'failed' ? [note('note error', texts.failed, again)] : [];
  }

  function actions({ isOpen, isIdle, isLast }) {
    if (isOpen || !textOf(message)) return [];
    const label = (name) => ({ 'aria-label': `${name}: ${textOf(message).slice(0, 60)}` });
    const edit = isUser && isIdle && button(texts.edit, () => view.edit(message), label(texts.edit));
    const again = !isUser && isIdle && isLast && button(texts.regenerate, () => view.again(message.id));
    return [copyButton(texts, () => textOf(message)), edit, again];
  }

  return { node, update, key: () => message.id, isSame: (other) => other.role === message.role && textOf(other) === textOf(message) };
}

/** A file: its name, and its address if that is a link. */
function file({ filename, mediaType, url }, texts) {
  const href = safeHref(url);
  const name = filename || (mediaType?.startsWith('image/') ? texts.image : texts.file);
  return h('div', { className: 'file', dir: 'auto' }, icon('attach'), ' ', href ? link(href, name) : name);
}
