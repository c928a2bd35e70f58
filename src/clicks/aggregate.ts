/**
 * From batches of clicks to what changes in the warehouse: per scope, the minutes, quarter hours and days it touches.
 * Pure, and independent of how clicks were cut into batches, so that a replay comes to the same numbers.
 */
import { type ClickBatch, clickCount, humanKind, type LinkEntry } from './click.ts';
import { type DimensionName, dimensionNames, dimensions, valuesOf } from './dimensions.ts';
import { Sketch } from './sketch/sketch.ts';
import { tokenOf } from './sketch/token.ts';
import { grainMs, scopeName } from './warehouse.ts';

/** Numbers that add up. */
export interface Counts {
  clicks: number;
  bots: number;
  /** Of the clicks, those that are suspicious. */
  suspicious: number;
}

export interface CountDelta extends Counts {
  readonly visitors: Sketch;
}

export interface DayDelta extends CountDelta {
  readonly dimensions: Readonly<Record<DimensionName, Map<string, number>>>;
}

export interface ScopeDelta extends Counts {
  /** Of a link; null for every other scope and for links without an owner. */
  readonly ownerId: string | null;
  lastClickAt: number;
  readonly minutes: Map<number, CountDelta>;
  readonly quarters: Map<number, CountDelta>;
  readonly days: Map<number, DayDelta>;
}

export type Deltas = Map<string, ScopeDelta>;

export interface AggregateOptions {
  /** Clicks of a link before this time are not counted for the link, because its owner deleted them. */
  readonly forgottenBefore: (code: string) => number;
}

/** Clicks of one link in one minute: the unit in which scopes are updated. */
interface Cell {
  readonly link: number;
  readonly minute: number;
  readonly indexes: number[];
}

export function addToDeltas(deltas: Deltas, batch: ClickBatch, { forgottenBefore }: AggregateOptions): void {
  const listed = listedIn(batch);
  for (const cell of cellsOf(batch)) {
    const entry = batch.links[cell.link]!;
    const forgotten = forgottenBefore(entry.code);
    for (const name of scopesOf(entry)) {
      const indexes =
        name === entry.code ? cell.indexes.filter(index => batch.at[index]! >= forgotten) : cell.indexes;
      if (indexes.length === 0) continue;
      const ownerId = name === entry.code ? entry.ownerId : null;
      const day = addCell(deltaOf(deltas, name, ownerId), batch, { ...cell, indexes }, listed);
      if (name !== entry.code) countLink(day, entry.code, batch, indexes);
    }
  }
}

export function scopesOf({ code, ownerId, tags }: LinkEntry): string[] {
  const names = [scopeName({ kind: 'link', code })];
  if (ownerId === null) return names;
  names.push(scopeName({ kind: 'owner', ownerId }));
  for (const tag of tags) names.push(scopeName({ kind: 'tag', ownerId, tag }));
  return names;
}

function cellsOf(batch: ClickBatch): Iterable<Cell> {
  const cells = new Map<number, Cell>();
  const linkCount = batch.links.length;
  for (let index = 0; index < clickCount(batch); index += 1) {
    const link = batch.link[index]!;
    const minuteNumber = Math.floor(batch.at[index]! / grainMs.minute);
    const key = minuteNumber * linkCount + link;
    const cell = cells.get(key);
    if (cell === undefined) cells.set(key, { link, minute: minuteNumber * grainMs.minute, indexes: [index] });
    else cell.indexes.push(index);
  }
  return cells.values();
}

/** The day that the cell lies in. */
function addCell(
  delta: ScopeDelta,
  batch: ClickBatch,
  { minute, indexes }: Cell,
  listed: readonly ListedValues[],
): DayDelta {
  const startIn = (lengthMs: number): number => Math.floor(minute / lengthMs) * lengthMs;
  const inMinute = countsAt(delta.minutes, minute, emptyCounts);
  const inQuarter = countsAt(delta.quarters, startIn(grainMs.quarter), emptyCounts);
  const inDay = countsAt(delta.days, startIn(grainMs.day), emptyDay);
  let [clicks, suspicious] = [0, 0];
  for (const index of indexes) {
    if (batch.at[index]! > delta.lastClickAt) delta.lastClickAt = batch.at[index]!;
    if (batch.kind[index] !== humanKind) continue;
    clicks += 1;
    if (batch.signal[index] !== 0) suspicious += 1;
    const token = tokenOf(batch.visitorHigh[index]!, batch.visitorLow[index]!);
    inMinute.visitors.addToken(token);
    inQuarter.visitors.addToken(token);
    inDay.visitors.addToken(token);
    countDimensions(inDay, listed, index);
  }
  const counts: Counts = { clicks, bots: indexes.length - clicks, suspicious };
  for (const sum of [delta, inMinute, inQuarter, inDay]) addCounts(sum, counts);
  return inDay;
}

function addCounts(sum: Counts, { clicks, bots, suspicious }: Counts): void {
  sum.clicks += clicks;
  sum.bots += bots;
  sum.suspicious += suspicious;
}

function countLink(
  { dimensions }: DayDelta,
  code: string,
  batch: ClickBatch,
  indexes: readonly number[],
): void {
  const clicks = indexes.filter(index => batch.kind[index] === humanKind).length;
  if (clicks > 0) dimensions.link.set(code, (dimensions.link.get(code) ?? 0) + clicks);
}

/** A dimension's value for each click of a batch. */
interface ListedValues {
  readonly name: DimensionName;
  readonly values: readonly string[];
  readonly positions: Uint32Array;
}

const listedIn = (batch: ClickBatch): ListedValues[] =>
  dimensions
    .filter(({ isOfLinks }) => isOfLinks)
    .map(dimension => ({
      name: dimension.name,
      values: valuesOf(batch, dimension),
      positions: batch[dimension.of],
    }));

function countDimensions(day: DayDelta, listed: readonly ListedValues[], index: number): void {
  for (const { name, values, positions } of listed) {
    const counts = day.dimensions[name];
    const value = values[positions[index]!]!;
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
}

function deltaOf(deltas: Deltas, name: string, ownerId: string | null): ScopeDelta {
  const known = deltas.get(name);
  if (known !== undefined) return known;
  const fresh: ScopeDelta = {
    ownerId,
    clicks: 0,
    bots: 0,
    suspicious: 0,
    lastClickAt: 0,
    minutes: new Map(),
    quarters: new Map(),
    days: new Map(),
  };
  deltas.set(name, fresh);
  return fresh;
}

function countsAt<Counts>(buckets: Map<number, Counts>, start: number, empty: () => Counts): Counts {
  const known = buckets.get(start);
  if (known !== undefined) return known;
  const fresh = empty();
  buckets.set(start, fresh);
  return fresh;
}

const emptyCounts = (): CountDelta => ({ clicks: 0, bots: 0, suspicious: 0, visitors: new Sketch() });

function emptyDay(): DayDelta {
  const dimensions = Object.fromEntries(dimensionNames.map(name => [name, new Map<string, number>()]));
  return { ...emptyCounts(), dimensions: dimensions as DayDelta['dimensions'] };
}
