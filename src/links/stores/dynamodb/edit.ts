/**
 * Changing an existing link: an edit of the version it saw, and a click counted against its limit. Both are one
 * conditional write, with the entry in the change feed and the trace in the same transaction.
 */
import { sleep } from '../../../base/clock.ts';
import { notDone, Problem } from '../../../base/errors.ts';
import { inParallel } from '../../../base/in-parallel.ts';
import type { Dynamo, TransactItem, TransactOutcome } from '../../../engines/dynamodb/dynamodb.ts';
import type { RemoveItem, UpdateItem } from '../../../engines/dynamodb/expressions.ts';
import { type Link, type LinkStatus, tombstoneOf } from '../../link.ts';
import type { EventType } from '../../outbox.ts';
import type { LinkTrace } from '../../trace.ts';
import type { NotedChange } from './feed.ts';
import { traceItems, type WriteContext } from './insert.ts';
import { type AfterExpiry, codeOf, expiryPartitions, linkKey } from './keys.ts';
import {
  addLabels,
  dropLabels,
  editableAttributes,
  type LabelledLink,
  type LinkRow,
  linkOf,
  removeLabels,
} from './rows.ts';

const attemptsMax = 12;
const retryDelayMaxMs = 40;

export async function replaceLink(
  context: WriteContext,
  link: Link,
  trace: LinkTrace | undefined,
  event: EventType | undefined,
): Promise<'replaced' | 'conflict' | 'missing'> {
  const { dynamo, expiryGraceMs } = context;
  const row = await dynamo.get<LinkRow>(linkKey(link.code));
  if (row === undefined) return 'missing';
  if (row.version !== link.version - 1) return 'conflict';
  const stored = linkOf(row);
  const fixed = { place: row.place, guards: row.guards === true, expiryGraceMs };
  const before: LabelledLink = { ...fixed, link: stored };
  // An edit never changes who created a link, when and how.
  const after: LabelledLink = { ...fixed, link: { ...link, ownerId: stored.ownerId, origin: stored.origin } };
  await addLabels(dynamo, before, after).catch(notDone);
  const outcome = await attempts(context, async () => {
    const items = [editItem(after), ...(await traceItems(context, trace))];
    const noted = await noteChange(
      context,
      { at: link.updatedAt, code: link.code, claim: undefined, event: event && { type: event, link } },
      items,
    );
    if (noted.kind === 'done') return 'replaced';
    return noted.failed.includes(0) ? 'conflict' : undefined;
  });
  if (outcome === 'replaced') await dropLabels(dynamo, before, after);
  return outcome;
}

function editItem({ link, guards, expiryGraceMs }: LabelledLink): UpdateItem {
  const attributes = Object.entries(editableAttributes(link, { guards, expiryGraceMs }));
  const given = attributes.filter(([, value]) => value !== undefined);
  const absent = attributes.filter(([, value]) => value === undefined).map(([name]) => `#${name}`);
  const sets = given.map(([name]) => `#${name} = :${name}`);
  if (link.maxClicks === null) absent.push('#clicksLeft');
  else sets.push('#clicksLeft = :maxClicks - #usedClicks');
  return {
    update: linkKey(link.code),
    expression: `SET ${sets.join(', ')}${absent.length === 0 ? '' : ` REMOVE ${absent.join(', ')}`}`,
    condition: '#version = :seen',
    values: { ...Object.fromEntries(given), seen: link.version - 1 },
  };
}

/** A visitor may continue to a quarantined link, and then it counts. */
const followable = { active: 'active', quarantined: 'quarantined' } satisfies Partial<
  Record<LinkStatus, LinkStatus>
>;
const isFollowable = '#status IN (:active, :quarantined)';

/**
 * A retry after a lost answer may count a click twice, which lets one visitor too few through and never one too many.
 */
export function useClick(context: WriteContext, code: string, at: number): Promise<boolean> {
  const key = linkKey(code);
  const click = (left: string, isLimited = true): UpdateItem => ({
    update: key,
    expression: `SET #usedClicks = #usedClicks + :one${isLimited ? ', #clicksLeft = #clicksLeft - :one' : ''}`,
    condition: `${left} AND ${isFollowable}`,
    values: { ...followable, one: 1 },
  });
  return attempts(context, async () => {
    const { dynamo } = context;
    if (await dynamo.write(click('#clicksLeft > :one'))) return true;
    const row = await dynamo.get<LinkRow>(key);
    if (row === undefined || !(row.status in followable)) return false;
    if (row.clicksLeft === undefined) {
      return (await dynamo.write(click('attribute_not_exists(#clicksLeft)', false))) || undefined;
    }
    if (row.clicksLeft < 1) return false;
    if (row.clicksLeft > 1) return undefined;
    const last = await noteChange(context, { at, code, claim: undefined }, [click('#clicksLeft = :one')]);
    return last.kind === 'done' || undefined;
  });
}

function noteChange(
  { dynamo, changes }: WriteContext,
  change: NotedChange,
  items: readonly TransactItem[],
): Promise<TransactOutcome> {
  return changes.note(change, entries => dynamo.transact([...items, ...entries]));
}

/** Retries until `attempt` returns an answer; undefined means that the data it read has changed since. */
async function attempts<Answer>(
  { clock, random }: WriteContext,
  attempt: () => Promise<Answer | undefined>,
): Promise<Answer> {
  for (let count = 1; count <= attemptsMax; count += 1) {
    const answer = await attempt();
    if (answer !== undefined) return answer;
    await sleep(clock, random.float() * retryDelayMaxMs * count);
  }
  throw new Problem('store_unavailable', { detail: 'The link kept changing.', outcome: 'none' });
}

export interface PurgeOptions {
  readonly expiryGraceMs: number;
  /** How long the engine has to drop expired items. */
  readonly engineTimeoutMs: number;
}

const linksAtOnce = 16;

/**
 * What happens to expired links. The engine itself drops those whose code stays protected, because their items carry an
 * expiry (`ttlOf` in rows.ts); that costs nothing and may take days. The sweep turns the others into tombstones, and
 * removes links of the first kind that the engine has not dropped in time.
 */
export async function purgeExpired(
  dynamo: Dynamo,
  options: PurgeOptions,
  expiredBefore: number,
  limit: number,
): Promise<number> {
  const emptied = await sweep(dynamo, options, 'emptied', expiredBefore, limit);
  const overdueBefore = expiredBefore - options.engineTimeoutMs;
  return emptied + (await sweep(dynamo, options, 'removed', overdueBefore, limit - emptied));
}

async function sweep(
  dynamo: Dynamo,
  { expiryGraceMs }: PurgeOptions,
  fate: AfterExpiry,
  expiredBefore: number,
  limit: number,
): Promise<number> {
  if (limit <= 0) return 0;
  const codes = await expiredCodes(dynamo, fate, expiredBefore, limit);
  const rows = await dynamo.getMany<LinkRow>(codes.map(linkKey));
  let count = 0;
  await inParallel(rows.length, linksAtOnce, async position => {
    const row = rows[position];
    if (row?.expiresAt === undefined || row.expiresAt >= expiredBefore) return;
    const write = fate === 'emptied' ? emptying(row) : removing(row);
    // Fails when it was edited since, or another process was faster.
    if (!(await dynamo.write(write))) return;
    count += 1;
    const guards = row.guards === true;
    await removeLabels(dynamo, { link: linkOf(row), place: row.place, guards, expiryGraceMs });
  });
  return count;
}

async function expiredCodes(
  dynamo: Dynamo,
  fate: AfterExpiry,
  expiredBefore: number,
  limit: number,
): Promise<string[]> {
  const pages = await Promise.all(
    expiryPartitions(fate).map(pk =>
      dynamo.query<{ pk: string; expiresAt: number }>({
        pk,
        index: 'links-by-expiry',
        range: { below: expiredBefore },
        limit,
      }),
    ),
  );
  return pages
    .flatMap(({ items }) => items)
    .sort((a, b) => a.expiresAt - b.expiresAt)
    .slice(0, limit)
    .map(codeOf);
}

const removing = ({ pk, sk, version }: LinkRow): RemoveItem => ({
  remove: { pk, sk },
  condition: { expression: '#version = :seen', values: { seen: version } },
});

function emptying(row: LinkRow): UpdateItem {
  const { version } = row;
  const empty = tombstoneOf(linkOf(row));
  const attributes = Object.entries(editableAttributes(empty, { guards: true, expiryGraceMs: 0 }));
  const absent = attributes.filter(([, value]) => value === undefined).map(([name]) => `#${name}`);
  return {
    update: linkKey(empty.code),
    expression: `SET #status = :deleted, #version = :next REMOVE ${[...absent, '#clicksLeft'].join(', ')}`,
    condition: '#version = :seen',
    values: { deleted: 'deleted', next: version + 1, seen: version },
  };
}
