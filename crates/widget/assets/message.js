// A message as the page shows it, and how the chunks of a stream change one. Pure. The chunks are those of the AI SDK.

/** A recorded message: its tool calls have the type `tool` and a `toolName`. */
export function fromRecord(message) {
  const parts = message.parts.map((part) => {
    const name = part.type === 'dynamic-tool' ? part.toolName : part.type.startsWith('tool-') && part.type.slice(5);
    return name ? { ...part, type: 'tool', toolName: name } : part;
  });
  return { ...message, parts };
}

/** An answer before its first chunk. */
export const emptyAnswer = (id) => ({ id, role: 'assistant', parts: [] });

/** The message after a chunk. Chunks of unknown types change nothing. */
export function withChunk(message, chunk) {
  return Object.hasOwn(CHANGES, chunk.type) ? CHANGES[chunk.type](message, chunk) : message;
}

const added = (message, part) => ({ ...message, parts: [...message.parts, part] });

function changed(message, isIt, change) {
  const index = message.parts.findLastIndex(isIt);
  if (index < 0) return message;
  return { ...message, parts: message.parts.with(index, { ...message.parts[index], ...change(message.parts[index]) }) };
}

const started = (type) => (message, { id }) => added(message, { type, id, text: '' });
const appended = (type) => (message, { id, delta }) =>
  changed(message, (part) => part.type === type && part.id === id, ({ text }) => ({ text: text + delta }));
const call = (state, membersOf) => (message, chunk) => {
  const isIt = (part) => part.type === 'tool' && part.toolCallId === chunk.toolCallId;
  const members = { state, ...membersOf(chunk) };
  if (message.parts.some(isIt)) return changed(message, isIt, () => members);
  return chunk.toolName ? added(message, { type: 'tool', toolName: chunk.toolName, toolCallId: chunk.toolCallId, ...members }) : message;
};
const metadata = (message, members) => ({ ...message, metadata: { ...message.metadata, ...members } });

const CHANGES = {
  start: (message, { messageId }) => ({ ...message, id: messageId }),
  'text-start': started('text'),
  'text-delta': appended('text'),
  'reasoning-start': started('reasoning'),
  'reasoning-delta': appended('reasoning'),
  file: (message, chunk) => added(message, chunk),
  'tool-input-start': call('input-streaming', () => ({})),
  'tool-input-available': call('input-available', ({ input }) => ({ input })),
  'tool-approval-request': call('approval-requested', () => ({})),
  'tool-output-available': call('output-available', ({ output }) => ({ output })),
  'tool-output-error': call('output-error', ({ errorText }) => ({ errorText })),
  'tool-output-denied': call('output-denied', () => ({})),
  'message-metadata': (message, { messageMetadata }) => metadata(message, messageMetadata),
  abort: (message) => metadata(message, { outcome: 'stopped' }),
};

/** The text of a message. */
export const textOf = ({ parts }) => parts.filter(({ type }) => type === 'text').map(({ text }) => text).join('\n\n');

/** The calls of a message that wait for somebody: for an approval, or for a result of the page. */
export const openCalls = ({ parts }) => parts.filter(({ type, state }) => type === 'tool' && ['approval-requested', 'input-available'].includes(state));
