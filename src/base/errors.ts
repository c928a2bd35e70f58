/**
 * Every error that a client can get, in one table. The HTTP layer renders a `Problem` as application/problem+json,
 * the OpenAPI document and docs/api.md list the same rows, and the CLI prints them, so the words agree.
 *
 * A 503 to a request that changes something also says whether it may have been carried out (`outcome`). The row has the
 * safe default; a driver that knows more overrides it where it maps the engine's failure.
 */
/** Of a failed request: certainly not carried out, or unknown. */
export type Outcome = 'none' | 'unknown';

interface ProblemRow {
  readonly status: number;
  readonly title: string;
  /** Set in every row with status 503. */
  readonly outcome?: Outcome;
}

export const problemTable = {
  // Input
  invalid_json: { status: 400, title: 'The request body is not valid JSON' },
  invalid_request: { status: 400, title: 'The request is not valid' },
  invalid_url: { status: 400, title: 'The long URL cannot be shortened' },
  invalid_alias: { status: 400, title: 'The custom alias is not valid' },
  invalid_expiry: { status: 400, title: 'The expiry is not valid' },
  request_timeout: { status: 408, title: 'The request did not arrive in time' },
  head_too_large: { status: 431, title: 'The request head is too large' },
  http_version: { status: 505, title: 'This version of HTTP is not supported' },
  body_too_large: { status: 413, title: 'The request body is too large' },
  unsupported_media_type: { status: 415, title: 'The request body must be JSON' },
  // Identity
  unauthorized: { status: 401, title: 'A valid API key or session is required' },
  sign_in_failed: { status: 401, title: 'Signing in failed' },
  forbidden: { status: 403, title: 'You do not have permission to do this' },
  url_blocked: { status: 403, title: 'Links to this destination are not allowed' },
  account_suspended: { status: 403, title: 'This account is suspended' },
  foreign_origin: { status: 403, title: 'The request comes from another site' },
  link_quarantined: {
    status: 403,
    title: 'This link is under review; check its destination before you follow it',
  },
  plan_too_small: { status: 403, title: 'The request exceeds what the plan allows at once' },
  // State
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'This method is not supported here' },
  alias_taken: { status: 409, title: 'This alias is already taken' },
  alias_reserved: { status: 409, title: 'This alias is reserved' },
  alias_offensive: { status: 409, title: 'This alias contains a word that is not allowed' },
  link_held: { status: 409, title: 'Moderation controls the status of this link' },
  blocklist_full: { status: 409, title: 'The blocklist is full' },
  keys_full: { status: 409, title: 'The account has the maximum number of keys' },
  email_taken: { status: 409, title: 'This e-mail address belongs to another account' },
  last_admin: { status: 409, title: 'The last admin cannot be removed' },
  appeal_refused: { status: 409, title: 'This link cannot be appealed now' },
  clicks_not_kept: { status: 409, title: 'The clicks of that period are no longer stored' },
  edit_conflict: { status: 409, title: 'The link is being changed by someone else' },
  link_expired: { status: 410, title: 'This link has expired' },
  link_deleted: { status: 410, title: 'This link was deleted' },
  link_disabled: { status: 410, title: 'This link is disabled' },
  link_exhausted: { status: 410, title: 'This link has reached its click limit' },
  link_blocked: { status: 410, title: 'This link was blocked for abuse' },
  link_unsafe: { status: 410, title: 'The destination of this link is no longer allowed' },
  invitation_invalid: { status: 410, title: 'This invitation is not valid' },
  idempotency_key_reused: { status: 422, title: 'This Idempotency-Key was used for a different request' },
  rate_limited: { status: 429, title: 'Too many requests' },
  // Ours
  internal: { status: 500, title: 'Something went wrong on our side' },
  overloaded: { status: 503, title: 'The server is busy', outcome: 'none' },
  store_unavailable: { status: 503, title: 'The link store is not available', outcome: 'unknown' },
  stats_unavailable: {
    status: 503,
    title: 'Click statistics are not available',
    outcome: 'unknown',
  },
  codes_exhausted: { status: 503, title: 'No short code is available', outcome: 'none' },
} as const satisfies Record<string, ProblemRow>;

export type ProblemCode = keyof typeof problemTable;

export interface ProblemOptions {
  /** A sentence for the person who can fix it. */
  detail?: string;
  /** Extra members of the problem document, such as `field`. */
  fields?: Record<string, unknown>;
  /** Extra response headers, such as Retry-After. */
  headers?: Record<string, string>;
  /** For a 503 about which more is known than its row in the table says. */
  outcome?: Outcome;
  cause?: unknown;
}

/**
 * A Problem has no stack trace: it is never read, and the garbage collector formats it when it finds it, which blocked
 * the process for 100 ms after a call with ten thousand bad items. The same holds for the error of an engine that is
 * down, which many requests get at once.
 */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly detail: string;
  readonly fields: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(code: ProblemCode, options: ProblemOptions = {}) {
    const lineCount = Error.stackTraceLimit;
    const { status } = problemTable[code];
    if (status < 500 || status === 503) Error.stackTraceLimit = 0;
    super(options.detail ?? problemTable[code].title, { cause: options.cause });
    Error.stackTraceLimit = lineCount;
    this.code = code;
    this.detail = options.detail ?? problemTable[code].title;
    const { outcome: usual }: ProblemRow = problemTable[code];
    const outcome = options.outcome ?? usual;
    this.fields = outcome === undefined ? (options.fields ?? {}) : { outcome, ...options.fields };
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return problemTable[this.code].status;
  }

  get title(): string {
    return problemTable[this.code].title;
  }

  /** Undefined unless it is a 503. */
  get outcome(): Outcome | undefined {
    return this.fields.outcome as Outcome | undefined;
  }

  /** The same problem with some options replaced. */
  with(changes: ProblemOptions): Problem {
    const { code, detail, fields, headers, cause } = this;
    return new Problem(code, { detail, fields, headers, cause, ...changes });
  }
}

/** For a cursor that no list has issued. */
export const invalidCursor = (detail = 'This cursor is not valid.'): Problem =>
  new Problem('invalid_request', { detail, fields: { field: 'cursor' } });

/** Sets the outcome of the whole request: the step that failed only knows its own. */
export function withOutcome(error: unknown, outcome: Outcome): unknown {
  if (!(error instanceof Problem) || error.outcome === undefined || error.outcome === outcome) return error;
  return error.with({ fields: { ...error.fields, outcome } });
}

/** For a step that only prepares the change: if it fails, nothing was done. */
export function notDone(error: unknown): never {
  throw withOutcome(error, 'none');
}

/** For a step after one that may have made the change. */
export function maybeDone(error: unknown): never {
  throw withOutcome(error, 'unknown');
}

export const isInDoubt = (error: unknown): error is Problem =>
  error instanceof Problem && error.outcome === 'unknown';

/** Runs `work`; errors that it creates have no stack trace, for the same reason. */
export function withoutStackTraces<Result>(work: () => Result): Result {
  const lineCount = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return work();
  } finally {
    Error.stackTraceLimit = lineCount;
  }
}

/** Asserts an invariant; a failure is a bug of ours, never the caller's. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`invariant violated: ${message}`);
}
