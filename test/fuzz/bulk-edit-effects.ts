/** The effects of changing or deleting many links in one call: on each link those of a single call. */
import { expect } from 'bun:test';
import { listedHost } from './blocklist-effects.ts';
import type { Accepted } from './effects.ts';
import {
  changed,
  hasTooManyTags,
  isHeld,
  type LinkInput,
  type LinkView,
  type ModelLink,
  shown,
} from './model.ts';
import type { SentRequest } from './sent-request.ts';

interface BulkInput {
  readonly codes?: readonly string[];
  readonly filter?: Readonly<Record<string, string>>;
  readonly limit?: number;
  readonly cursor?: string;
  readonly change?: LinkInput;
}

interface BulkResult {
  readonly shortCode: string;
  readonly status: number;
  readonly link?: LinkView;
  readonly problem?: { readonly code: string; readonly status: number };
}

type Choose = (links: readonly ModelLink[], filter: Readonly<Record<string, string>>) => LinkView[];

const filterLimit = 100;

export const bulkEditEffects = (chosen: Choose): Readonly<Record<string, (accepted: Accepted) => void>> => ({
  editLinks(accepted) {
    const { change = {} } = inputOf(accepted.sent);
    const seen = new Map<string, LinkView>();
    for (const [result, link] of resultsIn(accepted, chosen)) {
      const refusal = refusalOf(link, change);
      expect(result.problem?.code).toBe(refusal);
      if (refusal !== undefined) continue;
      const before = seen.get(result.shortCode) ?? link!.view;
      const expected = { ...before, ...changed(change, before.tags), updatedAt: result.link!.updatedAt };
      expect(result.link).toEqual(shown(expected));
      seen.set(result.shortCode, before);
      link!.view = expected;
    }
  },

  deleteLinks(accepted) {
    const deleted = new Set<ModelLink>();
    for (const [result, link] of resultsIn(accepted, chosen)) {
      // A link that is named twice is deleted once and answered twice.
      const refusal = link !== undefined && deleted.has(link) ? undefined : refusalOf(link, {});
      expect(result.problem?.code).toBe(refusal);
      if (refusal !== undefined) continue;
      expect(result.status).toBe(204);
      link!.deleted = true;
      deleted.add(link!);
    }
  },
});

/** Each result with its link, if that is visible to the caller. */
function resultsIn({ sent, body, model }: Accepted, chosen: Choose): [BulkResult, ModelLink | undefined][] {
  const { codes, filter = {}, limit = filterLimit, cursor } = inputOf(sent);
  const results = body.results as BulkResult[];
  const named = results.map(({ shortCode }) => shortCode);
  if (codes !== undefined) expect(named).toEqual([...codes]);
  else {
    const matching = chosen(model.linksOf(sent.owner), filter).map(({ shortCode }) => shortCode);
    expect(matching).toEqual(expect.arrayContaining(named));
    if (cursor === undefined) expect(named).toEqual(matching.slice(0, limit));
    if (cursor === undefined && matching.length <= limit) expect(body.nextCursor).toBeNull();
  }
  for (const { status, problem } of results) expect(problem?.status ?? status).toBe(status);
  return results.map(result => [result, model.manageable(result.shortCode, sent.owner, sent.seesAllLinks)]);
}

function refusalOf(link: ModelLink | undefined, change: LinkInput): string | undefined {
  const { status, longUrl } = change;
  if (link === undefined) return 'not_found';
  if (link.deleted) return 'link_deleted';
  const isNew = longUrl !== undefined && new URL(longUrl as string).href !== link.view.longUrl;
  if (isNew && new URL(longUrl as string).hostname === listedHost) return 'url_blocked';
  if (hasTooManyTags(link, change)) return 'invalid_request';
  return isHeld(link.view) && status !== undefined ? 'link_held' : undefined;
}

const inputOf = ({ input }: SentRequest): BulkInput => input as BulkInput;

/** The rules of a selection that the schema cannot express: either codes or a filter, with their own fields. */
export function isContradictory({ operation, input }: SentRequest): boolean {
  if (operation.id !== 'editLinks' && operation.id !== 'deleteLinks') return false;
  const { codes, filter, limit, cursor } = (input ?? {}) as BulkInput;
  // Only the server can validate a cursor, a host, a URL or a time.
  if (codes === undefined) return true;
  return filter !== undefined || limit !== undefined || cursor !== undefined;
}
