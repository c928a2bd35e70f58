/**
 * What is done about expired links. The engine drops those by itself whose code stays protected, because their items say
 * when (`ttlOf` in rows.ts); that costs nothing and may take it days. The sweep empties the others into tombstones, and
 * removes of the first kind what the engine has left lying for longer than it ever should.
 */
import { inParallel } from '../../../base/in-parallel.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { RemoveItem, UpdateItem } from '../../../engines/dynamodb/expressions.ts';
import type { Link } from '../../link.ts';
import { type AfterExpiry, codeOf, expiryPartitions, linkKey } from './keys.ts';
import { removeLabels } from './labels.ts';
import { editableAttributes, type LinkRow, linkOf } from './rows.ts';

export interface PurgeOptions {
  readonly expiryGraceMs: number;
  /** How long the engine is given to drop what it may. */
  readonly enginePatienceMs: number;
}

const linksAtOnce = 16;

export async function purgeExpired(
  dynamo: Dynamo,
  options: PurgeOptions,
  expiredBefore: number,
  limit: number,
): Promise<number> {
  const emptied = await sweep(dynamo, options, 'emptied', expiredBefore, limit);
  const overdueBefore = expiredBefore - options.enginePatienceMs;
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
    // Refused when it was edited since, or another process was quicker.
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
  const empty: Link = {
    ...linkOf(row),
    longUrl: '',
    status: 'deleted',
    title: null,
    tags: [],
    risk: null,
    expiresAt: null,
    version: version + 1,
  };
  const attributes = Object.entries(editableAttributes(empty, { guards: true, expiryGraceMs: 0 }));
  const absent = attributes.filter(([, value]) => value === undefined).map(([name]) => `#${name}`);
  return {
    update: linkKey(empty.code),
    expression: `SET #status = :deleted, #version = :next REMOVE ${absent.join(', ')}`,
    condition: '#version = :seen',
    values: { deleted: 'deleted', next: version + 1, seen: version },
  };
}
