/**
 * Inserts on their way to the writer thread. A message that is one text costs a third of what the same objects cost, and
 * most inserts need nothing there but the values of their row: their outcome depends on nothing else.
 */
import { isPlain } from '../../store.ts';
import type { RecordedInsert } from '../../trace.ts';
import { type ColumnValue, insertedValues } from '../rows.ts';

export interface PackedInsert {
  readonly values: readonly ColumnValue[];
  /** Undefined for a plain link without tags. */
  readonly item?: RecordedInsert;
}

export function packInserts(items: readonly RecordedInsert[]): string {
  return JSON.stringify(
    items.map(item => {
      const values = insertedValues(item.link, item.leased || item.claim !== undefined);
      const isRow = isPlain(item) && item.records === undefined && item.link.tags.length === 0;
      return isRow ? values : { values, item };
    }),
  );
}

export function readInserts(packed: string): PackedInsert[] {
  const inserts = JSON.parse(packed) as (ColumnValue[] | PackedInsert)[];
  return inserts.map(insert => (Array.isArray(insert) ? { values: insert } : insert));
}
