/**
 * What kind of visit a request is. The redirect notes two bits, which cost it a comparison and the reading of four
 * headers that are nearly always absent; what the agent adds to them is found out later, on another thread.
 *
 * A browser that prefetched a link and then shows it may not ask again, so a prefetch that a person ends up seeing
 * goes uncounted. The other mistake, counting pages that nobody saw, is the one an owner cannot correct for.
 */
import type { AgentTraits, VisitKind } from '../click.ts';

/** The bits of a visit's flags; they are kept in a byte of the click buffer, so a value never changes meaning. */
export const visitFlag = { head: 1, prefetch: 2 } as const;

const fetchedAhead = /prefetch|prerender|preview/i;

/** What a visit is judged by, whatever kind of request it came as. */
export interface VisitRequest {
  readonly method: string;
  readonly headers: Pick<Headers, 'get'>;
}

export function visitFlags(request: VisitRequest): number {
  // Only GET and HEAD are redirected.
  const flags = request.method === 'GET' ? 0 : visitFlag.head;
  const { headers } = request;
  const purpose =
    headers.get('sec-purpose') ?? headers.get('purpose') ?? headers.get('x-purpose') ?? headers.get('x-moz');
  return purpose !== null && fetchedAhead.test(purpose) ? flags | visitFlag.prefetch : flags;
}

/** What the request did outweighs who it says it is: a crawler's HEAD is a `head`. */
export function kindOf(flags: number, agent: Pick<AgentTraits, 'kind'>): VisitKind {
  if ((flags & visitFlag.head) !== 0) return 'head';
  if ((flags & visitFlag.prefetch) !== 0) return 'prefetch';
  return agent.kind;
}
