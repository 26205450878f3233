export { Answer, type AnswerChunk } from './answer.js';
export { Chat, HansardChat, type HansardChatOptions, type UiRequestOptions } from './chat.js';
export type { GatewayErrorCode } from './codes.js';
export { HansardError, isHansardError, type ClientErrorCode, type ErrorCode } from './errors.js';
export { Conversation, Hansard, type Appended, type HansardOptions } from './hansard.js';
export type { ClientOptions, RequestOptions } from './http.js';
export type { WatchOptions } from './live.js';
export type { components, operations, paths } from './schema.js';
export type * from './types.js';
