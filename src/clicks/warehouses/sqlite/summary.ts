/**
 * What a question without filters needs to know of a scope with many clicks in a run, so that it does not go over all of
 * them: counts by the minute, lists and visitors by the quarter hour and of the whole day.
 *
 * A list has at most `valuesMax` values a day, the most frequent ones; the rest is counted as `(other)`. While a summary
 * is made, a list that grows far beyond that is cut to its more frequent half, again and again. So a value that came more
 * than once in 2,048 clicks is listed whatever else came, no value has more clicks than it had, and what was never cut is
 * exact.
 */

import { visitKinds } from '../../click.ts';
import { type DimensionName, dimensionNames } from '../../dimensions.ts';
import { Sketch } from '../../sketch/sketch.ts';
import { grainMs, otherValue, valuesMax } from '../../warehouse.ts';
import { fieldsOf, isHuman, kindIn, listDimensions, type Rows } from './chunk.ts';
import { packText, unpackText } from './columns.ts';

export const slotCount = grainMs.day / grainMs.quarter;
export const minuteCount = grainMs.day / grainMs.minute;
const slotOf = (at: number): number => Math.floor(at / grainMs.quarter);
const minutesPerSlot = grainMs.quarter / grainMs.minute;

/** While a list is made. */
const listedMax = 4_096;
/** Combinations of values that are counted together before they are counted one by one. */
const combinationsMax = 1_024;

const countedLists = ['agent', 'referrer', 'place', 'visit'] as const;
type CountedList = (typeof countedLists)[number];

/** A summary as it is stored; parts are read only where they are needed. */
export interface SummaryRow {
  /** When the last click came, and of each minute with clicks: the minute, clicks, bots, suspicious. */
  readonly minutes: Uint8Array;
  readonly whole: Uint8Array;
  readonly slots: Uint8Array;
  readonly visitors: Uint8Array;
  readonly slot_visitors: Uint8Array;
}

/** Values and how often each came on the day. */
export type WholeLists = Partial<
  Record<DimensionName, { readonly values: string[]; readonly clicks: number[] }>
>;
/** For each dimension, of each of the values above in order: slot, clicks, slot, clicks, … */
export type SlotLists = Partial<Record<DimensionName, number[][]>>;

export class SummaryBuilder {
  readonly #minutes = new Uint32Array(minuteCount * 3);
  /** In milliseconds of the day. */
  #last = 0;
  readonly #visitors: (Sketch | undefined)[] = new Array(slotCount).fill(undefined);
  readonly #lists = new Map<DimensionName, SlotCounts>(dimensionNames.map(name => [name, new SlotCounts()]));
  readonly #bots = this.#lists.get('bot')!;
  readonly #combinations = Object.fromEntries(countedLists.map(name => [name, new Combinations()])) as Record<
    CountedList,
    Combinations
  >;
  readonly #places = new Map<Rows, Record<CountedList, Int32Array>>();
  #recent: { readonly rows: Rows; readonly places: Record<CountedList, Int32Array> } | undefined;

  /** How many values it holds. */
  get size(): number {
    let size = 0;
    for (const list of this.#lists.values()) size += list.size;
    for (const name of countedLists) size += this.#combinations[name].size;
    return size;
  }

  add(rows: Rows, from: number, to: number): void {
    const { at, kind, token, codes } = rows;
    const minutes = this.#minutes;
    const places = this.#placesOf(rows);
    let people = 0;
    for (let index = from; index < to; index += 1) {
      const time = at[index]!;
      const byte = kind[index]!;
      const minute = Math.floor(time / grainMs.minute) * 3;
      if (time > this.#last) this.#last = time;
      const slot = slotOf(time);
      if (!isHuman(byte)) {
        minutes[minute + 1]! += 1;
        this.#bots.add(visitKinds[kindIn(byte)]!, slot, 1);
        continue;
      }
      people += 1;
      minutes[minute]! += 1;
      if (byte !== 0) minutes[minute + 2]! += 1;
      let visitors = this.#visitors[slot];
      if (visitors === undefined) {
        visitors = new Sketch();
        this.#visitors[slot] = visitors;
      }
      visitors.addToken(token[index]!);
    }
    if (people === 0) return;
    for (const name of countedLists) {
      const combinations = this.#combinations[name];
      const [column, known, entries] = [codes[name], places[name], rows.lists[name]];
      for (let index = from; index < to; index += 1) {
        if (!isHuman(kind[index]!)) continue;
        const entry = column[index]!;
        let place = known[entry]!;
        if (place < 0) {
          place = combinations.placeOf(entries[entry]!);
          known[entry] = place;
        }
        combinations.counts[place * slotCount + slotOf(at[index]!)]! += 1;
      }
      if (combinations.size > combinationsMax) this.#countValues(name);
    }
  }

  /** All clicks of a link, for the list of links of an owner or a tag. A link comes once. */
  addLink({
    code,
    rows,
    from,
    to,
  }: {
    readonly code: string;
    readonly rows: Rows;
    readonly from: number;
    readonly to: number;
  }): void {
    const { kind, at } = rows;
    let people = 0;
    for (let index = from; index < to; index += 1) if (isHuman(kind[index]!)) people += 1;
    if (people === 0) return;
    const { bySlot } = this.#lists.get('link')!.placeOnce(code, people);
    for (let index = from; index < to; index += 1)
      if (isHuman(kind[index]!)) bySlot[slotOf(at[index]!)]! += 1;
  }

  addLinkSlots(code: string, bySlot: Uint32Array): void {
    const people = sumOf(bySlot);
    if (people === 0) return;
    const listed = this.#lists.get('link')!.placeOnce(code, people);
    for (let slot = 0; slot < slotCount; slot += 1) listed.bySlot[slot]! += bySlot[slot]!;
  }

  /** All of a summary that was made before. */
  addSummary(row: SummaryRow): void {
    const { last, minutes } = readMinutes(row);
    this.#last = Math.max(this.#last, last);
    for (let index = 0; index < minutes.length; index += 4)
      for (let field = 0; field < 3; field += 1)
        this.#minutes[minutes[index]! * 3 + field]! += minutes[index + 1 + field]!;
    const [whole, slots] = [readWhole(row), readSlots(row)];
    for (const name of dimensionNames) {
      const list = this.#lists.get(name)!;
      for (const [index, value] of (whole[name]?.values ?? []).entries()) {
        const pairs = slots[name]![index]!;
        for (let at = 0; at < pairs.length; at += 2) list.add(value, pairs[at]!, pairs[at + 1]!);
      }
    }
    for (const { slot, visitors } of readSlotVisitors(row)) {
      const known = this.#visitors[slot];
      if (known === undefined) this.#visitors[slot] = Sketch.from(visitors);
      else known.merge(Sketch.from(visitors));
    }
  }

  /** `keepsMinutes` is false once there are only quarter hours. */
  finish(keepsMinutes: boolean): SummaryRow {
    for (const name of countedLists) this.#countValues(name);
    const whole: WholeLists = {};
    const slots: SlotLists = {};
    for (const [name, list] of this.#lists) {
      if (list.size === 0) continue;
      const values = list.finish();
      whole[name] = { values: values.map(({ value }) => value), clicks: values.map(({ clicks }) => clicks) };
      slots[name] = values.map(({ bySlot }) => pairsOf(bySlot));
    }
    const day = new Sketch();
    const parts: Uint8Array[] = [];
    for (const [slot, visitors] of this.#visitors.entries()) {
      if (visitors === undefined) continue;
      day.merge(visitors);
      const bytes = visitors.toBytes();
      const head = new Uint8Array(5);
      head[0] = slot;
      new DataView(head.buffer).setUint32(1, bytes.length, true);
      parts.push(head, bytes);
    }
    return {
      minutes: packText(
        JSON.stringify([this.#last, ...this.#minuteCounts(keepsMinutes ? 1 : minutesPerSlot)]),
      ),
      whole: packText(JSON.stringify(whole)),
      slots: packText(JSON.stringify(slots)),
      visitors: day.toBytes(),
      slot_visitors: new Uint8Array(Buffer.concat(parts)),
    };
  }

  #minuteCounts(step: number): number[] {
    const counts: number[] = [];
    for (let minute = 0; minute < minuteCount; minute += step) {
      const sums = [0, 0, 0];
      for (let index = minute * 3; index < (minute + step) * 3; index += 1)
        sums[index % 3]! += this.#minutes[index]!;
      if (sums[0]! + sums[1]! > 0) counts.push(minute, ...sums);
    }
    return counts;
  }

  /** From combinations to their values. */
  #countValues(name: CountedList): void {
    const { entries, counts } = this.#combinations[name].take();
    const lists = listDimensions[name].map(dimension => this.#lists.get(dimension.name)!);
    for (const [place, entry] of entries.entries()) {
      const bySlot = counts.subarray(place * slotCount, (place + 1) * slotCount);
      const fields = fieldsOf(entry);
      for (const [index, list] of lists.entries()) list.addAll(fields[index] ?? '', bySlot);
    }
    for (const places of this.#places.values()) places[name].fill(-1);
  }

  #placesOf(rows: Rows): Record<CountedList, Int32Array> {
    if (this.#recent?.rows === rows) return this.#recent.places;
    let places = this.#places.get(rows);
    if (places === undefined) {
      // Chunks that were gone over do not come again.
      if (this.#places.size >= 64) this.#places.clear();
      places = Object.fromEntries(
        countedLists.map(name => [name, new Int32Array(rows.lists[name].length).fill(-1)]),
      ) as Record<CountedList, Int32Array>;
      this.#places.set(rows, places);
    }
    this.#recent = { rows, places };
    return places;
  }
}

class Combinations {
  counts = new Uint32Array(64 * slotCount);
  #places = new Map<string, number>();

  get size(): number {
    return this.#places.size;
  }

  placeOf(entry: string): number {
    const known = this.#places.get(entry);
    if (known !== undefined) return known;
    const place = this.#places.size;
    this.#places.set(entry, place);
    if ((place + 1) * slotCount > this.counts.length) {
      const wider = new Uint32Array(this.counts.length * 2);
      wider.set(this.counts);
      this.counts = wider;
    }
    return place;
  }

  take(): { readonly entries: string[]; readonly counts: Uint32Array } {
    const taken = { entries: [...this.#places.keys()], counts: this.counts };
    this.#places = new Map();
    this.counts = new Uint32Array(64 * slotCount);
    return taken;
  }
}

interface ListedValue {
  readonly value: string;
  clicks: number;
  readonly bySlot: Uint32Array;
}

/** How often values came, by slot, in bounded space. */
class SlotCounts {
  readonly #values = new Map<string, ListedValue>();
  readonly #other: ListedValue = { value: otherValue, clicks: 0, bySlot: new Uint32Array(slotCount) };
  /** What came more often than this was never cut. */
  #floor = 0;

  get size(): number {
    return this.#values.size;
  }

  add(value: string, slot: number, clicks: number): void {
    const listed = this.#listed(value);
    listed.clicks += clicks;
    listed.bySlot[slot]! += clicks;
  }

  addAll(value: string, bySlot: Uint32Array): void {
    const clicks = sumOf(bySlot);
    if (clicks > 0) addTo(this.#listed(value), clicks, bySlot);
  }

  /** For a value that comes no second time: what would be cut anyway takes no place. */
  placeOnce(value: string, clicks: number): ListedValue {
    const listed = clicks <= this.#floor && !this.#values.has(value) ? this.#other : this.#listed(value);
    listed.clicks += clicks;
    return listed;
  }

  /** The most frequent first. */
  finish(): ListedValue[] {
    this.#cutTo(valuesMax);
    const values = [...this.#values.values()].sort((a, b) => b.clicks - a.clicks);
    return this.#other.clicks === 0 ? values : [...values, this.#other];
  }

  #listed(value: string): ListedValue {
    if (value === otherValue) return this.#other;
    const known = this.#values.get(value);
    if (known !== undefined) return known;
    if (this.#values.size >= listedMax) this.#cutTo(listedMax / 2);
    const fresh = { value, clicks: 0, bySlot: new Uint32Array(slotCount) };
    this.#values.set(value, fresh);
    return fresh;
  }

  #cutTo(count: number): void {
    if (this.#values.size <= count) return;
    const byClicks = [...this.#values.values()].sort(
      (a, b) => b.clicks - a.clicks || (a.value < b.value ? -1 : 1),
    );
    for (const cut of byClicks.slice(count)) {
      this.#values.delete(cut.value);
      addTo(this.#other, cut.clicks, cut.bySlot);
    }
    this.#floor = byClicks[count]!.clicks;
  }
}

function sumOf(bySlot: Uint32Array): number {
  let sum = 0;
  for (let slot = 0; slot < slotCount; slot += 1) sum += bySlot[slot]!;
  return sum;
}

function addTo(listed: ListedValue, clicks: number, bySlot: Uint32Array): void {
  listed.clicks += clicks;
  for (let slot = 0; slot < slotCount; slot += 1) listed.bySlot[slot]! += bySlot[slot]!;
}

function pairsOf(bySlot: Uint32Array): number[] {
  const pairs: number[] = [];
  for (let slot = 0; slot < slotCount; slot += 1) if (bySlot[slot]! > 0) pairs.push(slot, bySlot[slot]!);
  return pairs;
}

/** Minutes with their three counts, one after the other. */
export function readMinutes(row: Pick<SummaryRow, 'minutes'>): {
  readonly last: number;
  readonly minutes: number[];
} {
  const [last = 0, ...minutes] = JSON.parse(unpackText(row.minutes)) as number[];
  return { last, minutes };
}

export const readWhole = ({ whole }: Pick<SummaryRow, 'whole'>): WholeLists => JSON.parse(unpackText(whole));
export const readSlots = ({ slots }: Pick<SummaryRow, 'slots'>): SlotLists => JSON.parse(unpackText(slots));

export function* readSlotVisitors({
  slot_visitors: bytes,
}: Pick<SummaryRow, 'slot_visitors'>): Generator<{ readonly slot: number; readonly visitors: Uint8Array }> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length; ) {
    const length = view.getUint32(at + 1, true);
    yield { slot: bytes[at]!, visitors: bytes.subarray(at + 5, at + 5 + length) };
    at += 5 + length;
  }
}
