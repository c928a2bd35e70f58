/**
 * Logs of edge caches that reach back any number of days, imported by the command as an operator runs it: every day has
 * the clicks that the file has, in each warehouse. A span beyond 49.7 days once wrapped around and landed on wrong days.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createClickedLinks, statsAt } from '../kit/click-account.ts';
import { runTerse } from '../kit/command-line.ts';
import { edgeLogAt } from '../kit/edge-log.ts';
import { sharedClickHouse } from '../kit/engines/clickhouse.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedKafka } from '../kit/engines/kafka.ts';
import { report } from '../kit/report.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

const lengths = [10, 49, 50, 100, 400];
const dayMs = 24 * 60 * 60_000;
const today = Math.floor(Date.now() / dayMs) * dayMs;

/** One to three clicks on each of the days before today, at different times of the day. */
function timesOf(days: number): number[] {
  const times: number[] = [];
  for (let day = 0; day < days; day += 1) {
    const start = today - (days - day) * dayMs;
    for (let click = 0; click <= day % 3; click += 1)
      times.push(start + ((day * 7_919_993 + click * 20_000_003) % dayMs));
  }
  return times.sort((a, b) => a - b);
}

/** How many of the times are on each day, at this offset from UTC. */
function clicksByDay(times: readonly number[], offsetMs: number): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const time of times) {
    const day = new Date(time + offsetMs).toISOString().slice(0, 10);
    counts[day] = (counts[day] ?? 0) + 1;
  }
  return counts;
}

function importConformance(settings: () => Promise<Readonly<Record<string, string>>>): void {
  const dataFolder = temporaryFolder();
  let terse: TerseProcess;
  let codes: string[];

  beforeAll(async () => {
    const env = await settings();
    terse = await startTerseProcess({ dataFolder, env });
    codes = await createClickedLinks(terse.url, lengths.length);
    const logs = lengths.map(days => join(dataFolder, `${days}-days.log`));
    for (const [index, days] of lengths.entries())
      await Bun.write(logs[index]!, edgeLogAt(codes[index]!, timesOf(days), `edge-${days}`));
    // A busy broker may take longer than an import waits; it says so, and can be repeated.
    await until('the import', async () => {
      const command = ['clicks', 'import', ...logs];
      return (await runTerse(command, { env: { TERSE_DATA: dataFolder, ...env } })).exitCode === 0;
    });
  });
  afterAll(async () => {
    await terse?.stop();
    rmSync(dataFolder, { recursive: true, force: true });
  });

  async function countedByDay(code: string, days: number, timeZone: string): Promise<Record<string, number>> {
    const from = new Date(today - (days + 500) * dayMs).toISOString();
    const { series } = await statsAt(
      terse.url,
      `/api/v1/links/${code}/stats?from=${from}&timeZone=${timeZone}`,
    );
    const counts: Record<string, number> = {};
    for (const { start, clicks } of series) {
      // The middle of a day is on that day in UTC too.
      const day = new Date(Date.parse(start) + dayMs / 2).toISOString().slice(0, 10);
      if (clicks > 0) counts[day] = clicks;
    }
    return counts;
  }

  test.each(lengths)('a log of %d days has the clicks of the file on every day', async days => {
    const code = codes[lengths.indexOf(days)]!;
    const times = timesOf(days);
    await until('every click to be counted', async () => {
      const { links } = await statsAt(terse.url, `/api/v1/stats/links?codes=${code}`);
      return links[0].clicks >= times.length;
    });
    expect(await countedByDay(code, days, 'UTC')).toEqual(clicksByDay(times, 0));
    const kathmandu = clicksByDay(times, 5.75 * 60 * 60_000);
    expect(await countedByDay(code, days, 'Asia/Kathmandu')).toEqual(kathmandu);
    report(`a log of ${days} days: ${times.length} clicks on the days of the file`);
  });
}

describe('imported logs, counted in SQLite', () => importConformance(async () => ({})));

describeWithEngine('kafka', 'imported logs through Kafka', () =>
  describeWithEngine('clickhouse', 'counted in ClickHouse', () =>
    importConformance(async () => ({
      TERSE_STREAM: (await sharedKafka()).freshTopicUrl(),
      TERSE_STATS: (await sharedClickHouse()).freshDatabaseUrl(),
    })),
  ),
);
