/** Clicks per link, asked for as rows come into view and kept for a while. */
import { browserClock } from '../../../../base/browser-clock.ts';
import { readTotals, totalsMax } from '../api/links.ts';
import type { LinkTotal } from '../api/types.ts';
import { createStore } from './store.ts';

export const linkTotals = createStore<ReadonlyMap<string, LinkTotal>>(new Map());

/** Rows that come into view within this time are asked for together. */
const gatherMs = 60;
const freshMs = 60_000;

const askedAtMs = new Map<string, number>();
const wanted = new Set<string>();
let isGathering = false;

export function wantTotals(codes: readonly string[]): void {
  const nowMs = browserClock.now();
  for (const code of codes) {
    if (nowMs - (askedAtMs.get(code) ?? Number.NEGATIVE_INFINITY) > freshMs) wanted.add(code);
  }
  if (wanted.size === 0 || isGathering) return;
  isGathering = true;
  browserClock.after(gatherMs, () => void ask());
}

export function forgetTotals(): void {
  askedAtMs.clear();
  linkTotals.set(new Map());
}

async function ask(): Promise<void> {
  const codes = [...wanted].slice(0, totalsMax);
  for (const code of codes) {
    wanted.delete(code);
    askedAtMs.set(code, browserClock.now());
  }
  try {
    const totals = new Map(linkTotals.get());
    for (const total of await readTotals(codes)) totals.set(total.shortCode, total);
    linkTotals.set(totals);
  } catch {
    // A row without its number is still a row; the number is asked for again when it comes into view anew.
    for (const code of codes) askedAtMs.delete(code);
  }
  isGathering = false;
  if (wanted.size > 0) wantTotals([]);
}
