// The server-sent events of a response.

const IDLE_MS_MAX = 45_000; // The gateway sends a comment every 15 s.
const EVENT_CHARS_MAX = 16 * 1024 * 1024;

/** Each event with its fields by name. Ends with the response; fails if it is cut, idle or too large. */
export async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let rest = ''; ; ) {
      const { value, done } = await inTime(reader.read());
      if (done) return;
      const pieces = (rest + value).split('\n\n');
      rest = pieces.pop();
      if (rest.length > EVENT_CHARS_MAX) throw new Error('an event is too large');
      for (const piece of pieces) yield fieldsOf(piece);
    }
  } finally {
    reader.cancel().catch(() => {}); // It may be closed.
  }
}

function fieldsOf(piece) {
  const pairs = piece.split('\n').map((line) => {
    const at = line.indexOf(':');
    return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1).replace(/^ /, '')];
  });
  return Object.fromEntries(pairs);
}

function inTime(read) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('the stream is idle')), IDLE_MS_MAX);
  });
  return Promise.race([read, late]).finally(() => clearTimeout(timer));
}
