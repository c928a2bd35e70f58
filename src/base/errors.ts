/**
 * Every way Terse says no, in one table. The HTTP layer renders a `Problem` as application/problem+json,
 * the OpenAPI document and docs/api.md list the same rows, and the CLI prints them, so the words agree.
 */
export const problemTable = {
  // Input
  invalid_json: { status: 400, title: 'The request body is not valid JSON' },
  invalid_request: { status: 400, title: 'The request is not valid' },
  invalid_url: { status: 400, title: 'The long URL cannot be shortened' },
  invalid_alias: { status: 400, title: 'The custom alias is not valid' },
  invalid_expiry: { status: 400, title: 'The expiry is not valid' },
  request_timeout: { status: 408, title: 'The request did not come in time' },
  head_too_large: { status: 431, title: 'The request head is too large' },
  http_version: { status: 505, title: 'This version of HTTP is not spoken here' },
  body_too_large: { status: 413, title: 'The request body is too large' },
  unsupported_media_type: { status: 415, title: 'The request body must be JSON' },
  // Identity
  unauthorized: { status: 401, title: 'A valid API key or session is needed' },
  sign_in_failed: { status: 401, title: 'Signing in failed' },
  forbidden: { status: 403, title: 'You may not do that' },
  url_blocked: { status: 403, title: 'Links to this destination are not allowed' },
  account_suspended: { status: 403, title: 'This account is suspended' },
  foreign_origin: { status: 403, title: 'The request comes from another site' },
  link_quarantined: {
    status: 403,
    title: 'This link is under review and needs a look before it is followed',
  },
  plan_too_small: { status: 403, title: 'This is more than the plan ever allows at once' },
  // State
  not_found: { status: 404, title: 'There is nothing here' },
  method_not_allowed: { status: 405, title: 'This method is not supported here' },
  alias_taken: { status: 409, title: 'This alias is already taken' },
  alias_reserved: { status: 409, title: 'This alias is reserved' },
  alias_offensive: { status: 409, title: 'This alias contains a word that is not allowed' },
  link_held: { status: 409, title: 'The status of this link is up to moderation' },
  blocklist_full: { status: 409, title: 'The blocklist holds as many entries as it can' },
  keys_full: { status: 409, title: 'The account has as many keys as it can have' },
  email_taken: { status: 409, title: 'This e-mail address belongs to another account' },
  last_admin: { status: 409, title: 'The last admin cannot be taken away' },
  appeal_refused: { status: 409, title: 'This link cannot be appealed for now' },
  clicks_not_kept: { status: 409, title: 'The clicks of that time are no longer kept' },
  edit_conflict: { status: 409, title: 'The link is being changed by someone else' },
  link_expired: { status: 410, title: 'This link has expired' },
  link_deleted: { status: 410, title: 'This link was deleted' },
  link_disabled: { status: 410, title: 'This link is disabled' },
  link_exhausted: { status: 410, title: 'This link has reached its click limit' },
  link_blocked: { status: 410, title: 'This link was blocked for abuse' },
  link_unsafe: { status: 410, title: 'The destination of this link is no longer allowed' },
  invitation_invalid: { status: 410, title: 'This invitation does not work' },
  idempotency_key_reused: { status: 422, title: 'This Idempotency-Key was used for a different request' },
  rate_limited: { status: 429, title: 'Too many requests for now' },
  // Ours
  internal: { status: 500, title: 'Something went wrong on our side' },
  overloaded: { status: 503, title: 'The server is busy' },
  store_unavailable: { status: 503, title: 'The link store is not available' },
  stats_unavailable: { status: 503, title: 'Click statistics are not available for now' },
  codes_exhausted: { status: 503, title: 'No short code is available' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof problemTable;

export interface ProblemOptions {
  /** A sentence for the person who has to fix it. */
  detail?: string;
  /** Extra members of the problem document, such as `field`. */
  fields?: Record<string, unknown>;
  /** Extra response headers, such as Retry-After. */
  headers?: Record<string, string>;
  cause?: unknown;
}

/**
 * A refusal has no stack trace: nobody reads it, and the garbage collector writes it out when it comes across it, which
 * held everything up for 100 ms after a call with ten thousand bad items.
 */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly detail: string;
  readonly fields: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(code: ProblemCode, options: ProblemOptions = {}) {
    const lineCount = Error.stackTraceLimit;
    if (problemTable[code].status < 500 || code === 'overloaded') Error.stackTraceLimit = 0;
    super(options.detail ?? problemTable[code].title, { cause: options.cause });
    Error.stackTraceLimit = lineCount;
    this.code = code;
    this.detail = options.detail ?? problemTable[code].title;
    this.fields = options.fields ?? {};
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return problemTable[this.code].status;
  }

  get title(): string {
    return problemTable[this.code].title;
  }
}

/** What `work` returns; errors that it makes have no stack trace, for the same reason. */
export function withoutStackTraces<Result>(work: () => Result): Result {
  const lineCount = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return work();
  } finally {
    Error.stackTraceLimit = lineCount;
  }
}

/** States what must hold; a failure is a bug of ours, never the caller's. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`invariant violated: ${message}`);
}
