/** Terse's own account of clicks, and the clicks in its data folder, to check whether everything was counted. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { clickCount } from '../../src/clicks/click.ts';
import { listLogs, readFrames } from '../../src/clicks/logs/embedded.ts';
import { callerOf } from './client.ts';
import { until } from './until.ts';

export interface ClickAccount {
  readonly produced: number;
  readonly recorded: number;
  readonly dropped: number;
  readonly duplicates: number;
  readonly missing: number;
  readonly pending: number;
  readonly settling: boolean;
}

export interface Reconciled {
  readonly totals: ClickAccount;
  readonly drift: number;
  readonly producers: readonly (ClickAccount & { readonly producer: string; readonly alive: boolean })[];
}

export async function reconcileAt(url: string): Promise<Reconciled> {
  const { status, body } = await callerOf(url)('GET', '/api/v1/reconcile');
  if (status !== 200) throw new Error(`reconcile answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

interface ComparedHour {
  readonly hour: string;
  readonly noted: number;
  readonly dropped: number;
  readonly missing: number;
  readonly recorded: number;
  readonly counted: number | null;
  readonly kept: number | null;
  readonly inStream: number | null;
  readonly settling: boolean;
}

export interface AskedAccounts {
  /** Accounts and hours that are called settled and do not add up. */
  readonly faults: readonly unknown[];
  /** How many accounts and hours were called settled, and how many settling. */
  readonly settled: number;
  readonly settling: number;
}

/** Asks for both accounts without a pause until `work` is done, and once more. */
export async function askWhile(url: string, from: string, work: Promise<unknown>): Promise<AskedAccounts> {
  const call = callerOf(url);
  const faults: unknown[] = [];
  let [settled, settling] = [0, 0];
  const judge = (isSettling: boolean, addsUp: boolean, what: unknown): void => {
    if (isSettling) settling += 1;
    else settled += 1;
    if (!isSettling && !addsUp) faults.push(what);
  };
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  for (let isLast = false; !isLast; ) {
    isLast = isOver;
    const { totals, producers } = (await call('GET', `/api/v1/reconcile?from=${from}`)).body as Reconciled;
    for (const each of [totals, ...producers]) {
      const { produced, recorded, dropped, missing, pending } = each;
      judge(each.settling, recorded + dropped + missing + pending === produced, each);
    }
    const { body } = await call('GET', `/api/v1/reconcile/hours?from=${from}&stream=true`);
    for (const hour of body.hours as ComparedHour[]) {
      const { recorded, counted, kept, inStream } = hour;
      judge(
        hour.settling,
        [counted ?? recorded, kept ?? recorded, inStream ?? recorded].every(number => number === recorded),
        hour,
      );
    }
  }
  await over;
  return { faults, settled, settling };
}

const logFolder = (dataFolder: string): string => join(dataFolder, 'clicks');

/** The number of clicks in the log, of all producers. */
export function loggedClicks(dataFolder: string): number {
  const folder = logFolder(dataFolder);
  let clicks = 0;
  for (const partition of listLogs(folder)) {
    for (let position = 0; ; ) {
      const batches = readFrames(folder, partition, position, 4 * 1024 * 1024);
      if (batches.length === 0) break;
      for (const { batch } of batches) clicks += clickCount(batch);
      position = batches.at(-1)!.to;
    }
  }
  return clicks;
}

/** One for every start of every process. */
export function producersIn(dataFolder: string): string[] {
  return readdirSync(join(logFolder(dataFolder), 'heads')).map(name => name.replace(/\.head$/, ''));
}

const settleMaxMs = 120_000;
const settlePollMs = 200;

/**
 * Waits until everything in the log is counted and nothing is pending; returns the account. With `deadProducers` it
 * also waits until that many producers are known to be dead, which takes some seconds of silence.
 */
export async function settledAt(url: string, dataFolder: string, deadProducers = 0): Promise<Reconciled> {
  let account: Reconciled | undefined;
  const isSettled = async (): Promise<boolean> => {
    account = await reconcileAt(url);
    const dead = account.producers.filter(({ alive }) => !alive).length;
    const { recorded, pending } = account.totals;
    return dead >= deadProducers && pending === 0 && recorded === loggedClicks(dataFolder);
  };
  await until('clicks to settle', isSettled, { maxMs: settleMaxMs, everyMs: settlePollMs });
  return account!;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies freely and assert what they find.
export async function statsAt(url: string, path: string): Promise<any> {
  const { status, body } = await callerOf(url)('GET', path);
  if (status !== 200) throw new Error(`${path} answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** Codes of new links of the admin: every other one is tagged `odd`. */
export async function createClickedLinks(url: string, count: number): Promise<string[]> {
  const links = Array.from({ length: count }, (_, index) => ({
    longUrl: `https://example.com/clicked/${index}`,
    tags: index % 2 === 1 ? ['odd'] : [],
  }));
  const { body } = await callerOf(url)('POST', '/api/v1/links/bulk', { body: { links } });
  return body.results.map((result: { link: { shortCode: string } }) => result.link.shortCode);
}
