/**
 * An installation as a migration sees it: parts to walk, and a place to store its progress. Each engine
 * makes one (`open-installation.ts`); the rest of this folder knows no engine.
 */
import { columnsOf, type ProgressNotes, type Transfer } from '../../base/transfer.ts';
import type { LinkTransfers, MarkCopy } from '../../links/transfer.ts';
import type { RecordCopy } from './record-transfer.ts';

export type Transfers = LinkTransfers & { readonly records: Transfer<RecordCopy> };

export interface Installation {
  /** Engine and place without secrets; the same place always has the same name. */
  readonly name: string;
  readonly transfers: Transfers;
  readonly notes: ProgressNotes;
  /** The tables of an earlier version that must have been imported; `formerTables` by default. */
  readonly imports?: readonly string[];
  close(): Promise<void>;
}

/** The order of copying: first what codes depend on, and each record after what it belongs to. */
export const partsInOrder = (of: Transfers): readonly Transfer[] => [
  of.installation,
  of.marks,
  of.claims,
  of.links,
  of.answers,
  of.records,
];

/** The migration cannot begin or continue. The message is one line that says what to do. */
export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused';
}

/**
 * An installation in memory: it stands in for a missing target in a dry run, and for both sides in the tests of the
 * migration itself.
 */
export function memoryInstallation(name: string): Installation {
  let saved: { runner: string; text: string } | undefined;
  const transfers = {
    installation: memoryTransfer('installation'),
    marks: memoryTransfer('marks', (before, after) => {
      const [lower, higher] = [before as MarkCopy | undefined, after as MarkCopy];
      return { ...higher, mark: Math.max(lower?.mark ?? 0, higher.mark) };
    }),
    claims: memoryTransfer('claims'),
    links: memoryTransfer('links'),
    answers: memoryTransfer('answers'),
    records: recordsTransfer(),
  };
  return {
    name,
    transfers: transfers as Transfers,
    notes: {
      load: async () => saved?.text,
      async take(runner, text) {
        saved = { runner, text };
      },
      async save(runner, text) {
        if (saved?.runner !== runner) return false;
        saved = { runner, text };
        return true;
      },
    },
    async close() {},
  };
}

/** Append-only records stay, as on every engine. */
function recordsTransfer(): Transfer {
  const records = memoryTransfer('records');
  return { ...records, isRemovable: key => columnsOf(key)[0] !== 'audit' };
}

function memoryTransfer(
  part: string,
  merge: (before: unknown, after: unknown) => unknown = (_before, after) => after,
): Transfer & Required<Pick<Transfer, 'remove'>> {
  const values = new Map<string, unknown>();
  const recordOf = (key: string) => ({ key, value: values.get(key) });
  return {
    part,
    async page(cursor, limit) {
      const keys = [...values.keys()].sort().filter(key => cursor === undefined || key > cursor);
      const page = keys.slice(0, limit);
      return { records: page.map(recordOf), next: keys.length > limit ? page.at(-1) : undefined };
    },
    read: async keys => keys.filter(key => values.has(key)).map(recordOf),
    async write(records) {
      for (const { key, value } of records) values.set(key, merge(values.get(key), value));
    },
    async remove(keys) {
      for (const key of keys) values.delete(key);
    },
  };
}
