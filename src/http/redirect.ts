/**
 * The hot path: a code in, a Location out. Nothing here waits for anything but memory and, when memory does not
 * know, the store. The steps are resolve, decide, answer; answers are made as they go over the wire, and that of a
 * link that is followed again is the same text as before.
 */

import type { Clock } from '../base/clock.ts';
import { Problem, type ProblemCode } from '../base/errors.ts';
import type { NotedVisitor } from '../clicks/noted-visitor.ts';
import { visitFlag } from '../clicks/steps/visit-kind.ts';
import { isHuman } from '../clicks/visitor.ts';
import { codePattern, type Link } from '../links/link.ts';
import { type Decision, decide, type GoneReason, type ResolvedLink, type Visit } from '../resolve/decide.ts';
import { notInMemory } from '../resolve/resolver.ts';
import { statusPageHeaders } from '../web/security-headers.ts';
import { gonePage, missingPage } from '../web/status-pages.ts';
import type { Admitted } from './admission.ts';
import { previewAnswer } from './preview.ts';
import type { ProbingGuard } from './probing.ts';
import { problemAnswer, refusalAnswer, wantsHtml } from './problem.ts';
import { type RedirectHeaderOptions, redirectHeaders } from './redirect-headers.ts';
import type { RedirectLimit } from './redirect-limit.ts';
import { rateLimited } from './spending.ts';
import type { VisitorOf } from './visitors.ts';
import type { Warning } from './warning.ts';
import { type Answer, answerOf } from './wire/answer.ts';
import type { WireRequest } from './wire/wire-request.ts';

export interface RedirectOptions extends RedirectHeaderOptions {
  /** What memory knows of a code at a moment of the monotonic clock. */
  readonly recall: (code: string, nowMs: number) => ResolvedLink | undefined | typeof notInMemory;
  /** Asks the store for what memory does not know. */
  readonly resolve: (code: string) => ResolvedLink | undefined | Promise<ResolvedLink | undefined>;
  /** Takes one of a limited link's clicks; false when none is left. */
  readonly useClick: (code: string) => Promise<boolean>;
  readonly visitorOf: VisitorOf;
  /** Notes a followed link; it must be quick, and a failure of it is not the visitor's. */
  readonly record: (link: Link, visitor: NotedVisitor, at: number, flags: number) => void;
  /** What stands before a quarantined link. */
  readonly warning: Warning;
  readonly probing: ProbingGuard;
  readonly limit: RedirectLimit;
  /** Lets a request in that needs more than memory; throws when there are too many already. */
  readonly admit: (address: string) => Admitted;
  readonly clock: Clock;
  readonly baseUrl: string;
  readonly expiredStatus: 404 | 410;
  /** `startedMs`, by the monotonic clock, is when the request was taken up. */
  readonly onAnswer: (status: number, startedMs: number, request: WireRequest) => void;
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

export function createRedirect(options: RedirectOptions): RedirectHandler {
  const { recall, useClick, visitorOf, warning, probing, clock, baseUrl, expiredStatus } = options;

  function redirect(request: WireRequest, startedMs: number): Answer | Promise<Answer> {
    if (request.method !== 'GET' && request.method !== 'HEAD') return methodNotAllowed(request);
    const code = codeOf(request.path);
    if (!codePattern.test(code))
      return isPreview(code) ? preview(request, code.slice(0, -1), startedMs) : missing(request);
    const link = recall(code, startedMs);
    if (link === notInMemory) return followCold(request, code);
    if (link === undefined) refuseProber(request);
    return follow(request, link);
  }

  async function followCold(request: WireRequest, code: string): Promise<Answer> {
    return follow(request, await askStore(request, code));
  }

  /** Whoever guesses codes waits, and nothing is looked up for them; links that memory knows are not guesses. */
  function refuseProber(request: WireRequest): void {
    const waitS = probing.isSlowed(visitorOf(request).address, clock.now());
    if (waitS > 0) throw rateLimited(waitS);
  }

  async function askStore(request: WireRequest, code: string): Promise<ResolvedLink | undefined> {
    refuseProber(request);
    return admitted(request, async () => options.resolve(code));
  }

  /** What needs more than memory is refused before it begins when there is too much of it already. */
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
    if (waitS > 0) throw rateLimited(waitS);
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
    const known = decision.link.answer as Answer | undefined;
    if (known !== undefined) return known;
    const made = answerOf(decision.status, redirectHeaders(decision, now, options), '');
    if (isLasting(decision.link)) decision.link.answer = made;
    return made;
  }

  /** Whether the next visitor gets the very same answer. */
  function isLasting(link: Link): boolean {
    return !link.forwardQuery && link.expiresAt === null && link.status === 'active';
  }

  /** Whatever happens to a click, the visitor goes on. */
  function noteClick(link: Link, request: WireRequest, at: number): void {
    try {
      const visitor = visitorOf(request);
      const flags = request.method === 'GET' ? visitor.flags : visitor.flags | visitFlag.head;
      options.record(link, visitor, at, flags);
    } catch (error) {
      options.onFault(error, request);
    }
  }

  function gone(request: WireRequest, reason: GoneReason): Answer {
    if (reason === 'expired' && expiredStatus === 404) return missing(request);
    if (wantsHtml(request)) return answerOf(410, statusPageHeaders, gonePage({ reason }));
    return problemAnswer(new Problem(goneProblems[reason]));
  }

  /** Where the link leads, told instead of followed. A link that leads nowhere has nothing to show. */
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
      return answer
        .catch(error => failed(request, error))
        .then(settled => {
          options.onAnswer(settled.status, startedMs, request);
          return settled;
        });
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
    // Being busy is no fault, and a line in the log for each visitor refused would make it worse.
    if (problem.code !== 'overloaded' && problem.code !== 'rate_limited') options.onFault(error, request);
    return refusalAnswer(request, problem);
  }
}

/** Without the slash. An escape that says nothing a code may consist of is left as it is, and matches none. */
function codeOf(path: string): string {
  const code = path.slice(1);
  if (!code.includes('%')) return code;
  try {
    return decodeURIComponent(code);
  } catch {
    return code;
  }
}

const missingDetail = 'There is no link here.';
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
