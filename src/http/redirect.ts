/**
 * A code in, a Location out. It waits only for memory and, on a miss, for the store. The steps are resolve, decide,
 * answer. Links that redirect every visitor take the short cut of plain-redirect.ts.
 */
import type { Clock } from '../base/clock.ts';
import { Problem, type ProblemCode } from '../base/errors.ts';
import type { ConnectionVisitor } from '../clicks/recorder.ts';
import { isHuman, visitFlag } from '../clicks/steps/visit.ts';
import type { Config } from '../config/config.ts';
import { rateLimited } from '../limits/rate-limit.ts';
import type { ProbingGuard, RedirectLimit } from '../limits/redirect-limit.ts';
import { codePattern, type Link } from '../links/link.ts';
import { type Decision, decide, type GoneReason, type ResolvedLink, type Visit } from '../resolve/decide.ts';
import { notInMemory } from '../resolve/resolver.ts';
import { statusPageHeaders } from '../web/layout.ts';
import { previewPage } from '../web/preview-pages.ts';
import { gonePage, missingPage } from '../web/status-pages.ts';
import type { Admitted } from './admission.ts';
import type { VisitorOf } from './client-address.ts';
import type { PlainRedirect } from './plain-redirect.ts';
import { problemAnswer, refusalAnswer, wantsHtml } from './problem.ts';
import { type RedirectHeaderSettings, redirectHeaders } from './redirect-headers.ts';
import type { Warning } from './warning.ts';
import { type Answer, answerOf } from './wire/answer.ts';
import type { WireRequest } from './wire/wire-request.ts';

export interface RedirectOptions {
  readonly config: RedirectHeaderSettings & Pick<Config, 'expiredStatus'>;
  /** Undefined where every visit needs a decision. */
  readonly plain: PlainRedirect | undefined;
  /** Looks up a code in memory, at a time of the monotonic clock. */
  readonly recall: (code: string, nowMs: number) => ResolvedLink | undefined | typeof notInMemory;
  /** The last known link of a code, if it is recent enough to be served while the store is down. */
  readonly recallStale: (code: string) => ResolvedLink | undefined;
  /** Asks the store for a code that is not in memory. */
  readonly ask: (code: string) => Promise<ResolvedLink | undefined>;
  /** Takes one of a limited link's clicks; false when none is left. */
  readonly useClick: (code: string) => Promise<boolean>;
  readonly visitorOf: VisitorOf;
  /** Records a followed link; it must be quick, and its failure must not affect the visitor. */
  readonly record: (link: Link, visitor: ConnectionVisitor, at: number, flags: number, query: string) => void;
  /** The warning in front of a quarantined link. */
  readonly warning: Warning;
  readonly probing: ProbingGuard;
  readonly limit: RedirectLimit;
  /** Admits a request that needs more than memory; throws when there are too many already. */
  readonly admit: (address: string) => Admitted;
  readonly clock: Clock;
  readonly baseUrl: string;
  /** `startedMs`, by the monotonic clock, is when processing of the request began. */
  readonly onAnswer: (
    status: number,
    startedMs: number,
    request: Pick<WireRequest, 'method' | 'path'>,
  ) => void;
  readonly onFault: (error: unknown, request: WireRequest | undefined) => void;
}

export type RedirectHandler = (request: WireRequest) => Answer | Promise<Answer>;

const goneProblems: Record<GoneReason, ProblemCode> = {
  expired: 'link_expired',
  deleted: 'link_deleted',
  disabled: 'link_disabled',
  exhausted: 'link_exhausted',
  unsafe: 'link_unsafe',
  blocked: 'link_blocked',
};

const tooManyUnknownLinks = { what: 'Too many visits of links that do not exist', limit: 'probe' };
const tooManyVisits = { what: 'Too many visits of links from this network', limit: 'redirect' };

export function createRedirect(options: RedirectOptions): RedirectHandler {
  const { recall, useClick, visitorOf, warning, probing, clock, baseUrl, config } = options;

  function redirect(request: WireRequest, startedMs: number): Answer | Promise<Answer> {
    if (request.method !== 'GET' && request.method !== 'HEAD') return methodNotAllowed(request);
    const code = codeOf(request.path);
    if (!codePattern.test(code))
      return isPreview(code) ? preview(request, code.slice(0, -1), startedMs) : missing(request);
    const headFlag = request.method === 'GET' ? 0 : visitFlag.head;
    const plain = options.plain?.answer(request, code, startedMs, headFlag);
    if (plain !== undefined) return plain;
    const link = recall(code, startedMs);
    if (link === notInMemory) return askStore(request, code).then(found => follow(request, found));
    if (link === undefined) refuseProber(request);
    return follow(request, link);
  }

  /** A client that guesses codes waits, without any lookup; links in memory are not guesses. */
  function refuseProber(request: WireRequest): void {
    const waitS = probing.isSlowed(visitorOf(request).address, clock.now());
    if (waitS > 0) throw rateLimited(waitS, tooManyUnknownLinks);
  }

  async function askStore(request: WireRequest, code: string): Promise<ResolvedLink | undefined> {
    refuseProber(request);
    try {
      return await admitted(request, () => options.ask(code));
    } catch (error) {
      const known = options.recallStale(code);
      if (known === undefined) throw error;
      return known;
    }
  }

  /** Under overload, rejects a request that needs more than memory before it begins. */
  async function admitted<Value>(request: WireRequest, work: () => Promise<Value>): Promise<Value> {
    const admission = options.admit(visitorOf(request).address);
    let wasServed = false;
    try {
      const value = await work();
      wasServed = true;
      return value;
    } finally {
      admission.end(wasServed);
    }
  }

  function follow(request: WireRequest, link: ResolvedLink | undefined): Answer | Promise<Answer> {
    const now = clock.now();
    const decision = decide(link, visitOf(request, link, now));
    if (decision.kind !== 'redirect') return answer(request, decision, now);
    const waitS = options.limit.allows(visitorOf(request).address, now, decision.link.ownerId);
    if (waitS > 0) throw rateLimited(waitS, tooManyVisits);
    const limited = decision.link.maxClicks !== null && isHuman(request);
    if (!limited) return answer(request, decision, now);
    return admitted(request, () => useClick(decision.link.code)).then(allowed =>
      answer(request, allowed ? decision : { kind: 'gone', reason: 'exhausted' }, now),
    );
  }

  function visitOf(request: WireRequest, link: ResolvedLink | undefined, now: number): Visit {
    if (link === undefined || !(link.forwardQuery || link.status === 'quarantined'))
      return { query: '', now };
    return { ...warning.read(request, link), now };
  }

  function answer(request: WireRequest, decision: Decision, now: number): Answer {
    if (decision.kind === 'missing') {
      probing.noteMissing(visitorOf(request).address, now);
      return missing(request);
    }
    if (decision.kind === 'gone') return gone(request, decision.reason);
    if (decision.kind === 'warn') return warning.answer(request, decision.link, decision.location);
    noteClick(decision.link, request, now);
    return answerOf(decision.status, redirectHeaders(decision, now, config), '');
  }

  /** A failure to record the click does not stop the visitor. */
  function noteClick(link: Link, request: WireRequest, at: number): void {
    try {
      const visitor = visitorOf(request);
      const flags = request.method === 'GET' ? visitor.flags : visitor.flags | visitFlag.head;
      options.record(link, visitor, at, flags, request.query);
    } catch (error) {
      options.onFault(error, request);
    }
  }

  function gone(request: WireRequest, reason: GoneReason): Answer {
    if (reason === 'expired' && config.expiredStatus === 404) return missing(request);
    if (wantsHtml(request)) return answerOf(410, statusPageHeaders, gonePage({ reason }));
    return problemAnswer(new Problem(goneProblems[reason]));
  }

  /** Shows where the link leads without following it. A link that leads nowhere has no preview. */
  async function preview(request: WireRequest, code: string, startedMs: number): Promise<Answer> {
    const known = recall(code, startedMs);
    if (known === undefined) refuseProber(request);
    const link = known === notInMemory ? await askStore(request, code) : known;
    const now = clock.now();
    const decision = decide(link, { query: '', now });
    const leadsOn = decision.kind === 'redirect' || decision.kind === 'warn';
    if (link === undefined || !leadsOn) return answer(request, decision, now);
    return previewAnswer(request, link, `${baseUrl}/${code}`);
  }

  return request => {
    const startedMs = clock.monotonicMs();
    try {
      const answer = redirect(request, startedMs);
      if (!(answer instanceof Promise)) {
        options.onAnswer(answer.status, startedMs, request);
        return answer;
      }
      const settled = (known: Answer): Answer => {
        options.onAnswer(known.status, startedMs, request);
        return known;
      };
      return answer.then(settled, error => settled(failed(request, error)));
    } catch (error) {
      const answer = failed(request, error);
      options.onAnswer(answer.status, startedMs, request);
      return answer;
    }
  };

  function failed(request: WireRequest, error: unknown): Answer {
    const problem =
      error instanceof Problem
        ? error
        : new Problem('store_unavailable', { headers: { 'Retry-After': '1' }, cause: error });
    // Overload is not an error, and a log line for each rejected visitor would make it worse.
    if (problem.code !== 'overloaded' && problem.code !== 'rate_limited') options.onFault(error, request);
    return refusalAnswer(request, problem);
  }
}

/** Without the slash. An escape of a character that no code has is left as it is, and matches none. */
function codeOf(path: string): string {
  const code = path.slice(1);
  if (!code.includes('%')) return code;
  try {
    return decodeURIComponent(code);
  } catch {
    return code;
  }
}

const missingDetail = 'Link not found.';
const missingProblem = problemAnswer(new Problem('not_found', { detail: missingDetail }));
let missingHtml: Answer | undefined;

export function missing(request: Pick<WireRequest, 'headers'>): Answer {
  if (!wantsHtml(request)) return missingProblem;
  missingHtml ??= answerOf(404, statusPageHeaders, missingPage());
  return missingHtml;
}

function methodNotAllowed(request: WireRequest): Answer {
  return refusalAnswer(
    request,
    new Problem('method_not_allowed', { detail: 'Use GET or HEAD.', headers: { Allow: 'GET, HEAD' } }),
  );
}

const isPreview = (code: string): boolean => code.endsWith('+') && codePattern.test(code.slice(0, -1));

/** Shows where a link leads without following it: a page for browsers, JSON for other clients. */
function previewAnswer(request: Pick<WireRequest, 'headers'>, link: Link, shortUrl: string): Answer {
  const view = previewOf(link, shortUrl);
  if (wantsHtml(request)) return answerOf(200, statusPageHeaders, previewPage(view));
  const { createdAt, expiresAt, code: shortCode, ...rest } = view;
  const shown = { shortCode, ...rest, createdAt: isoOrNull(createdAt), expiresAt: isoOrNull(expiresAt) };
  return answerOf(200, previewHeaders, JSON.stringify(shown));
}

const previewHeaders = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Robots-Tag': 'noindex',
};
const hiddenNotice =
  'The destination is shown once the link is followed, because the number of visits is limited.';

/** A preview must not bypass a limit of visits. */
function previewOf(link: Link, shortUrl: string) {
  const { code, createdAt, expiresAt, maxClicks } = link;
  const shown =
    maxClicks === null ? { longUrl: link.longUrl, notice: null } : { longUrl: null, notice: hiddenNotice };
  return { code, shortUrl, ...shown, createdAt, expiresAt, state: link.status };
}

const isoOrNull = (timeMs: number | null): string | null =>
  timeMs === null ? null : new Date(timeMs).toISOString();
