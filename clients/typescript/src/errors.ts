// Errors with a stable code: those of the gateway, and those of the client itself.

import type { GatewayErrorCode } from './codes.js';

/** Codes of the client itself. */
export type ClientErrorCode =
  /** The gateway did not answer: the network failed. Retry later. */
  | 'UNREACHABLE'
  /** An attempt took longer than `timeoutMs`. Retry later. */
  | 'TIMEOUT'
  /** A stream was lost, and could not be resumed: load the messages again. */
  | 'STREAM_LOST'
  /** The gateway answered something else than its description says: check `url`. */
  | 'ANSWER_UNREADABLE'
  /** The session to replace a suffix in has other items: read the items again. */
  | 'SUFFIX_MISMATCH';

/** Every code; gateways of later releases can have more. */
export type ErrorCode = GatewayErrorCode | ClientErrorCode;

export interface ErrorDetails {
  status?: number;
  field?: string | undefined;
  retryAfterMs?: number | undefined;
  metadata?: Record<string, string>;
  cause?: unknown;
}

/** A failed request. Branch on `code`: codes are stable, messages are not. */
export class HansardError<Code extends string = ErrorCode | (string & {})> extends Error {
  /** The stable code. */
  readonly code: Code;
  /** The HTTP status; 0: there was no answer. */
  readonly status: number;
  /** The path of the wrong field, such as `messages[0].content`. */
  readonly field: string | undefined;
  /** The delay after which a retry makes sense. */
  readonly retryAfterMs: number | undefined;
  /** More data, such as `current_version` of `VERSION_CONFLICT`. */
  readonly metadata: Readonly<Record<string, string>>;

  constructor(code: Code, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'HansardError';
    this.code = code;
    this.status = details.status ?? 0;
    this.field = details.field;
    this.retryAfterMs = details.retryAfterMs;
    this.metadata = details.metadata ?? {};
  }
}

/** Whether a caught value is an error of Hansard, with one of these codes if there are any. */
export function isHansardError<Code extends ErrorCode>(error: unknown, ...codes: Code[]): error is HansardError<Code> {
  return error instanceof HansardError && (codes.length === 0 || codes.includes(error.code as Code));
}

/** The result; undefined if there is no such conversation. */
export async function unlessMissing<T>(result: Promise<T>): Promise<T | undefined> {
  return result.catch((error: unknown) => {
    if (isHansardError(error, 'CONVERSATION_NOT_FOUND')) return undefined;
    throw error;
  });
}

interface ProblemBody {
  code?: unknown;
  detail?: unknown;
  field?: unknown;
  retry_after_ms?: unknown;
  metadata?: Record<string, string>;
  /** APIs of OpenAI have this form. */
  error?: { code?: unknown; message?: unknown; param?: unknown };
}

/** The error of an answer that is not successful. */
export async function errorOf(response: Response): Promise<HansardError> {
  const body = (await response.json().catch(() => ({}))) as ProblemBody | null;
  const { code, detail, field, retry_after_ms: delay, metadata } = body ?? {};
  const seconds = Number(response.headers.get('retry-after') ?? undefined);
  const message = text(detail) ?? text(body?.error?.message);
  return new HansardError(
    text(code) ?? text(body?.error?.code) ?? `HTTP_${response.status}`,
    message ?? `the gateway answered ${response.status}`,
    {
      status: response.status,
      field: text(field) ?? text(body?.error?.param),
      retryAfterMs: typeof delay === 'number' ? delay : Number.isFinite(seconds) ? seconds * 1000 : undefined,
      ...(metadata && { metadata }),
    },
  );
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
