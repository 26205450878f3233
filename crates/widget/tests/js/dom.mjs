// The members of the DOM that the widget uses, for tests without a browser; and what a visitor does with its nodes.

class Node {
  childNodes = [];
  attributes = {};
  listeners = {};
  className = '';
  disabled = false;
  hidden = false;
  id = '';
  isConnected = true;
  title = '';
  type = '';
  value = '';

  get lastChild() {
    return this.childNodes.at(-1);
  }

  get textContent() {
    return this.childNodes.map((child) => child.textContent ?? child).join('');
  }

  set textContent(text) {
    this.childNodes = [text];
  }

  append(...nodes) {
    this.childNodes.push(...nodes);
  }

  replaceChildren(...nodes) {
    this.childNodes = nodes;
  }

  insertBefore(node, next) {
    if (this.childNodes.includes(node)) this.childNodes.splice(this.childNodes.indexOf(node), 1);
    this.childNodes.splice(next ? this.childNodes.indexOf(next) : this.childNodes.length, 0, node);
    node.remove = () => (this.childNodes = this.childNodes.filter((child) => child !== node));
  }

  setAttribute(name, value) {
    this.attributes[name] = value;
  }

  addEventListener(name, listener) {
    this.listeners[name] = listener;
  }

  getRootNode() {
    return document;
  }

  focus() {
    document.activeElement = this;
  }
}

globalThis.document = { createElement: () => new Node(), createElementNS: () => new Node() };
globalThis.requestAnimationFrame = setImmediate;
globalThis.navigator ??= {};

/** All nodes below a node, in the order of the document. */
export const nodesOf = (node) => node.childNodes.flatMap((child) => (child instanceof Node ? [child, ...nodesOf(child)] : []));

const nameOf = ({ attributes, textContent }) => attributes['aria-label'] ?? textContent;
export const click = (node, name) => nodesOf(node).find((one) => one.listeners.click && nameOf(one) === name).listeners.click({});
export const inputOf = (node) => nodesOf(node).find((one) => one.attributes.rows);

export function type(node, text) {
  inputOf(node).value = text;
  inputOf(node).listeners.input({});
}

/** Presses a key in a node; returns whether its default was prevented. */
export function press(node, key, members = {}) {
  let isPrevented = false;
  node.listeners.keydown({ key, isComposing: false, preventDefault: () => (isPrevented = true), stopPropagation() {}, ...members });
  return isPrevented;
}
