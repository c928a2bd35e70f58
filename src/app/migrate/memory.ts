/**
 * An installation in memory: what a dry run takes a target for that is not there yet, and what the tests of the
 * migration itself carry things between.
 */
import type { Transfer } from '../../base/transfer.ts';
import type { MarkCopy } from '../../links/transfer.ts';
import type { Installation, Transfers } from './installation.ts';

export function memoryInstallation(name: string): Installation {
  let saved: { runner: string; text: string } | undefined;
  const { remove: _remove, ...audit } = memoryTransfer('audit');
  const transfers = {
    installation: memoryTransfer('installation'),
    marks: memoryTransfer('marks', (before, after) => {
      const [lower, higher] = [before as MarkCopy | undefined, after as MarkCopy];
      return { ...higher, mark: Math.max(lower?.mark ?? 0, higher.mark) };
    }),
    claims: memoryTransfer('claims'),
    accounts: memoryTransfer('accounts'),
    keys: memoryTransfer('keys'),
    sessions: memoryTransfer('sessions'),
    invitations: memoryTransfer('invitations'),
    links: memoryTransfer('links'),
    answers: memoryTransfer('answers'),
    reviews: memoryTransfer('reviews'),
    reports: memoryTransfer('reports'),
    audit,
    blockEntries: memoryTransfer('blocklist entries'),
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
      async tidyUp() {},
    },
    async close() {},
  };
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
