export type { LiveConversation, LiveMessage, Watched } from './store.js';
export { useConversation, type UseConversationOptions } from './useConversation.js';
