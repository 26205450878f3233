// What went wrong, as the visitor reads it, and the next step: the names of texts.

const TEXTS = {
  UNREACHABLE: ['unreachable', 'retry'],
  KEY_REJECTED: ['keyRejected', 'retry'],
  UNAUTHENTICATED: ['keyRejected', 'retry'],
  ORIGIN_NOT_ALLOWED: ['keyRejected', 'retry'],
  SESSION_EXPIRED: ['sessionExpired', 'fresh'],
  SESSION_INVALID: ['sessionExpired', 'fresh'],
  USER_TOKEN_EXPIRED: ['signedOut', 'retry'],
  USER_TOKEN_INVALID: ['signedOut', 'retry'],
  USER_TOKEN_REQUIRED: ['signedOut', 'retry'],
  RATE_LIMITED: ['tooMany', 'retry'],
  QUOTA_EXCEEDED: ['tooMany', 'retry'],
  TOO_MANY_STREAMS: ['tooMany', 'retry'],
  OVERLOADED: ['tooMany', 'retry'],
  CONVERSATION_NOT_FOUND: ['erased', 'fresh'],
  CONVERSATION_ERASED: ['erased', 'fresh'],
  CONVERSATION_ARCHIVED: ['archived', 'restore'],
  RUN_ACTIVE: ['runActive', 'retry'],
  APPROVAL_NOT_ALLOWED: ['notYours', undefined],
  TOOL_CALL_NOT_OPEN: ['changed', 'reload'],
  MESSAGE_NOT_FOUND: ['changed', 'reload'],
  NOTHING_TO_ANSWER: ['changed', 'reload'],
  HAS_FORKS: ['hasForks', undefined],
  SEARCH_QUERY_INVALID: ['noResults', undefined],
  SEARCH_TIMED_OUT: ['searchSlow', 'retry'],
  BODY_TOO_LARGE: ['tooLong', undefined],
  FIELD_TOO_LONG: ['tooLong', undefined],
  EVENT_TOO_LARGE: ['tooLong', undefined],
  TOO_MANY_FILES: ['tooManyFiles', undefined],
  FILE_TOO_LARGE: ['fileTooLarge', undefined],
  FILES_TOO_LARGE: ['filesTooLarge', undefined],
  ATTACHMENT_NOT_ACCEPTED: ['fileType', undefined],
  FILE_TYPE_REFUSED: ['fileType', undefined],
};

/** `{text, action}`; every other code is a temporary failure. */
export function explain({ code, retryAfterS, bound }, texts) {
  const [name, action] = TEXTS[code] ?? ['unavailable', 'retry'];
  const wait = retryAfterS ? ` ${texts.retryAfter.replace('{s}', retryAfterS)}` : '';
  return { text: texts[name].replace('{n}', bound) + wait, action };
}
