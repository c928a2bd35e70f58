/** Results in memory, for tests and for whoever keeps links there, too. */
import type { HealthRecord } from '../health.ts';
import { type HealthStore, type WalkPosition, walkStart } from '../store.ts';

export function createMemoryHealthStore(): HealthStore {
  const records = new Map<string, { record: HealthRecord; until: number }>();
  let position: WalkPosition = walkStart;
  let turn = { runner: '', until: 0 };
  return {
    find: async codes => codes.map(code => records.get(code)?.record),
    async save(saved, now, keepMs) {
      for (const [code, { until }] of records) if (until < now) records.delete(code);
      for (const record of saved) records.set(record.code, { record, until: now + keepMs });
    },
    async takeTurn(runner, now, turnMs) {
      if (turn.runner !== runner && now < turn.until) return undefined;
      turn = { runner, until: now + turnMs };
      return position;
    },
    async noteTurn(runner, noted) {
      if (turn.runner !== runner) return false;
      position = noted;
      return true;
    },
    async close() {},
  };
}
