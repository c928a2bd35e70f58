/**
 * The pauses of garbage collection, from the runtime's own log (`BUN_JSC_logGC=1`). A collection works concurrently in
 * several steps and stops the program for a moment in each of them; every thread has a separate heap.
 */
import { measure } from './measure.ts';
import type { Cell } from './table.ts';

export const gcLogSettings = { BUN_JSC_logGC: '1' } as const;

export interface HeapPauses {
  /** The name of the heap in the log; the first heap in the log is that of the first thread. */
  readonly heap: string;
  readonly young: number;
  readonly full: number;
  /** One for each time the program was stopped. */
  readonly pausesMs: readonly number[];
}

const line = /\[GC<(0x[0-9a-f]+)>: (.*)/g;

export function readGcLog(text: string): HeapPauses[] {
  const heaps = new Map<string, { young: number; full: number; pausesMs: number[] }>();
  for (const [, heap = '', rest = ''] of text.matchAll(line)) {
    const pauses = heaps.get(heap) ?? { young: 0, full: 0, pausesMs: [] };
    heaps.set(heap, pauses);
    if (rest.includes('=> EdenCollection')) pauses.young += 1;
    if (rest.includes('=> FullCollection')) pauses.full += 1;
    for (const [, ms] of rest.matchAll(/ p=([\d.]+)ms/g)) pauses.pausesMs.push(Number(ms));
  }
  return [...heaps].map(([heap, pauses]) => ({ heap, ...pauses }));
}

export const gcColumns = [
  'collections/s',
  'of them full',
  'pauses/s',
  'p99 ms',
  'longest ms',
  'of the time %',
];

/** The figures for `gcColumns` of one heap during so many seconds. */
export function gcCells({ young, full, pausesMs }: HeapPauses, durationS: number): Cell[] {
  const sorted = pausesMs.toSorted((a, b) => a - b);
  const totalMs = sorted.reduce((sum, ms) => sum + ms, 0);
  return [
    measure((young + full) / durationS, 1),
    measure(full),
    measure(pausesMs.length / durationS, 1),
    measure(sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0, 2),
    measure(sorted.at(-1) ?? 0, 2),
    measure(totalMs / durationS / 10, 2),
  ];
}
