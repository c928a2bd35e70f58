/** The blocklist: the active entries, and those that moderators add beside the operator's files. */
import type { Blocklists, ListStatus } from '../../abuse/blocklists.ts';
import {
  acceptEntry,
  type OperatorEntry,
  type OperatorEntryStore,
  operatorEntriesMax,
} from '../../abuse/operator-entries.ts';
import { ownerIdOf } from '../../accounts/account.ts';
import type { Clock } from '../../base/clock.ts';
import { invalidCursor, maybeDone, Problem } from '../../base/errors.ts';
import { auditActorOf } from '../../links/trace.ts';
import { isoTime } from '../link-view.ts';
import {
  blockEntryAnswer,
  blockEntryBody,
  blocklistAnswer,
  blocklistParameters,
} from '../moderation-schemas.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { bodyBytesMax } from './links.ts';

interface BlocklistRoutesOptions {
  readonly entries: OperatorEntryStore;
  readonly lists: Pick<Blocklists, 'status' | 'refreshEntries'>;
  readonly clock: Clock;
}

export function blocklistRoutes({ entries, lists, clock }: BlocklistRoutesOptions): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/blocklist',
      name: 'readBlocklist',
      summary: 'List blocklists and their entries',
      scope: 'moderate',
      limit: 'read',
      query: blocklistParameters,
      answers: { 200: { description: 'The lists, and a page of entries.', schema: blocklistAnswer } },
      async handle({ query: { limit, cursor, sort } }) {
        const listed = await entries.list();
        const all = sort === 'addedAt' ? listed : listed.toReversed();
        const from = cursor === undefined ? 0 : positionAfter(all, cursor);
        const page = all.slice(from, from + limit);
        const nextCursor = from + limit < all.length ? page.at(-1)!.id : null;
        return json({ lists: lists.status().map(listView), entries: page.map(entryView), nextCursor });
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/blocklist',
      name: 'addBlockEntry',
      summary: 'Block a domain, a page or a pattern',
      description:
        'Active in this process at once and in all others within a second: for new links, and for those that exist.',
      scope: 'moderate',
      limit: 'change',
      body: { schema: blockEntryBody, bytesMax: bodyBytesMax },
      answers: {
        201: { description: 'The entry.', schema: blockEntryAnswer },
        200: { description: 'The entry, which already existed.', schema: blockEntryAnswer },
      },
      problems: ['blocklist_full'],
      async handle({ body, actor }) {
        const accepted = acceptEntry(body.entry);
        const at = clock.now();
        const entry: OperatorEntry = {
          ...accepted,
          reason: body.reason ?? null,
          addedAt: at,
          addedBy: ownerIdOf(actor),
        };
        const outcome = await entries.add(entry, { at, actor: auditActorOf(actor) });
        if (outcome === 'full') {
          throw new Problem('blocklist_full', {
            detail: `There are ${operatorEntriesMax} entries; put more into a list file.`,
          });
        }
        await lists.refreshEntries().catch(maybeDone);
        if (outcome === 'added') return json(entryView(entry), 201);
        const existing = (await entries.list().catch(maybeDone)).find(({ id }) => id === entry.id);
        return json(entryView(existing ?? entry));
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/blocklist/{entryId}',
      name: 'removeBlockEntry',
      summary: 'Remove an entry',
      description: 'Entries of list files are not reached by this; add an exception instead.',
      scope: 'moderate',
      limit: 'change',
      answers: { 204: { description: 'The entry is gone.' } },
      problems: ['not_found'],
      async handle({ params, actor }) {
        const change = { at: clock.now(), actor: auditActorOf(actor) };
        if (!(await entries.remove(params.entryId!, change))) {
          throw new Problem('not_found', { detail: 'Entry not found.' });
        }
        await lists.refreshEntries().catch(maybeDone);
        return new Response(null, { status: 204 });
      },
    }),
  ];
}

/** Throws when the entry of the cursor has been deleted: the caller then lists from the start again. */
function positionAfter(all: readonly OperatorEntry[], cursor: string): number {
  const at = all.findIndex(({ id }) => id === cursor);
  if (at !== -1) return at + 1;
  throw invalidCursor('This cursor is not valid, or its entry was deleted.');
}

function listView({ name, state, entries, loadedAt, fault, complaints }: ListStatus) {
  return { name, state, entries, loadedAt: loadedAt === null ? null : isoTime(loadedAt), fault, complaints };
}

function entryView({ id, entry, reason, addedAt, addedBy }: OperatorEntry) {
  return { id, entry, reason, addedAt: isoTime(addedAt), addedBy };
}
