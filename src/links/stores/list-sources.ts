/** Which states of links have an index of their own in every engine. */
import type { ListFilter } from '../store.ts';
import { statusNumber } from './rows.ts';

/** What few links are. */
export const heldOrDisabled = ['disabled', 'quarantined', 'blocked'] as const;

/** The status on disk that a state is, where time and clicks have no say in it. */
export function storedStatusOf({ state }: ListFilter): number | undefined {
  const stored = heldOrDisabled.find(each => each === state);
  return stored && statusNumber(stored);
}
