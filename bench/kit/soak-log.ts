/**
 * Records a long load from both sides, interval by interval: the visitors' results, and the server's memory and
 * backlog. Each interval is a line in a file before the next begins, so that an interrupted soak loses at most one.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClickAccount, reconcileAt } from '../../test/kit/click-account.ts';
import type { Moment, OnMoment } from './client-plan.ts';
import { formatCount } from './measure.ts';
import { usageOf } from './process-usage.ts';
import type { LoadedServer } from './server-load.ts';
import { machineTime, stolenPercent } from './stolen-time.ts';

export interface SoakSample {
  readonly atS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly failed: number;
  readonly residentMb: number;
  readonly anonymousMb: number;
  readonly mappedMb: number;
  /** Uncounted clicks, as the seconds of load that they correspond to. */
  readonly behindS: number;
  /** What others on the same hardware took of the machine, in percent. */
  readonly stolenPercent: number;
  /** Since the start of the server. */
  readonly dropped: number;
}

export interface SoakLogOptions {
  readonly folder: string;
  readonly server: LoadedServer;
  readonly perSecond: number;
  note(text: string): void;
}

export interface SoakLog {
  readonly onMoment: OnMoment;
  /** Resolves with all samples after the last interval. */
  close(): Promise<readonly SoakSample[]>;
}

const unknownUsage = { residentMb: Number.NaN, anonymousMb: Number.NaN, mappedMb: Number.NaN };
const unknownAccount = { pending: Number.NaN, dropped: Number.NaN };

export function startSoakLog({ folder, server, perSecond, note }: SoakLogOptions): SoakLog {
  const path = join(folder, `soak-${new Date().toISOString().replaceAll(':', '-')}.ndjson`);
  note(`each stretch is written to ${path}`);
  const samples: SoakSample[] = [];
  let timeBefore = machineTime();
  const look = async (moment: Moment): Promise<void> => {
    const timeNow = machineTime();
    const { residentMb, anonymousMb, mappedMb } = usageOf(server.pid) ?? unknownUsage;
    // A soak should find a server that does not answer, and keep the other figures.
    const { pending, dropped }: Pick<ClickAccount, 'pending' | 'dropped'> = await reconcileAt(
      server.url,
    ).then(
      ({ totals }) => totals,
      () => unknownAccount,
    );
    const { atS, p50Ms, p99Ms, maxMs, refused, broken, gaveUp } = moment;
    const sample: SoakSample = {
      ...{ atS, p50Ms, p99Ms, maxMs, residentMb, anonymousMb, mappedMb, dropped },
      failed: refused + broken + gaveUp,
      behindS: pending / perSecond,
      stolenPercent: stolenPercent(timeBefore, timeNow),
    };
    timeBefore = timeNow;
    samples.push(sample);
    appendFileSync(path, `${JSON.stringify(sample)}\n`);
    if (Math.round(atS) % 60 === 0) note(progressOf(sample));
  };
  let looking: Promise<void> = Promise.resolve();
  return {
    onMoment(moment) {
      looking = looking.then(() => look(moment));
    },
    async close() {
      await looking;
      return samples;
    },
  };
}

function progressOf(sample: SoakSample): string {
  const { atS, p50Ms, p99Ms, maxMs, residentMb, anonymousMb, mappedMb, behindS, dropped, failed } = sample;
  const stolen = `${sample.stolenPercent.toFixed(1)} % of the machine taken by others`;
  const minute = `minute ${Math.round(atS / 60)}`;
  const waits = `p50 ${p50Ms.toFixed(2)}, p99 ${p99Ms.toFixed(2)}, longest ${maxMs.toFixed(1)} ms`;
  const memory = `${formatCount(residentMb)} MiB (${formatCount(anonymousMb)} its own, ${formatCount(mappedMb)} of files)`;
  const clicks = `${behindS.toFixed(1)} s not yet counted, ${formatCount(dropped)} dropped`;
  return `${minute}: ${waits}; ${memory}; ${clicks}; ${failed} not served; ${stolen}`;
}
