/**
 * Creating links. A plain link with a leased code is one conditional write. Everything else is one transaction, in
 * which each guarantee has its own item: the link is new, the id is neither leased nor claimed, the request was not
 * answered before, no other caller created a link to this URL. The items that failed decide the answer, or that the
 * insert should be tried again.
 */

import { type Clock, sleep } from '../../../base/clock.ts';
import { isInDoubt, maybeDone, notDone, Problem, withOutcome } from '../../../base/errors.ts';
import { inParallel } from '../../../base/in-parallel.ts';
import type { Random } from '../../../base/random.ts';
import type { Dynamo, TransactItem } from '../../../engines/dynamodb/dynamodb.ts';
import { isNew } from '../../../engines/dynamodb/expressions.ts';
import { recordItems } from '../../../records/drivers/dynamodb.ts';
import { isLeased } from '../../leased-spans.ts';
import { isSameLink, type Link } from '../../link.ts';
import { type InsertItem, type InsertOutcome, isPlain } from '../../store.ts';
import type { LinkTrace, TraceWrites } from '../../trace.ts';
import type { ChangeWriter } from './feed.ts';
import { linkKey, type Places } from './keys.ts';
import { answerItem, findSameUrl, guardItem, recall } from './lookups.ts';
import { claimItem, readSpans } from './ranges.ts';
import { itemOf, type LabelledLink, type LinkRow, linkOf, removeLabels, writeLabels } from './rows.ts';

type PartName = 'link' | 'claim' | 'answer' | 'guard' | 'trace';
type Part = readonly [name: PartName, item: TransactItem];

/** Concurrent items of one call: enough to keep the engine busy, and few enough for other calls. */
const itemsAtOnce = 64;
const attemptsMax = 12;
const retryDelayMaxMs = 40;

/** Each item is written on its own, so some may be stored when the engine fails: each reports its outcome. */
export async function insertLinks(
  context: WriteContext,
  items: readonly InsertItem[],
): Promise<InsertOutcome[]> {
  const outcomes: InsertOutcome[] = [];
  const problems: Problem[] = [];
  await inParallel(items.length, itemsAtOnce, async position => {
    try {
      // After a failure nothing more is started: each would wait for its own deadline.
      if (problems.length > 0) throw withOutcome(problems[0], 'none');
      outcomes[position] = await insertOne(context, items[position]!);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problems.push(error);
      outcomes[position] = { kind: 'failed', problem: error };
    }
  });
  if (items.length > 0 && problems.length === items.length) throw problems.find(isInDoubt) ?? problems[0];
  return outcomes;
}

async function insertOne(context: WriteContext, item: InsertItem): Promise<InsertOutcome> {
  if (isPlain(item)) return insertPlain(context, item);
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const outcome = await attemptInsert(context, item);
    if (outcome !== undefined) return outcome;
    await sleep(context.clock, context.random.float() * retryDelayMaxMs * (attempt + 1));
  }
  throw new Problem('store_unavailable', {
    detail: 'Too many requests for the same link at once.',
    outcome: 'none',
  });
}

async function insertPlain(context: WriteContext, item: InsertItem): Promise<InsertOutcome> {
  const { dynamo } = context;
  const labelled = labelledLink(context, item);
  await writeLabels(dynamo, labelled).catch(notDone);
  if (await dynamo.write({ put: itemOf(item.link, labelled), condition: isNew })) return { kind: 'inserted' };
  // The answer to our own write may have been lost, and its retry is rejected.
  const holder = await dynamo.get<LinkRow>(linkKey(item.link.code)).catch(maybeDone);
  if (holder?.place === labelled.place) return { kind: 'inserted' };
  await removeLabels(dynamo, labelled);
  return { kind: 'taken' };
}

/** Undefined when the data it read changed in the meantime. */
async function attemptInsert(context: WriteContext, item: InsertItem): Promise<InsertOutcome | undefined> {
  const { dynamo, clock, changes } = context;
  const { link, leased, claim, existing, idempotency, trace, event } = item;
  const [earlier, spans, same] = await Promise.all([
    idempotency && recall(dynamo, idempotency),
    claim && readSpans(dynamo, claim.length),
    existing === 'same-url' ? findSameUrl(dynamo, link.ownerId, link.longUrl, link.createdAt) : undefined,
  ]);
  if (earlier !== undefined) return { kind: 'replayed', ...earlier };
  if (same?.found !== undefined) return foundInstead(context, item, same.found);
  if (claim !== undefined && isLeased(spans!, claim.id)) return taken(context, item);

  const labelled = labelledLink(context, item);
  const parts: Part[] = [['link', { put: itemOf(link, labelled), condition: isNew }]];
  if (claim !== undefined) parts.push(['claim', claimItem(claim)]);
  if (idempotency !== undefined)
    parts.push(['answer', answerItem(idempotency, 'created', link, clock.now())]);
  if (same !== undefined) parts.push(['guard', guardItem(link, same.guardedCode, clock.now())]);
  for (const traced of await traceItems(context, trace)) parts.push(['trace', traced]);

  await writeLabels(dynamo, labelled).catch(notDone);
  const items = parts.map(([, part]) => part);
  // Other processes learn of leased codes by the mark; any other code may be cached as missing somewhere.
  const change = { at: link.createdAt, code: link.code, claim, event: event && { type: event, link } };
  const outcome =
    leased && event === undefined
      ? await dynamo.transact(items)
      : await changes.note(change, entries => dynamo.transact([...items, ...entries]));
  if (outcome.kind === 'done') return { kind: 'inserted' };
  await removeLabels(dynamo, labelled);
  const refused = new Set(outcome.failed.map(position => parts[position]?.[0]));
  if (refused.has('answer') || refused.has('guard')) return undefined;
  return refused.has('link') || refused.has('claim') ? taken(context, item) : undefined;
}

/** A code derived from the URL may be taken by the very link that is requested. */
async function taken(context: WriteContext, item: InsertItem): Promise<InsertOutcome | undefined> {
  if (item.existing !== 'same-code') return { kind: 'taken' };
  const row = await context.dynamo.get<LinkRow>(linkKey(item.link.code));
  const holder = row && linkOf(row);
  if (holder === undefined || !isSameLink(holder, item.link)) return { kind: 'taken' };
  return foundInstead(context, item, holder);
}

async function foundInstead(
  { dynamo, clock }: WriteContext,
  { idempotency }: InsertItem,
  link: Link,
): Promise<InsertOutcome | undefined> {
  if (idempotency !== undefined) {
    const isFirst = await dynamo.write(answerItem(idempotency, 'found', link, clock.now()));
    if (!isFirst) return undefined;
  }
  return { kind: 'found', link };
}

function labelledLink(
  { places, expiryGraceMs }: WriteContext,
  { link, leased, claim }: InsertItem,
): LabelledLink {
  const place = places.take(link.createdAt, link.code);
  return { link, place, guards: !leased && claim === undefined, expiryGraceMs };
}

/** What the writes of links share, and the items that a trace adds to their transactions. */
export interface WriteContext {
  readonly dynamo: Dynamo;
  readonly clock: Clock;
  readonly random: Random;
  readonly places: Places;
  readonly changes: ChangeWriter;
  readonly traceWrites: TraceWrites;
  /** How long an expired link is kept, so that its visitors get a 410. */
  readonly expiryGraceMs: number;
}

export async function traceItems(
  { traceWrites, clock }: WriteContext,
  trace: LinkTrace | undefined,
): Promise<TransactItem[]> {
  return trace === undefined ? [] : recordItems(await traceWrites(trace), clock.now());
}
