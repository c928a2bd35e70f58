/** A stretch of whole hours as it is written on a command line, in UTC: an hour, a day, or from one of them to another. */
import { UsageError } from './command.ts';

export interface HourSpan {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;

export function parseSpan(text: string, now: number): HourSpan {
  const [first = '', last] = text.split('..', 2);
  const { from, to } = unitOf(first);
  if (last === undefined) return { from, to };
  const end = last === '' ? Math.ceil(now / hourMs) * hourMs : unitOf(last).to;
  if (end <= from) throw new UsageError(`${text} ends before it begins`);
  return { from, to: end };
}

/** Lists of a day are counted anew only with all of it. */
export const isOfWholeDays = ({ from, to }: HourSpan): boolean => from % dayMs === 0 && to % dayMs === 0;

function unitOf(text: string): HourSpan {
  const [, day, hour] = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2})(?::00(?::00(?:\.000)?)?)?Z?)?$/.exec(text) ?? [];
  const from = Date.parse(`${day}T${hour ?? '00'}:00:00Z`);
  // A day that does not exist would otherwise be taken for a later one.
  if (Number.isNaN(from) || !new Date(from).toISOString().startsWith(day!))
    throw new UsageError(`${text} must be an hour such as 2026-11-01T10, or a day such as 2026-11-01`);
  return { from, to: from + (hour === undefined ? dayMs : hourMs) };
}
