/**
 * One decision about all links of an account or to a domain. A call does a bounded amount of work, newest links first,
 * and returns a cursor to continue from; each link is decided separately, so a call that ends half-way is simply
 * repeated from the last cursor, or from the start.
 */
import type { Actor } from '../accounts/account.ts';
import { yieldToEventLoop } from '../base/clock.ts';
import type { Link } from '../links/link.ts';
import { leadsTo } from '../links/list-match.ts';
import type { ListPage } from '../links/store.ts';
import { auditActorOf } from '../links/trace.ts';
import type { ModerationContext } from './context.ts';
import { type DecisionInput, decideAsItIs } from './decide.ts';

export type Selection =
  | { readonly kind: 'account'; readonly id: string }
  /** The domain itself and everything below it, in the parser's spelling. */
  | { readonly kind: 'domain'; readonly id: string };

export interface ManyDecided {
  readonly decided: number;
  /** Links that already had the decided status. */
  readonly unchanged: number;
  /** Undefined when all are done. */
  readonly nextCursor: string | undefined;
}

/** Links per call, and how many of them are written at a time: they share the store's transactions. */
export const linksPerCallMax = 500;
const linksPerTurn = 50;
/** Windows without a match before the caller gets a cursor instead. */
const windowsMax = 40;

export async function decideMany(
  context: ModerationContext,
  actor: Actor,
  selection: Selection,
  input: DecisionInput,
  cursor: string | undefined,
): Promise<ManyDecided> {
  // Links that are accepted but not yet stored would appear, undecided, behind the walk.
  if (cursor === undefined) await context.links.store.settle?.(link => isSelected(link, selection));
  let [decided, unchanged, next] = [0, 0, cursor];
  for (let window = 0; window < windowsMax && decided + unchanged < linksPerCallMax; window += 1) {
    const page = await pageOf(context, selection, next);
    const outcomes = await Promise.all(
      page.links.map(({ code }: Link) => decideAsItIs(context, actor, code, input)),
    );
    for (const outcome of outcomes) {
      if (outcome === 'decided') decided += 1;
      else unchanged += 1;
    }
    next = page.nextCursor;
    if (next === undefined) break;
    await yieldToEventLoop();
  }
  await context.audit.append([
    {
      at: context.links.clock.now(),
      actor: auditActorOf(actor),
      action: `${selection.kind}.linksDecided`,
      subject: selection,
      before: null,
      after: { decision: input.decision, decided, unchanged, isComplete: next === undefined },
      reason: input.reason,
      isRoutine: false,
    },
  ]);
  return { decided, unchanged, nextCursor: next };
}

const isSelected = ({ ownerId, longUrl }: Link, { kind, id }: Selection): boolean =>
  kind === 'account' ? ownerId === id : leadsTo(longUrl, id);

function pageOf(
  { links }: ModerationContext,
  selection: Selection,
  cursor: string | undefined,
): Promise<ListPage> {
  const page = { limit: linksPerTurn, cursor };
  if (selection.kind === 'domain') return links.store.listByDomain({ ...page, domain: selection.id });
  return links.store.list({
    ...page,
    ownerId: selection.id,
    order: 'newest',
    tag: undefined,
    state: undefined,
    search: undefined,
    now: links.clock.now(),
  });
}
