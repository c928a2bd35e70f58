/**
 * The hot path: a code in, a Location out. Nothing here waits for anything but memory and, when memory does not
 * know, the store. The steps are resolve, decide, answer.
 */

import type { Clock } from '../base/clock.ts';
import { Problem, type ProblemCode } from '../base/errors.ts';
import { isHuman } from '../clicks/visitor.ts';
import { codePattern, type Link } from '../links/link.ts';
import { type Decision, decide, type GoneReason, type ResolvedLink } from '../resolve/decide.ts';
import { previewPage } from '../web/preview-page.ts';
import { statusPageHeaders } from '../web/security-headers.ts';
import { gonePage, missingPage } from '../web/status-pages.ts';
import { problemResponse, refusal, wantsHtml } from './problem.ts';
import { type RedirectHeaderOptions, redirectHeaders } from './redirect-headers.ts';

export interface RedirectOptions extends RedirectHeaderOptions {
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
  const { resolve, useClick, clock, baseUrl, expiredStatus } = options;

  function redirect(request: CodeRequest): Response | Promise<Response> {
    const { code } = request.params;
    if (request.method !== 'GET' && request.method !== 'HEAD') return methodNotAllowed(request);
    if (!codePattern.test(code))
      return isPreview(code) ? preview(request, code.slice(0, -1)) : missing(request);
    const link = resolve(code);
    if (!(link instanceof Promise)) return follow(request, link);
    if (options.isOverloaded())
      return refusal(request, new Problem('overloaded', { headers: { 'Retry-After': '1' } }));
    return link.then(found => follow(request, found));
  }

  function follow(request: CodeRequest, link: ResolvedLink | undefined): Response | Promise<Response> {
    const decision = decide(link, {
      query: link?.forwardQuery ? queryOf(request.url) : '',
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
    const link = await resolve(code);
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
    options.onFault(error, request);
    return refusal(
      request,
      error instanceof Problem
        ? error
        : new Problem('store_unavailable', { headers: { 'Retry-After': '1' } }),
    );
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

function queryOf(url: string): string {
  const at = url.indexOf('?');
  if (at === -1) return '';
  const end = url.indexOf('#', at);
  return end === -1 ? url.slice(at + 1) : url.slice(at + 1, end);
}

function previewOf(link: Link, shortUrl: string) {
  const { code, longUrl, title, createdAt, expiresAt } = link;
  return { code, shortUrl, longUrl, title, createdAt, expiresAt, state: 'active' };
}

const isoOrNull = (timeMs: number | null): string | null =>
  timeMs === null ? null : new Date(timeMs).toISOString();
