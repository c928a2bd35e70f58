import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock, systemClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { createLog } from '../telemetry/log.ts';
import { type Clicks, type ClicksOptions, startClicks } from './start.ts';
import type { Filter } from './warehouse.ts';

let folder: string;
let clicks: Clicks;
/** Questions that reached each thread that answers, in the order in which the threads were started. */
let asked: unknown[][];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-clicks-'));
  asked = [];
  const silent = (): Worker => ({ postMessage() {}, terminate() {} }) as unknown as Worker;
  const options: Partial<ClicksOptions> = {
    stream: 'embedded',
    stats: 'sqlite',
    counts: true,
    dataFolder: folder,
    spillMbMax: 1,
    clock: new ManualClock(),
    waitClock: systemClock,
    random: seededRandom(1),
    log: createLog({ level: 'silent', clock: systemClock, write() {} }),
    threads: {
      click: silent,
      consumer: silent,
      reconcile: silent,
      stats: () => {
        const questions: unknown[] = [];
        asked.push(questions);
        return { ...silent(), postMessage: (message: unknown) => void questions.push(message) } as Worker;
      },
    },
  };
  clicks = startClicks(options as ClicksOptions);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a question without filters never waits for one that reads clicks one by one', () => {
  const filters: Filter[] = [{ dimension: 'country', values: ['DE'], isExcluded: false }];
  const range = { scopes: [], from: 0, to: 1 };
  const query = { ...range, interval: 'day', timeZone: 'UTC', now: 1 } as const;
  const page = { dimension: 'country', offset: 0, limit: 1, search: '' } as const;
  const { reports } = clicks;
  for (const asks of [
    () => reports.stats({ ...query, filters }),
    () => reports.breakdown({ ...range, filters, breakdown: page }),
    () => reports.recent({ ...range, filters, skip: 0, limit: 1 }),
    () => reports.stats({ ...query, filters: [] }),
    () => reports.breakdown({ ...range, filters: [], breakdown: page }),
  ])
    asks().catch(() => undefined);
  const namesOf = (questions: readonly unknown[] | undefined): unknown[] | undefined =>
    questions?.map(question => (question as { name: string }).name);
  expect(asked).toHaveLength(2);
  expect(namesOf(asked[0])).toEqual(['stats', 'breakdown', 'recent']);
  expect(namesOf(asked[1])).toEqual(['stats', 'breakdown']);
});

test('the number of waiting filtered questions is limited, so that others are still admitted', async () => {
  const filters: Filter[] = [{ dimension: 'country', values: ['DE'], isExcluded: false }];
  const query = { scopes: [], from: 0, to: 1, interval: 'day', timeZone: 'UTC', now: 1 } as const;
  const { reports } = clicks;
  for (let waiting = 0; waiting < 16; waiting += 1)
    reports.stats({ ...query, filters }).catch(() => undefined);
  await expect(reports.stats({ ...query, filters })).rejects.toMatchObject({ code: 'overloaded' });
  reports.stats({ ...query, filters: [] }).catch(() => undefined);
  expect(asked.map(questions => questions.length)).toEqual([16, 1]);
});
