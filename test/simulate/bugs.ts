/**
 * Bugs of kinds that this project, or one like it, has had, planted one at a time to see that the simulator finds them.
 * Each is a wrong answer of a simulated engine: product code has no switch for it.
 */
import type { LinkStore } from '../../src/links/store.ts';
import type { Kernel } from './kernel.ts';

export const plantedBugs = {
  'lost-answer-is-not-done': 'a write whose answer was lost is reported as not done',
  'acknowledged-before-durable': 'a link is acknowledged that the database then loses',
  'alias-overwritten': 'a second claim of an alias is acknowledged too',
  'leased-twice': 'two processes lease the same codes',
  'feed-skips': 'the change feed passes over entries',
  'stale-replica': 'a read returns a record from long before its last change',
  'fence-is-ignored': 'the shared cache accepts the result of a slow read after a change',
  'key-stays': 'a revoked key is still found',
  'no-fsync': 'what was appended is acknowledged before it is synced',
  'spill-stays': 'what a dead process spilled is not taken over',
  'counted-twice': 'a batch is counted again after its position was lost',
} as const;

export type PlantedBug = keyof typeof plantedBugs;

export const bugs = new Set<PlantedBug>();

const rarely = 0.05;
const staleMs = 20_000;

/** The links of the database, with the bugs that are planted in it. */
export function withBugs(links: LinkStore, kernel: Kernel): LinkStore {
  const leases: Awaited<ReturnType<LinkStore['leaseRange']>>[] = [];
  const first = new Map<
    string,
    { readonly atMs: number; readonly link: Awaited<ReturnType<LinkStore['find']>> }
  >();
  return {
    ...links,
    async insert(items) {
      if (bugs.has('acknowledged-before-durable') && kernel.chance(rarely))
        return items.map(() => ({ kind: 'inserted' }));
      const outcomes = await links.insert(items);
      if (!bugs.has('alias-overwritten')) return outcomes;
      return outcomes.map(outcome => (outcome.kind === 'taken' ? { kind: 'inserted' } : outcome));
    },
    async leaseRange(...wanted) {
      const earlier = leases.at(-1);
      if (bugs.has('leased-twice') && earlier !== undefined && kernel.chance(0.3)) return earlier;
      const lease = await links.leaseRange(...wanted);
      leases.push(lease);
      return lease;
    },
    async changes(afterSeq, limit) {
      const page = await links.changes(afterSeq, limit);
      return bugs.has('feed-skips') ? { ...page, changes: [] } : page;
    },
    async find(code) {
      const link = await links.find(code);
      const seen = first.get(code);
      if (seen === undefined || kernel.nowMs - seen.atMs > staleMs)
        first.set(code, { atMs: kernel.nowMs, link });
      else if (bugs.has('stale-replica')) return seen.link;
      return link;
    },
  };
}
