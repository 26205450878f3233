export { loadChat, saveChat, type ChatStoreOptions, type SaveChatOptions } from './store.js';
export { HansardChatTransport } from './transport.js';
