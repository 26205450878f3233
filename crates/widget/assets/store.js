// What the browser keeps for one gateway, key and visitor: session, conversation, unsent text. In memory where storage is blocked.

const memory = new Map();
const blocked = {
  getItem: (name) => memory.get(name) ?? null,
  setItem: (name, value) => memory.set(name, value),
  removeItem: (name) => memory.delete(name),
};
const NAMES = ['session', 'chat', 'draft', 'read'];

function storage() {
  try {
    return globalThis.localStorage ?? blocked;
  } catch {
    return blocked;
  }
}

export function openStore(...scope) {
  const full = (name) => `hansard-chat ${scope.join(' ')} ${name}`;
  const store = {
    get: (name) => storage().getItem(full(name)) ?? undefined,
    set(name, value) {
      try {
        storage().setItem(full(name), value);
      } catch {
        blocked.setItem(full(name), value); // The quota is used up.
      }
    },
    remove: (...names) => names.forEach((name) => storage().removeItem(full(name))),
    clear: () => store.remove(...NAMES),
  };
  return store;
}

/** A random UUID; `crypto.randomUUID` exists in secure contexts only. */
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** Runs `work` in one tab at a time; without locks (insecure contexts), at once. */
export function exclusive(name, work) {
  return navigator.locks ? navigator.locks.request(`hansard-chat ${name}`, work) : work();
}
