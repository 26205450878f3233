// The input: text that is kept until it is sent, attached files, and one button that sends or stops.

import { attach, NOTHING } from './attachments.js';
import { button, h, icon, isComposing } from './dom.js';
import { textOf } from './message.js';
import { uuid } from './store.js';

/**
 * `onSend(parts, {draft, replaces, key})` resolves to whether the message was accepted. Files can be attached after `accept(accepted)`.
 */
export function createComposer({ texts, store, onSend, onStop, onRefusal, chatId }) {
  let accepted = NOTHING;
  let files = [];
  let replaces; // The message that is edited.
  let key; // Of an edit that was not accepted, until it is changed.
  let shownId;
  const text = h('textarea', { rows: 1, dir: 'auto', part: 'input', 'aria-label': texts.input, placeholder: texts.placeholder, oninput: keep, onkeydown: onKey });
  const send = h('button', { type: 'submit', part: 'button primary send' }, texts.send);
  const stop = button(texts.stop, onStop, { part: 'button stop', hidden: true });
  const input = h('input', { type: 'file', multiple: true, hidden: true, 'aria-label': texts.attach, onchange: () => add([...input.files]) });
  const pick = button(icon('attach'), () => input.click(), { part: 'button attach', 'aria-label': texts.attach, hidden: true });
  const chips = h('div', { className: 'row' });
  const editing = h('div', { className: 'note', hidden: true }, `${texts.editing} `, button(texts.cancel, () => endEdit(), { part: 'button' }));
  const node = h('form', { className: 'composer', part: 'composer', onsubmit: (event) => (event.preventDefault(), submit()), ondragover: (event) => accepted.types.length && event.preventDefault(), ondrop: onDrop, onpaste: onPaste }, editing, chips, h('div', { className: 'row' }, pick, input, text, stop, send));
  let draft = read();
  text.value = draft.text ?? '';

  function read() {
    try {
      return JSON.parse(store.get('draft') ?? '{}') ?? {};
    } catch {
      return {};
    }
  }

  /** A changed text is another message. That of a visitor who has signed out is not stored again. */
  function keep() {
    key = undefined;
    if (replaces || !node.isConnected) return;
    draft = { text: text.value };
    if (text.value) store.set('draft', JSON.stringify(draft));
    else store.remove('draft');
  }

  function onKey(event) {
    if (event.key !== 'Enter' || event.shiftKey || isComposing(event)) return;
    event.preventDefault();
    submit();
  }

  function onDrop(event) {
    if (!accepted.types.length) return;
    event.preventDefault();
    add([...event.dataTransfer.files]);
  }

  function onPaste(event) {
    const pasted = [...event.clipboardData.files];
    if (!accepted.types.length || !pasted.length) return;
    event.preventDefault();
    add(pasted);
  }

  async function add(added) {
    input.value = '';
    const { parts, refused } = await attach(added, files, accepted);
    show(parts);
    if (refused) onRefusal(refused);
  }

  function show(parts) {
    files = parts;
    key = undefined;
    const remove = (part) => button(`× ${part.filename}`, () => show(files.filter((file) => file !== part)), { part: 'button', 'aria-label': `${texts.remove}: ${part.filename}` });
    chips.replaceChildren(...files.map(remove));
  }

  async function submit() {
    const value = text.value.trim();
    if ((!value && !files.length) || send.hidden || send.disabled) return;
    const parts = [...(value ? [{ type: 'text', text: value }] : []), ...files];
    if (replaces) key ??= uuid();
    else {
      draft = { id: uuid(), chat: chatId() ?? uuid(), ...draft, text: text.value };
      store.set('draft', JSON.stringify(draft));
    }
    const sent = { draft, replaces, key, text: text.value, files, chat: chatId() };
    clear();
    if (await onSend(parts, sent)) {
      if (!text.value) store.remove('draft');
    } else restore(sent);
  }

  function clear() {
    text.value = '';
    show([]);
    if (!replaces) draft = {};
    endEdit();
  }

  /** What was not accepted is in the input again: under the same id, unless it joins a newer text or another conversation. */
  function restore(sent) {
    const isSame = sent.chat === chatId();
    const isAlone = !text.value && !files.length;
    show([...sent.files, ...files]);
    if (isSame && sent.replaces) {
      text.value = sent.text;
      beginEdit(sent.replaces, sent.key);
    } else if (isSame && isAlone) {
      text.value = sent.text;
      draft = sent.draft;
    } else {
      text.value = [sent.text, text.value].filter(Boolean).join('\n');
      keep();
    }
  }

  function beginEdit(id, known) {
    replaces = id;
    key = known;
    editing.hidden = false;
  }

  function endEdit() {
    if (!replaces) return;
    replaces = undefined;
    editing.hidden = true;
    show([]);
    text.value = draft.text ?? '';
  }

  function edit(message) {
    text.value = textOf(message);
    show(message.parts.filter(({ type }) => type === 'file'));
    beginEdit(message.id);
    text.focus();
  }

  function update({ id, phase, status }) {
    if (shownId && shownId !== id) {
      endEdit();
      keep(); // The text is for another conversation now.
    }
    shownId = id;
    const isAnswering = phase === 'answering' || phase === 'stopping';
    const hadFocus = [send, stop].includes(node.getRootNode().activeElement);
    send.hidden = isAnswering;
    send.disabled = phase !== 'idle' || status === 'archived';
    stop.hidden = !isAnswering;
    stop.disabled = phase === 'stopping';
    if (hadFocus) text.focus();
  }

  function accept(given) {
    accepted = given;
    input.accept = accepted.types.join(',');
    pick.hidden = !accepted.types.length;
  }

  return { node, accept, update, edit, submit, focus: () => text.focus(), hasFocus: () => node.getRootNode().activeElement === text };
}
