/**
 * How much room one of everything takes, which hardly depends on the machine: a link in a process's memory, a link in
 * Postgres, and a click in the stream by how many share a frame. docs/scaling.md and `npm run capacity` reckon with it.
 */
import { Client } from 'pg';
import { openPostgresStores } from '../../src/app/postgres.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { ClickBatch } from '../../src/clicks/batch.ts';
import { encodeFrame } from '../../src/clicks/frame.ts';
import { startPostgres } from '../../test/kit/engines/postgres.ts';
import { findPostgres } from '../../test/kit/engines/postgres-programs.ts';
import { generatedBatches, VisitorTruth } from '../kit/generated-clicks.ts';
import { linkMemory } from '../kit/link-memory.ts';
import { codeAt, linkOf, scattered } from '../kit/link-of-size.ts';
import { formatCount, measure } from '../kit/measure.ts';
import type { Scenario } from '../kit/scenario.ts';
import type { Table } from '../kit/table.ts';

const urlSizes = [31, 95, 200];
const linksInMemory = 100_000;
const linksInPostgres = 20_000;
const insertedAtOnce = 1_000;
const frameSizes = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 8_192];
const clicksFramed = 8_192;
const linksClicked = 1e9;
const visitorsPerDay = 1e6;

export const sizes: Scenario = {
  name: 'sizes',
  summary: 'the room that a link and a click take',
  isOnRequest: true,
  async run({ note }) {
    note('links in memory');
    const memory = await memoryTable();
    note('clicks in frames');
    const frames = frameTable();
    note('links in Postgres');
    return { tables: [memory, frames, await postgresTable()] };
  },
};

async function memoryTable(): Promise<Table> {
  const rows = [];
  for (const urlBytes of urlSizes) {
    const { heapBytes, residentBytes } = await linkMemory(urlBytes, linksInMemory);
    rows.push([formatCount(urlBytes), measure(heapBytes), measure(residentBytes)]);
  }
  return {
    title: `Memory of a process by link, ${formatCount(linksInMemory)} of them, each followed`,
    columns: ['bytes of the URL', 'bytes of the heap', 'bytes resident'],
    rows,
    notes: ['With the entry that finds it and the answer that is kept for the next visitor.'],
  };
}

function frameTable(): Table {
  const rows = frameSizes.map(clicks => {
    const { bytes, cpuUs } = inFrames(clicks);
    return [formatCount(clicks), measure(bytes, 1), measure(cpuUs, 1)];
  });
  return {
    title: 'A click in the stream, every one of another link',
    columns: ['clicks in a frame', 'bytes', 'CPU µs'],
    rows,
    notes: ['Links, agents, referrers and places stand once in a frame, so few clicks share their cost.'],
  };
}

function inFrames(clicks: number): { bytes: number; cpuUs: number } {
  const from = systemClock.now();
  const traffic = {
    clicks: clicksFramed,
    from,
    to: from + 1_000,
    visitorsPerDay,
    linkCount: linksClicked,
    linkAt: (index: number) => ({
      code: codeAt(scattered(index)),
      ownerId: `account-${(index % 1_000).toString().padStart(10, '0')}`,
      tags: [],
    }),
  };
  const total = { bytes: 0, clicks: 0, cpuUs: 0 };
  for (const batch of generatedBatches(traffic, 1, new VisitorTruth(visitorsPerDay))) {
    for (let first = 0; first + clicks <= batch.at.length; first += clicks) {
      const part = partOf(batch, first, first + clicks);
      const before = process.cpuUsage();
      total.bytes += encodeFrame('mdw0abcd-0123456789ab/12', part).length;
      const { user, system } = process.cpuUsage(before);
      total.cpuUs += user + system;
      total.clicks += clicks;
    }
  }
  return { bytes: total.bytes / total.clicks, cpuUs: total.cpuUs / total.clicks };
}

/** Some of the clicks, with no more in the lists than they point to. */
function partOf(batch: ClickBatch, from: number, to: number): ClickBatch {
  const pick = <Entry>(column: Uint32Array, list: readonly Entry[]): [Uint32Array, Entry[]] => {
    const used = [...new Set(column.subarray(from, to))];
    const positions = new Map(used.map((old, position) => [old, position]));
    return [column.slice(from, to).map(old => positions.get(old)!), used.map(old => list[old]!)];
  };
  const [link, links] = pick(batch.link, batch.links);
  const [agent, agents] = pick(batch.agent, batch.agents);
  const [referrer, referrers] = pick(batch.referrer, batch.referrers);
  const [place, places] = pick(batch.place, batch.places);
  return {
    firstSequence: batch.firstSequence + from,
    at: batch.at.slice(from, to),
    kind: batch.kind.slice(from, to),
    signal: batch.signal.slice(from, to),
    visitorHigh: batch.visitorHigh.slice(from, to),
    visitorLow: batch.visitorLow.slice(from, to),
    ...{ link, links, agent, agents, referrer, referrers, place, places },
  };
}

async function postgresTable(): Promise<Table> {
  const table = { title: 'Postgres by link', columns: ['bytes of the URL', 'bytes on disk', 'bytes of log'] };
  const found = findPostgres();
  if ('reason' in found) return { ...table, rows: [], notes: [`Left out: ${found.reason}.`] };
  const postgres = await startPostgres({ fsync: false });
  try {
    const rows = [];
    for (const urlBytes of urlSizes) {
      const { diskBytes, logBytes } = await inPostgres(await postgres.freshDatabase(), urlBytes);
      rows.push([formatCount(urlBytes), measure(diskBytes), measure(logBytes)]);
    }
    const notes = [`${formatCount(linksInPostgres)} links in random order of their codes, with all indexes.`];
    return { ...table, rows, notes };
  } finally {
    await postgres.stop();
  }
}

async function inPostgres(url: string, urlBytes: number): Promise<{ diskBytes: number; logBytes: number }> {
  const { links } = await openPostgresStores(url, { clock: systemClock, random: systemRandom });
  const client = new Client({ connectionString: url });
  await client.connect();
  const figure = async (text: string): Promise<number> => Number((await client.query(text)).rows[0].figure);
  const disk = "SELECT pg_total_relation_size('links') AS figure";
  const log = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS figure";
  try {
    const before = [await figure(disk), await figure(log)] as const;
    for (let first = 0; first < linksInPostgres; first += insertedAtOnce) {
      const items = Array.from({ length: insertedAtOnce }, (_, index) => ({
        link: linkOf(codeAt(scattered(first + index)), urlBytes),
        leased: true,
        claim: undefined,
        existing: 'ignored' as const,
        idempotency: undefined,
      }));
      await links.insert(items);
    }
    return {
      diskBytes: ((await figure(disk)) - before[0]) / linksInPostgres,
      logBytes: ((await figure(log)) - before[1]) / linksInPostgres,
    };
  } finally {
    await client.end();
    await links.close();
  }
}
