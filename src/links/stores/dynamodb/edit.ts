/**
 * Changing a link that is there: an edit of the version it saw, and a click counted against its limit. Both are one
 * conditional write, with the entry in the change feed and the trace in the same transaction.
 */
import { sleep } from '../../../base/clock.ts';
import { Problem } from '../../../base/errors.ts';
import type { TransactItem, TransactOutcome } from '../../../engines/dynamodb/dynamodb.ts';
import type { UpdateItem } from '../../../engines/dynamodb/expressions.ts';
import type { Link, LinkStatus } from '../../link.ts';
import type { LinkTrace } from '../../trace.ts';
import { traceItems, type WriteContext } from './context.ts';
import { linkKey } from './keys.ts';
import { addLabels, dropLabels, type LabelledLink } from './labels.ts';
import { editableAttributes, type LinkRow, linkOf } from './rows.ts';

const attemptsMax = 12;
const retryDelayMaxMs = 40;

export async function replaceLink(
  context: WriteContext,
  link: Link,
  trace: LinkTrace | undefined,
): Promise<'replaced' | 'conflict' | 'missing'> {
  const { dynamo, expiryGraceMs } = context;
  const row = await dynamo.get<LinkRow>(linkKey(link.code));
  if (row === undefined) return 'missing';
  if (row.version !== link.version - 1) return 'conflict';
  const stored = linkOf(row);
  const fixed = { place: row.place, guards: row.guards === true, expiryGraceMs };
  const before: LabelledLink = { ...fixed, link: stored };
  // Who made a link, when and how is not for an edit to change.
  const after: LabelledLink = { ...fixed, link: { ...link, ownerId: stored.ownerId, origin: stored.origin } };
  await addLabels(dynamo, before, after);
  const outcome = await attempts(context, async () => {
    const items = [editItem(after), ...(await traceItems(context, trace))];
    const noted = await noteChange(context, link.updatedAt, link.code, items);
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

/** A visitor may go on to a quarantined link, and then it counts. */
const followable = { active: 'active', quarantined: 'quarantined' } satisfies Partial<
  Record<LinkStatus, LinkStatus>
>;
const isFollowable = '#status IN (:active, :quarantined)';

/**
 * A repeat after a lost answer may count a click twice, which lets one visitor too few through and never one too many.
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
    const last = await noteChange(context, at, code, [click('#clicksLeft = :one')]);
    return last.kind === 'done' || undefined;
  });
}

function noteChange(
  { dynamo, changes }: WriteContext,
  at: number,
  code: string,
  items: readonly TransactItem[],
): Promise<TransactOutcome> {
  return changes.note({ at, code, claim: undefined }, entry => dynamo.transact([...items, entry]));
}

/** Until `attempt` gives an answer; undefined says that what it read has changed since. */
async function attempts<Answer>(
  { clock, random }: WriteContext,
  attempt: () => Promise<Answer | undefined>,
): Promise<Answer> {
  for (let count = 1; count <= attemptsMax; count += 1) {
    const answer = await attempt();
    if (answer !== undefined) return answer;
    await sleep(clock, random.float() * retryDelayMaxMs * count);
  }
  throw new Problem('store_unavailable', { detail: 'The link kept changing.' });
}
