// Waiting, as long as nobody aborts.

const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 10_000;

/** The pause before another attempt: doubled after each failure, and spread so that clients do not return together. */
export function backoffMs(failures: number): number {
  const ms = Math.min(PAUSE_MS_MIN * 2 ** failures, PAUSE_MS_MAX);
  return ms * (0.5 + Math.random() / 2);
}

/** Waits; rejects with the signal's reason when it aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
