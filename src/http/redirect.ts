/**
 * The hot path: a code in, a Location out. Nothing here waits for anything but memory and, when memory does not
 * know, the store. The steps are resolve, decide, answer.
 */

import type { Clock } from '../base/clock.ts';
import { Problem, type ProblemCode } from '../base/errors.ts';
import { isHuman } from '../clicks/visitor.ts';
import { codePattern, type Link } from '../links/link.ts';
import { type Decision, decide, type GoneReason, type ResolvedLink } from '../resolve/decide.ts';
import { notInMemory } from '../resolve/resolver.ts';
import { previewPage } from '../web/preview-page.ts';
import { statusPageHeaders } from '../web/security-headers.ts';
import { gonePage, missingPage } from '../web/status-pages.ts';
import { problemResponse, refusal, wantsHtml } from './problem.ts';
import { type RedirectHeaderOptions, redirectHeaders } from './redirect-headers.ts';
import { queryTextOf } from './request-query.ts';
import { twoLengths } from './two-lengths.ts';

export interface RedirectOptions extends RedirectHeaderOptions {
  /** What memory knows of a code. */
  readonly recall: (code: string) => ResolvedLink | undefined | typeof notInMemory;
  /** Asks the store for what memory does not know. */
  readonly resolve: (code: string) => ResolvedLink | undefined | Promise<ResolvedLink | undefined>;
  /** Takes one of a limited link's clicks; false when none is left. */
  readonly useClick: (code: string) => Promise<boolean>;
  /** Notes a followed link; it must be quick, and a failure of it is not the visitor's. */
  readonly record: (link: Link, request: Request, at: number) => void;
  readonly isOverloaded: () => boolean;
  readonly clock: Clock;
  readonly baseUrl: string;
  readonly expiredStatus: 404 | 410;
  readonly onAnswer: (status: number) => void;
  readonly onFault: (error: unknown, request: Request | undefined) => void;
}

export type CodeRequest = Request & { readonly params: { readonly code: string } };
export type RedirectHandler = (request: CodeRequest) => Response | Promise<Response>;

const goneProblems: Record<GoneReason, ProblemCode> = {
  expired: 'link_expired',
  deleted: 'link_deleted',
  disabled: 'link_disabled',
  exhausted: 'link_exhausted',
  unsafe: 'link_unsafe',
};

export function createRedirect(options: RedirectOptions): RedirectHandler {
  const { recall, useClick, clock, baseUrl, expiredStatus } = options;

  function redirect(request: CodeRequest): Response | Promise<Response> {
    const { code } = request.params;
    if (request.method !== 'GET' && request.method !== 'HEAD') return methodNotAllowed(request);
    const malformed = twoLengths(request);
    if (malformed !== undefined) return refusal(request, malformed);
    if (!codePattern.test(code))
      return isPreview(code) ? preview(request, code.slice(0, -1)) : missing(request);
    const link = recall(code);
    return link === notInMemory ? followCold(request, code) : follow(request, link);
  }

  async function followCold(request: CodeRequest, code: string): Promise<Response> {
    return follow(request, await askStore(code));
  }

  /** What needs more than memory is refused before it begins when there is too much of it already. */
  async function askStore(code: string): Promise<ResolvedLink | undefined> {
    if (options.isOverloaded()) throw new Problem('overloaded', { headers: { 'Retry-After': '1' } });
    return options.resolve(code);
  }

  function follow(request: CodeRequest, link: ResolvedLink | undefined): Response | Promise<Response> {
    const decision = decide(link, {
      query: link?.forwardQuery ? queryTextOf(request.url) : '',
      now: clock.now(),
    });
    const limited = decision.kind === 'redirect' && decision.link.maxClicks !== null && isHuman(request);
    if (!limited) return answer(request, decision);
    return useClick(decision.link.code).then(allowed =>
      answer(request, allowed ? decision : { kind: 'gone', reason: 'exhausted' }),
    );
  }

  function answer(request: Request, decision: Decision): Response {
    if (decision.kind === 'missing') return missing(request);
    if (decision.kind === 'gone') return gone(request, decision.reason);
    const now = clock.now();
    noteClick(decision.link, request, now);
    const headers = redirectHeaders(decision, now, options);
    return new Response(null, { status: decision.status, headers });
  }

  /** Whatever happens to a click, the visitor goes on. */
  function noteClick(link: Link, request: Request, at: number): void {
    try {
      options.record(link, request, at);
    } catch (error) {
      options.onFault(error, request);
    }
  }

  function gone(request: Request, reason: GoneReason): Response {
    if (reason === 'expired' && expiredStatus === 404) return missing(request);
    if (wantsHtml(request))
      return new Response(gonePage({ reason }), { status: 410, headers: statusPageHeaders });
    return problemResponse(new Problem(goneProblems[reason]));
  }

  /** Where the link leads, told instead of followed. A link that leads nowhere has nothing to show. */
  async function preview(request: CodeRequest, code: string): Promise<Response> {
    const known = recall(code);
    const link = known === notInMemory ? await askStore(code) : known;
    const decision = decide(link, { query: '', now: clock.now() });
    if (link === undefined || decision.kind !== 'redirect') return answer(request, decision);
    const view = previewOf(link, `${baseUrl}/${code}`);
    if (wantsHtml(request)) return new Response(previewPage(view), { headers: statusPageHeaders });
    const { createdAt, expiresAt, code: shortCode, ...rest } = view;
    return Response.json(
      { shortCode, ...rest, createdAt: isoOrNull(createdAt), expiresAt: isoOrNull(expiresAt) },
      { headers: { 'Cache-Control': 'no-store', 'X-Robots-Tag': 'noindex' } },
    );
  }

  return request => {
    try {
      const response = redirect(request);
      if (!(response instanceof Promise)) {
        options.onAnswer(response.status);
        return response;
      }
      return response
        .catch(error => failed(request, error))
        .then(settled => {
          options.onAnswer(settled.status);
          return settled;
        });
    } catch (error) {
      return failed(request, error);
    }
  };

  function failed(request: Request, error: unknown): Response {
    const problem =
      error instanceof Problem
        ? error
        : new Problem('store_unavailable', { headers: { 'Retry-After': '1' }, cause: error });
    // Being busy is no fault, and a line in the log for each visitor refused would make it worse.
    if (problem.code !== 'overloaded') options.onFault(error, request);
    return refusal(request, problem);
  }
}

export function missing(request: Request): Response {
  if (wantsHtml(request)) return new Response(missingPage(), { status: 404, headers: statusPageHeaders });
  return problemResponse(new Problem('not_found', { detail: 'There is no link here.' }));
}

function methodNotAllowed(request: Request): Response {
  return refusal(
    request,
    new Problem('method_not_allowed', { detail: 'Use GET or HEAD.', headers: { Allow: 'GET, HEAD' } }),
  );
}

const isPreview = (code: string): boolean => code.endsWith('+') && codePattern.test(code.slice(0, -1));

const hiddenNotice =
  'The destination is shown once the link is followed, because the number of visits is limited.';

/** Looking must not be a way around a limit of visits. */
function previewOf(link: Link, shortUrl: string) {
  const { code, title, createdAt, expiresAt, maxClicks } = link;
  const shown =
    maxClicks === null ? { longUrl: link.longUrl, notice: null } : { longUrl: null, notice: hiddenNotice };
  return { code, shortUrl, ...shown, title, createdAt, expiresAt, state: 'active' };
}

const isoOrNull = (timeMs: number | null): string | null =>
  timeMs === null ? null : new Date(timeMs).toISOString();
