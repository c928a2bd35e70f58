/**
 * What a blocklist of a million domains costs: loading it, holding it, asking it, and changing it on disk while it is
 * in force. A `Set` of the same names stands beside it, which is what one would write without a second thought.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createBlocklist, type MatchUrl } from '../../src/abuse/blocklist.ts';
import { compileList, listBytes } from '../../src/abuse/compiled-list.ts';
import { readBlocklist } from '../../src/app/list-reader.ts';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { callerOf } from '../../test/kit/client.ts';
import type { TerseProcess } from '../../test/kit/terse-process.ts';
import { formatCount, measure, measureOf } from '../kit/measure.ts';
import { usageOf } from '../kit/process-usage.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Scenario } from '../kit/scenario.ts';
import type { Cell, Table } from '../kit/table.ts';

const domainCount = 1_000_000;
const questions = 200_000;
const megabyte = 1024 * 1024;
const reloadMaxMs = 20_000;
const idleMs = 1_000;
const key = new Uint8Array(8).fill(7);
const syllables = 'ba ce di fo gu ka le mi no pu ra se ti vo zu shop mail info web net log pay bank'.split(
  ' ',
);
const suffixes = 'com net org info xyz top co.uk com.br de ru in online site'.split(' ');

export const blocklist: Scenario = {
  name: 'blocklist',
  summary: 'a million listed domains: loading, memory, questions, reloading',
  run: ({ options, inFolder, withTerse, note }) =>
    inFolder(async folder => {
      const path = join(folder, 'domains.txt');
      const names = domainNames();
      writeFileSync(path, `${names.join('\n')}\n`);

      note('loading');
      const { loads, idle } = await interleaved(options.rounds, {
        loads: () => pausesDuring(() => readBlocklist(path, key)),
        idle: () => pausesDuring(() => sleep(systemClock, idleMs)),
      });
      const compiled = compileList(names.join('\n'), key);
      const match = createBlocklist([{ name: 'bench', compiled }], key);
      const heapBefore = heapMb();
      const set = new Set(names.map(name => Buffer.from(name).toString('latin1')));
      const setMb = heapMb() - heapBefore;

      note('asking');
      const benign = Array.from(
        { length: questions },
        (_, each) => `https://www.harmless${each}.example.org/page/${each}?q=1`,
      );
      const listed = Array.from(
        { length: questions },
        (_, each) => `https://a.${names[(each * 7) % names.length]}/x`,
      );
      const asked = await interleaved(options.rounds, {
        benign: () => nsPerQuestion(benign, match),
        listed: () => nsPerQuestion(listed, match),
        benignInSet: () => nsPerQuestion(benign, url => inSet(set, url)),
        listedInSet: () => nsPerQuestion(listed, url => inSet(set, url)),
      });

      note('in a server');
      const without = await withTerse({ dataFolder: join(folder, 'without') }, async ({ pid }) =>
        residentMb(pid),
      );
      const server = await withTerse(
        { dataFolder: join(folder, 'with'), env: { TERSE_BLOCKLISTS: path } },
        async terse => {
          const started = residentMb(terse.pid);
          const reloads = [];
          for (let round = 0; round < options.rounds; round += 1) {
            reloads.push(
              await reloading(
                terse,
                path,
                [...names, `added-in-${round}.example`],
                `added-in-${round}.example`,
              ),
            );
          }
          return { started, reloads, reloaded: residentMb(terse.pid) };
        },
      );

      const perSecond = (ns: readonly number[]) => measure(ns.map(each => 1e9 / each));
      const rows: Cell[][] = [
        ['loading, on a thread of its own', measureOf(loads, 'ms'), 'ms'],
        ['  longest pause of the serving thread meanwhile', measureOf(loads, 'pauseMs', 1), 'ms'],
        ['  the same while nothing is loaded', measureOf(idle, 'pauseMs', 1), 'ms'],
        ['memory of the list', measure(listBytes(compiled) / megabyte, 1), 'MiB'],
        ['  the names in a Set', measure(setMb, 1), 'MiB'],
        ['a URL that is not listed', measure(asked.benign), 'ns'],
        ['  questions', perSecond(asked.benign), '/s'],
        ['  the same in a Set', measure(asked.benignInSet), 'ns'],
        ['a URL that is listed', measure(asked.listed), 'ns'],
        ['  the same in a Set', measure(asked.listedInSet), 'ns'],
        ['server without a list, resident', measure(without, 1), 'MiB'],
        ['  with the list, after the start', measure(server.started, 1), 'MiB'],
        [`  after ${options.rounds} reloads`, measure(server.reloaded, 1), 'MiB'],
        ['changed on disk → refused by the API', measure(server.reloads), 'ms'],
      ];
      const table: Table = {
        title: `A blocklist of ${formatCount(domainCount)} domains`,
        columns: ['what', 'figure', 'unit'],
        rows,
        notes: [
          'A question has about three labels to look up. A change is taken once the file looks the same twice.',
        ],
      };
      return { tables: [table] };
    }),
};

function domainNames(): string[] {
  const random = seededRandom(11);
  const draw = (items: readonly string[]): string => items[Math.floor(random.float() * items.length)]!;
  return Array.from({ length: domainCount }, (_, index) => {
    const label = `${draw(syllables)}${draw(syllables)}${draw(syllables)}-${index.toString(36)}`;
    return `${label}.${draw(suffixes)}`;
  });
}

/** A pause is how late a timer of a millisecond fires: what a redirect would have waited. */
async function pausesDuring(work: () => Promise<unknown>): Promise<{ ms: number; pauseMs: number }> {
  let [pauseMs, isWorking] = [0, true];
  const watch = (async () => {
    while (isWorking) {
      const before = performance.now();
      await sleep(systemClock, 1);
      pauseMs = Math.max(pauseMs, performance.now() - before - 1);
    }
  })();
  const startedMs = performance.now();
  await work();
  const ms = performance.now() - startedMs;
  isWorking = false;
  await watch;
  return { ms, pauseMs };
}

async function reloading(
  { url }: TerseProcess,
  path: string,
  names: readonly string[],
  added: string,
): Promise<number> {
  const call = callerOf(url);
  writeFileSync(`${path}.new`, `${names.join('\n')}\n`);
  renameSync(`${path}.new`, path);
  const startedMs = performance.now();
  while (performance.now() - startedMs < reloadMaxMs) {
    const { status } = await call('POST', '/api/v1/links', { body: { longUrl: `https://${added}/` } });
    if (status === 403) return performance.now() - startedMs;
    await sleep(systemClock, 10);
  }
  throw new Error('the changed list did not come into force');
}

function nsPerQuestion(urls: readonly string[], match: MatchUrl | ((url: string) => boolean)): number {
  let found = 0;
  const startedNs = Bun.nanoseconds();
  for (const url of urls) if (match(url)) found += 1;
  const elapsedNs = Bun.nanoseconds() - startedNs;
  if (found !== 0 && found !== urls.length) throw new Error(`${found} of ${urls.length} were found`);
  return elapsedNs / urls.length;
}

/** The plainest way to ask the same question. */
function inSet(names: ReadonlySet<string>, url: string): boolean {
  const { hostname } = new URL(url);
  for (let from = 0; from !== -1; ) {
    if (names.has(hostname.slice(from))) return true;
    const dotAt = hostname.indexOf('.', from);
    from = dotAt === -1 ? -1 : dotAt + 1;
  }
  return false;
}

function heapMb(): number {
  Bun.gc(true);
  return process.memoryUsage.rss() / megabyte;
}

const residentMb = (pid: number): number => usageOf(pid)?.residentMb ?? Number.NaN;
