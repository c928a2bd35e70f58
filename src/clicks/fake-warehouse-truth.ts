/** Clicks as a warehouse receives them, and the expected counts, computed in the simplest way. */
import { type SampleClick, sampleBatch } from './batch-samples.ts';
import type { LogBatch } from './log.ts';
import { type Bucket, type Grain, grainMs, type Scope } from './warehouse.ts';

export const link = (code: string): Scope => ({ kind: 'link', code });

/** Batches of one partition, one after the other. */
export function partition(name: string, clicks: readonly SampleClick[], batchSize: number): LogBatch[] {
  const batches: LogBatch[] = [];
  for (let start = 0; start < clicks.length; start += batchSize) {
    const batch = sampleBatch(start + 1, clicks.slice(start, start + batchSize));
    batches.push({ partition: name, from: start, to: start + batchSize, producer: name, batch });
  }
  return batches;
}

export const inScope =
  (scope: Scope) =>
  (click: SampleClick): boolean => {
    if (scope.kind === 'link') return click.code === scope.code;
    if (click.ownerId !== scope.ownerId) return false;
    return scope.kind === 'owner' || (click.tags?.includes(scope.tag) ?? false);
  };

export function truth(clicks: readonly SampleClick[], grain: Grain): Bucket[] {
  const buckets = new Map<number, { clicks: number; bots: number; suspicious: number }>();
  for (const { at, kind, signal = 'none' } of clicks) {
    const start = Math.floor(at / grainMs[grain]) * grainMs[grain];
    const bucket = buckets.get(start) ?? { clicks: 0, bots: 0, suspicious: 0 };
    if (kind === 'human') bucket.clicks += 1;
    else bucket.bots += 1;
    if (kind === 'human' && signal !== 'none') bucket.suspicious += 1;
    buckets.set(start, bucket);
  }
  return [...buckets].sort(([a], [b]) => a - b).map(([start, counts]) => ({ start, ...counts }));
}
