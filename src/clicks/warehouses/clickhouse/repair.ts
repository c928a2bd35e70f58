/**
 * Puts a stretch of time, counted on the side, in the place of what was counted of it. The clicks of the stretch are counted
 * into tables that nobody reads, while others count on. Then comes a moment in which nobody counts: a new generation takes
 * over all that there is, which costs next to nothing because the files are shared and not copied, the stretch is
 * taken out of it and the other one put in, and one row puts the generation in force.
 *
 * Until that row is written everybody reads and writes the old tables, and whatever stops this leaves them as they were.
 * If the moment does not hold, because somebody counted all the same, it is tried again.
 */
import { Problem } from '../../../base/errors.ts';
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import type { CountingPause } from '../../counting-pause.ts';
import type { SpanReplay } from '../../replay.ts';
import type { Counter } from './count.ts';
import { serverTime } from './deletions.ts';
import type { Generations } from './generations.ts';
import { keepClicks } from './retention.ts';
import { Side } from './side.ts';
import { forgetLinks, replaceSpan, takeOver } from './take-over.ts';

export interface RepairTools {
  readonly clickHouse: ClickHouse;
  readonly generations: Generations;
  readonly counter: Counter;
  readonly clickDays: number;
  readonly positions: () => Promise<ReadonlyMap<string, number>>;
}

/** How often a replay runs after those who count before it makes them wait. */
const roundsMax = 5;
const attemptsMax = 3;

export async function repairSpan(
  tools: RepairTools,
  replay: SpanReplay,
  pause: CountingPause,
): Promise<number> {
  const { clickHouse, generations, counter, positions } = tools;
  await generations.ready();
  await generations.dropAbandoned();
  const begunAt = await serverTime(clickHouse);
  const before = await generations.refreshed();
  const aside = await generations.make();
  const side = new Side(counter, aside);
  try {
    for (let round = 0; round < roundsMax && !replay.hasReached(await positions()); round += 1)
      await side.add(replay.upTo(await positions()));
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      if (await exchange(tools, { replay, pause, side, before, begunAt, fresh: aside + attempt }))
        return side.clicks;
    }
    throw new Problem('stats_unavailable', {
      detail: 'Clicks are counted without a pause, so nothing was repaired; try again.',
    });
  } finally {
    await generations.drop(aside).catch(() => undefined);
  }
}

interface Exchange {
  readonly replay: SpanReplay;
  readonly pause: CountingPause;
  readonly side: Side;
  readonly before: number;
  readonly fresh: number;
  /** When counting on the side began, by the server's clock. */
  readonly begunAt: number;
}

/** True when the new generation is in force. */
async function exchange(
  { clickHouse, generations, clickDays, positions }: RepairTools,
  { replay, pause, side, before, fresh, begunAt }: Exchange,
): Promise<boolean> {
  await generations.make(fresh);
  await keepClicks(clickHouse, fresh, clickDays);
  /** Nobody knows whether the new generation is in force, so it must not be dropped. */
  let isInDoubt = false;
  let lookedAt = begunAt;
  try {
    const isInForce = await pause.during(
      async () => {
        lookedAt = await serverTime(clickHouse);
        await side.add(replay.upTo(await positions()));
        await takeOver(clickHouse, before, fresh, replay.span);
      },
      async () => {
        // What was deleted while it was counted on the side, and below, while it was taken over.
        const except = await forgottenSince(clickHouse, begunAt, lookedAt);
        await replaceSpan(clickHouse, { fresh, aside: side.generation, span: replay.span, except });
        await side.noteHours(clickHouse, fresh);
        await forgetLinks(clickHouse, fresh, await forgottenSince(clickHouse, lookedAt));
        if ((await generations.refreshed()) !== before)
          throw new Problem('stats_unavailable', { detail: 'Somebody else has counted everything anew.' });
        isInDoubt = true;
        await generations.putInForce(fresh);
        isInDoubt = false;
      },
    );
    if (!isInForce) await generations.drop(fresh).catch(() => undefined);
    else await generations.drop(before).catch(() => undefined);
    return isInForce;
  } catch (error) {
    if (!isInDoubt) await generations.drop(fresh).catch(() => undefined);
    throw error;
  }
}

async function forgottenSince(
  clickHouse: ClickHouse,
  from: number,
  to = Number.MAX_SAFE_INTEGER,
): Promise<string[]> {
  const rows = await clickHouse.rows<{ code: string }>(`
    SELECT DISTINCT code FROM forgotten
    WHERE toUnixTimestamp64Milli(noted) >= ${from} AND toUnixTimestamp64Milli(noted) < ${to}`);
  return rows.map(({ code }) => code);
}
