// The chat as a visitor sees it: header, problems, messages, suggestions, input. It shows the state of the conversation.

import { createCalls } from './calls.js';
import { createComposer } from './composer.js';
import { button, h, icon, isComposing } from './dom.js';
import { createHistory } from './history.js';
import { createLog } from './log.js';
import { explain } from './problems.js';

const ANNOUNCED_CHARS_MAX = 4_000;

export function createPanel({ settings, texts, store, api, chat, tools, onClose }) {
  const time = timeFormat(settings.lang);
  const calls = createCalls({ chat, tools });
  const again = (id) => chat.regenerate(id);
  const log = createLog({ texts, time, detail: () => settings.toolCalls, decide: calls.decide, again, edit: (message) => composer.edit(message) }, chat);
  const composer = createComposer({
    ...{ texts, store, chatId: () => chat.state.id, onStop: chat.stop },
    onSend: (parts, sent) => send(parts, { ...sent, retry: composer.submit }),
    onRefusal: (refused) => chat.fail(refused, undefined),
  });
  const onProblem = (error, retry) => chat.fail(error, retry);
  const history = createHistory({ ...{ texts, time, api, chat, onProblem }, onClose: () => showChat(), onFresh: fresh, onOpen: (id) => (showChat(), chat.open(id)) });
  const alert = h('div', { className: 'alert', part: 'alert', role: 'alert' });
  const status = h('div', { className: 'unseen', role: 'status' });
  const lost = h('div', { className: 'note', hidden: true, 'aria-hidden': 'true' }, texts.reconnecting);
  const greeting = h('p', { className: 'note greeting', dir: 'auto', part: 'greeting' }, settings.greeting);
  const suggestions = h('div', { className: 'row suggestions', role: 'group', 'aria-label': texts.suggestions });
  const heading = h('div', { className: 'heading', id: 'heading', dir: 'auto', part: 'heading' }, settings.heading || texts.heading);
  const close = settings.mode === 'floating' && button(icon('close'), onClose, { part: 'button close', 'aria-label': texts.close });
  const header = h('div', { className: 'header row', part: 'header' }, heading, button(icon('history'), () => openHistory(), { part: 'button', 'aria-label': texts.history }), button(icon('fresh'), fresh, { part: 'button', 'aria-label': texts.fresh }), close);
  const main = h('div', { className: 'main' }, log.node, log.latest, greeting, suggestions);
  const node = h('section', { className: 'panel', part: 'panel', role: settings.mode === 'floating' ? 'dialog' : 'group', 'aria-labelledby': 'heading', onkeydown: onKey }, header, alert, history.node, main, lost, composer.node, status);
  let shownProblem;
  let phase;
  let frame;

  function send(parts, options) {
    log.pin();
    return chat.send(parts, options);
  }

  function showChat() {
    history.close();
    main.hidden = false;
    composer.focus();
  }

  function openHistory() {
    if (history.isOpen()) return showChat();
    main.hidden = true;
    return history.open();
  }

  function fresh() {
    chat.fresh();
    showChat();
  }

  function onKey(event) {
    if (isComposing(event)) return;
    if (event.key === 'F6') {
      event.preventDefault();
      if (composer.hasFocus()) log.node.focus();
      else composer.focus();
    } else if (event.key === 'Escape') {
      event.stopPropagation();
      if (history.isOpen()) showChat();
      else if (chat.state.phase === 'answering') chat.stop();
      else onClose();
    }
  }

  function showProblem(problem) {
    if (problem === shownProblem) return;
    shownProblem = problem;
    if (!problem) return alert.replaceChildren();
    const { text, action } = explain(problem, texts);
    const run = { retry: problem.retry ?? chat.reload, reload: chat.reload, fresh, restore: () => chat.change(chat.state.id, { archived: false }).catch(onProblem) }[action];
    const name = { retry: texts.tryAgain, reload: texts.reload, fresh: texts.fresh, restore: texts.restore }[action];
    const act = () => {
      chat.dismiss();
      composer.focus();
      run();
    };
    alert.replaceChildren(h('span', { dir: 'auto' }, text), ...[run && button(name, act, { part: 'button' }), button(texts.dismiss, () => (chat.dismiss(), composer.focus()), { part: 'button' })].filter(Boolean));
  }

  /** Screen readers hear that an answer has begun, and then the whole answer. */
  function announce(state) {
    const was = phase;
    phase = state.phase;
    if (state.isLost) status.textContent = texts.reconnecting;
    else if (phase === 'answering') status.textContent = texts.answering;
    else if (phase === 'idle' && (was === 'answering' || was === 'stopping')) status.textContent = log.lastText().slice(0, ANNOUNCED_CHARS_MAX);
  }

  function draw() {
    frame = undefined;
    const { state } = chat;
    const isEmpty = !state.messages.length && !state.pending && !state.live && state.phase === 'idle';
    const problem = state.problem ?? (state.status === 'archived' ? (archived ??= { code: 'CONVERSATION_ARCHIVED' }) : undefined);
    showProblem(problem);
    lost.hidden = !state.isLost;
    greeting.hidden = !isEmpty || !settings.greeting;
    suggestions.hidden = !isEmpty || !settings.suggestions.length;
    composer.update(state);
    log.update(state);
    announce(state);
  }
  let archived;

  function update() {
    calls.update();
    frame ??= requestAnimationFrame(draw);
  }

  const suggest = (text) => button(text, () => send([{ type: 'text', text }]), { part: 'button suggestion', dir: 'auto' });
  suggestions.append(...settings.suggestions.map(suggest));
  draw();
  return { node, update, send, accept: composer.accept, focus: composer.focus };
}

/** The time of a message: today without its day. */
function timeFormat(lang) {
  const short = dateFormat(lang, { timeStyle: 'short' });
  const long = dateFormat(lang, { dateStyle: 'medium', timeStyle: 'short' });
  return (when) => (when.toDateString() === new Date().toDateString() ? short : long).format(when);
}

/** Pages also write `en_US`. Where the browser does not know the language of the page, it uses its own. */
function dateFormat(lang, options) {
  try {
    return new Intl.DateTimeFormat(lang.replaceAll('_', '-'), options);
  } catch {
    return new Intl.DateTimeFormat(undefined, options);
  }
}
