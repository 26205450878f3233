// Answers the open calls of the last message: by decisions of the visitor, and by functions of the page.

import { openCalls } from './message.js';

/** `tools()` are the functions of the page, by the names of their tools. */
export function createCalls({ chat, tools }) {
  let answers = new Map(); // By call: {approved} or {output, isError}.
  let running = new Set();
  let messageId;

  /** The model chooses the name: only functions that the page has named count. */
  const toolOf = ({ toolName }) => (Object.hasOwn(tools(), toolName) ? tools()[toolName] : undefined);

  const open = () => {
    const last = chat.state.messages.at(-1);
    return chat.state.phase === 'idle' && last?.role === 'assistant' ? openCalls(last) : [];
  };

  function update() {
    const last = chat.state.messages.at(-1)?.id;
    if (last !== messageId) {
      messageId = last;
      answers = new Map();
      running = new Set();
    }
    for (const call of open()) if (call.state === 'input-available') run(call);
  }

  /** One tab runs a call once; its result is sent by whoever has all results. */
  async function run(call) {
    const work = toolOf(call);
    if (!work || running.has(call.toolCallId)) return;
    running.add(call.toolCallId);
    const attempt = async () => {
      try {
        return { output: (await work(call.input, { toolCallId: call.toolCallId })) ?? null };
      } catch (error) {
        return { output: String(error?.message ?? error), isError: true };
      }
    };
    const alone = (lock) => (lock ? attempt().then((result) => answer(call.toolCallId, result)) : undefined);
    if (navigator.locks) await navigator.locks.request(`hansard-chat tool ${chat.state.id} ${call.toolCallId}`, { ifAvailable: true }, alone);
    else await alone(true);
  }

  function decide(callId, isApproved) {
    const call = open().find(({ toolCallId }) => toolCallId === callId);
    if (call && isApproved && toolOf(call)) return run(call);
    return answer(callId, { approved: isApproved });
  }

  async function answer(callId, result) {
    answers.set(callId, result);
    const calls = open();
    if (!calls.length || !calls.every(({ toolCallId }) => answers.has(toolCallId))) return;
    const named = calls.map(({ toolCallId }) => ({ toolCallId, ...answers.get(toolCallId) }));
    const isSent = await chat.answerCalls({
      toolResults: named.filter((one) => 'output' in one),
      approvals: named.filter((one) => 'approved' in one),
    });
    if (!isSent) answers = new Map();
  }

  return { update, decide };
}
