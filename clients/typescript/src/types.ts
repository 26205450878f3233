// Names for the schemas of the gateway's description, which `schema.ts` has.

import type { components, operations } from './schema.js';

type Schemas = components['schemas'];
type QueryOf<Name extends keyof operations> = operations[Name]['parameters'] extends { query?: infer Values } ? NonNullable<Values> : never;

/** A part of a message. */
export type Part = Schemas['PartBody'];
/** An event with its position. */
export type RecordedEvent = Schemas['EventBody'];
type NewEventBody = Schemas['NewEventBody'];
type NewEventOf<Type extends NewEventBody['type'], Required extends keyof NewEventBody, Optional extends keyof NewEventBody = never> = {
  type: Type;
} & { [Name in Required]: NonNullable<NewEventBody[Name]> } & Pick<NewEventBody, 'eventId' | 'occurredAt' | 'metadata' | Optional>;

/** An event to append. */
export type NewEvent =
  | NewEventOf<'MessageAppended', 'role' | 'parts', 'author' | 'model' | 'provider' | 'providerResponseId' | 'finishReason' | 'usage'>
  | NewEventOf<'ToolCalled', 'callId' | 'toolName' | 'input', 'model' | 'provider' | 'providerResponseId' | 'signature'>
  | NewEventOf<'ToolReturned', 'callId', 'toolName' | 'output' | 'outputParts' | 'isError'>
  | NewEventOf<'SystemNoted', 'text', 'topic'>
  | NewEventOf<'ErrorOccurred', 'errorType', 'message'>
  | NewEventOf<'HistorySummarised', 'through' | 'text', 'model'>
  | NewEventOf<'HistoryRewound', 'to'>;

/** A part of a message to append. */
export type NewPart = Schemas['NewPartBody'];
/** A recorded commit. */
export type Commit = Schemas['CommitBody'];
/** A conversation without its events. */
export type ConversationInfo = Schemas['ConversationBody'];
/** The owner and values of a new conversation of a back end. */
export type NewConversation = Schemas['CreateConversationBody'];
/** Changes of a conversation. */
export type ConversationChanges = Schemas['UpdateConversationBody'];
/** A page of events. */
export type EventsPage = Schemas['RecordedEventsPage'];
/** Which events to list. */
export type EventsQuery = QueryOf<'list_recorded_events'>;
/** A context and its receipt. */
export type Context = Schemas['RenderedContextBody'];
/** Which context to assemble. */
export type ContextQuery = Omit<QueryOf<'get_context'>, 'format'> & { format: ContextFormat };
/** The formats of contexts. */
export type ContextFormat = 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'ollama' | 'canonical';
/** A history under a key. */
export type History = Schemas['HistoryBody'];
/** A message of a history. */
export type HistoryMessage = Schemas['NewMessageBody'];
/** What was recorded in a history. */
export type RecordedMessages = Schemas['RecordedMessagesBody'];
/** A new chat of a frontend. */
export type NewChat = Schemas['CreateChatBody'];
/** A chat and some of its messages. */
export type ChatPage = Omit<Schemas['ChatBody'], 'messages'> & { messages: ChatMessage[] };
/** Which messages to read. */
export type ChatQuery = QueryOf<'get_chat'>;
/** Changes of a chat. */
export type ChatChanges = Schemas['ChangeChatBody'];
/** The point of a fork, and its values. */
export type NewFork = Omit<Schemas['ForkChatBody'], 'sessionId' | 'userId'>;
/** A page of chats. */
export type ChatsPage = Schemas['ConversationsPage'];
/** Which chats to list. */
export type ChatsQuery = QueryOf<'list_chats'>;
/** A page of results of a search. */
export type SearchPage = Schemas['SearchResultsBody'];
/** What to search, and where. */
export type SearchQuery = QueryOf<'search_chats'>;
/** A message, results of open calls, or approvals. */
export type NewMessage = Omit<Schemas['SendMessageBody'], 'sessionId' | 'userId'>;

/** A message in the AI SDK's form, with its time, model and tokens. */
export type ChatMessage = Pick<Schemas['ChatMessageBody'], 'createdAt' | 'model' | 'usage'> & {
  id: string;
  role: 'user' | 'assistant' | 'system';
  parts: ChatPart[];
  metadata?: { outcome?: string; errorText?: string };
};

/** A part of a message in the AI SDK's form. */
export type ChatPart =
  | { type: 'text' | 'reasoning'; text: string }
  | { type: 'file'; url: string; mediaType: string; filename?: string }
  | { type: 'step-start' }
  | { type: `tool-${string}`; toolCallId: string; state: string; input?: unknown; output?: unknown; errorText?: string }
  | { type: `data-${string}`; id?: string; data: unknown };
