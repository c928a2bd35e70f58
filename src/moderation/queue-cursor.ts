/** A place in the queue as text: when the entry is due, in base 36, and its code. */
import { Problem } from '../base/errors.ts';

export interface QueuePlace {
  readonly place: number;
  readonly code: string;
}

export const queueCursorOf = ({ place, code }: QueuePlace): string => `${place.toString(36)}.${code}`;

export function queuePlaceOf(cursor: string): QueuePlace {
  const [, digits, code] = /^(-?[0-9a-z]{1,11})\.([0-9A-Za-z_-]{1,64})$/.exec(cursor) ?? [];
  const place = Number.parseInt(digits ?? '', 36);
  if (code !== undefined && Number.isSafeInteger(place)) return { place, code };
  throw new Problem('invalid_request', {
    detail: 'This cursor was not given out by Terse.',
    fields: { field: 'cursor' },
  });
}
