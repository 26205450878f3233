// The visitor's conversations: list, search where the gateway offers it, open, rename, restore, delete.

import { button, h, icon, isComposing } from './dom.js';

const PAGE = 20;
const TITLE_CHARS_MAX = 200;
const QUERY_CHARS_MAX = 120;

/** `onOpen(id)` shows a conversation; `onProblem(error)` shows why something failed. */
export function createHistory({ texts, time, api, chat, onOpen, onFresh, onClose, onProblem }) {
  const list = h('ul', { className: 'chats' });
  const empty = h('p', { className: 'note', hidden: true });
  const more = button(texts.more, () => load(more.cursor), { part: 'button', hidden: true });
  const query = h('input', { type: 'search', maxLength: QUERY_CHARS_MAX, 'aria-label': texts.search, placeholder: texts.search, dir: 'auto', part: 'input' });
  const search = h('form', { role: 'search', className: 'row', hidden: true, onsubmit: (event) => (event.preventDefault(), load()) }, query, h('button', { part: 'button', 'aria-label': texts.search }, icon('search')));
  const back = button(texts.back, onClose, { part: 'button' });
  const node = h('div', { className: 'history', part: 'history', role: 'group', 'aria-label': texts.history, hidden: true }, h('div', { className: 'row' }, back, button(texts.fresh, onFresh, { part: 'button' })), search, list, empty, more);
  let isOffered = false;

  async function open() {
    query.value = '';
    list.replaceChildren();
    node.hidden = false;
    back.focus();
    const loaded = load();
    isOffered ||= await hasSearch();
    search.hidden = !isOffered;
    await loaded;
  }

  /** A tenant or an agent may have no search: then it is refused. */
  const hasSearch = () => api.request('GET', '/api/search?q=a&limit=1').then(() => true, () => false);

  async function load(cursor) {
    const words = query.value.trim();
    const from = cursor ? `&cursor=${encodeURIComponent(cursor)}` : '';
    const path = words ? `/api/search?q=${encodeURIComponent(words)}&limit=${PAGE}${from}` : `/api/chats?limit=${PAGE}${from}`;
    try {
      const page = await api.json('GET', path);
      if (words !== query.value.trim()) return;
      const rows = words ? page.results.map(result) : page.conversations.map(row);
      if (cursor) list.append(...rows);
      else list.replaceChildren(...rows);
      more.cursor = page.nextCursor;
      more.hidden = !page.nextCursor;
      empty.hidden = list.childNodes.length > 0 || Boolean(page.nextCursor);
      empty.textContent = words ? texts.noResults : texts.noHistory;
    } catch (error) {
      onProblem(error, () => load(cursor));
    }
  }

  const titleOf = ({ title, lastEventAt }) => title || texts.untitled.replace('{time}', time(new Date(lastEventAt)));

  function row(conversation) {
    const title = titleOf(conversation);
    const meta = [time(new Date(conversation.lastEventAt)), conversation.status === 'archived' && texts.isArchived].filter(Boolean).join(' · ');
    const isCurrent = conversation.id === chat.state.id;
    const label = (name) => ({ part: 'button', 'aria-label': `${name}: ${title}` });
    const replace = (...content) => {
      item.replaceChildren(...content);
      item.querySelector('input, button').focus();
    };
    const undo = () => item.replaceWith(row(conversation));
    const act = (work, next) => work().then(next, (error) => onProblem(error, () => act(work, next)));
    const rename = () => replace(renaming(title, (name) => act(() => chat.change(conversation.id, { title: name }), () => item.replaceWith(row({ ...conversation, title: name }))), undo));
    const erase = () => act(() => chat.erase(conversation.id), () => (back.focus(), load()));
    const confirm = () => replace(h('span', {}, texts.confirmErase), button(texts.erase, erase, { part: 'button danger' }), button(texts.cancel, undo, { part: 'button' }));
    const restore = () => act(() => chat.change(conversation.id, { archived: false }), () => item.replaceWith(row({ ...conversation, status: 'active' })));
    const item = h(
      'li', {},
      h('button', { type: 'button', className: 'chat', onclick: () => onOpen(conversation.id), 'aria-current': isCurrent ? 'true' : undefined }, h('span', { dir: 'auto' }, title), h('small', {}, meta)),
      button(icon('rename'), rename, label(texts.rename)),
      conversation.status === 'archived' && button(icon('restore'), restore, label(texts.restore)),
      button(icon('erase'), confirm, label(texts.erase)),
    );
    return item;
  }

  function renaming(title, save, undo) {
    const name = h('input', { value: title, maxLength: TITLE_CHARS_MAX, 'aria-label': texts.name, dir: 'auto', part: 'input' });
    const onkeydown = (event) => event.key === 'Escape' && !isComposing(event) && (event.stopPropagation(), undo());
    return h('form', { className: 'row', onkeydown, onsubmit: (event) => (event.preventDefault(), save(name.value.trim())) }, name, h('button', { part: 'button' }, texts.save), button(texts.cancel, undo, { part: 'button' }));
  }

  function result({ conversationId, title, time: at, snippet }) {
    const words = snippet.map(({ text, isMatch }) => (isMatch ? h('mark', {}, text) : text));
    const name = titleOf({ title, lastEventAt: at });
    return h('li', {}, h('button', { type: 'button', className: 'chat', onclick: () => onOpen(conversationId) }, h('span', { dir: 'auto' }, name), h('small', { dir: 'auto' }, ...words)));
  }

  return { node, open, close: () => (node.hidden = true), isOpen: () => !node.hidden };
}
