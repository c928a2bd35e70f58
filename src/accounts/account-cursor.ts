/** Where a list of accounts or keys goes on: behind the one that was shown last. */
import { Problem } from '../base/errors.ts';

export interface AccountPlace {
  readonly createdAt: number;
  readonly id: string;
}

export const cursorOf = ({ createdAt, id }: AccountPlace): string => `${createdAt.toString(36)}.${id}`;

export function placeOf(cursor: string): AccountPlace {
  const [, time, id] = /^([0-9a-z]{1,10})\.([\w-]{1,64})$/.exec(cursor) ?? [];
  if (time !== undefined && id !== undefined) return { createdAt: Number.parseInt(time, 36), id };
  throw new Problem('invalid_request', {
    detail: 'This cursor was not given out by Terse.',
    fields: { field: 'cursor' },
  });
}

export const isBehind = (account: AccountPlace, place: AccountPlace): boolean =>
  account.createdAt > place.createdAt || (account.createdAt === place.createdAt && account.id > place.id);
