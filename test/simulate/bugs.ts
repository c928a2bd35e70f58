/**
 * Typical bugs, planted one at a time to check that the simulator finds them. Each is a wrong answer of a simulated
 * engine, so product code has no switches for them.
 */
import type { LinkStore } from '../../src/links/store.ts';
import type { FaultKind } from './faults.ts';
import type { Kernel } from './kernel.ts';

/** A bug, and the violation by which it must be found. */
export interface BugToFind {
  readonly what: string;
  readonly violation: RegExp;
  /** Limits runs to these faults, for a bug that shows only under them. */
  readonly faults?: readonly FaultKind[];
}

const isLost =
  /was acknowledged and (is not stored|is not there|answered 404)|has a click limit and answered 404/;
const isStale = /answered \d+ .* it was elsewhere|leads to .* after healing/;

export const plantedBugs = {
  'lost-answer-is-not-done': {
    what: 'a write whose answer was lost is reported as not done',
    violation: /answered as not done, and is stored|it was elsewhere/,
  },
  'acknowledged-before-durable': {
    what: 'a link is acknowledged that the database then loses',
    violation: isLost,
  },
  'alias-overwritten': {
    what: 'a second claim of an alias is acknowledged too',
    violation: /the code .* was given out twice|it was elsewhere/,
  },
  'leased-twice': {
    what: 'two processes lease the same codes',
    violation: /the code .* was given out twice|it was elsewhere/,
  },
  'feed-skips': {
    what: 'the change feed passes over entries',
    // Also about an alias that is still cached as missing.
    violation: /answered \d+ .* it was elsewhere|leads to .* after healing|was acknowledged and answered 404/,
  },
  'stale-replica': {
    what: 'a read returns a record from long before its last change',
    violation: /answered 404|it was elsewhere|leads to .* after healing/,
  },
  'fence-is-ignored': {
    what: 'the shared cache accepts the result of a slow read after a change, and half of them are slow',
    violation: isStale,
  },
  'message-is-empty': {
    what: 'messages of changes arrive without the codes that changed',
    violation: isStale,
    // Only a process that has lost the database for seconds, and not Redis, depends on messages.
    faults: ['cut-database'],
  },
  'key-stays': {
    what: 'a revoked key is still found',
    violation: /the key .* was accepted .* after it was revoked/,
  },
  'idempotency-is-forgotten': {
    what: 'the record of an Idempotency-Key is not found',
    violation: /was made twice under one key/,
  },
  'click-limit-is-ignored': {
    what: 'a click is allowed beyond the limit',
    violation: /was followed \d+ times, at most/,
  },
  'expiry-is-lost': { what: 'a link is stored without its expiry', violation: /it had expired/ },
  'pending-record-is-lost': {
    what: 'Redis acknowledges the record of a queued link and does not have it',
    violation: isLost,
  },
  'click-is-not-noted': {
    what: 'a redirect is not passed to the recorder',
    violation: /redirected clients \d+ times and noted/,
  },
  'no-fsync': {
    what: 'what was appended is acknowledged before it is synced',
    violation: /noted \d+ clicks and lost/,
    // Only a power cut shows it, a moment after a write.
    faults: ['power-cut'],
  },
  'spill-stays': {
    what: 'what a dead process spilled is not taken over',
    violation: /noted \d+ clicks and lost|clicks are still spilled/,
  },
  'counted-twice': {
    what: 'a batch is counted again after its position was lost',
    violation: /was followed \d+ times and has|noted \d+ clicks, and \d+ were counted/,
  },
  'merge-loses-run': {
    what: 'a merge of clicks loses some of what it merged',
    violation: /links have \d+ clicks, the ledger|has \d+ clicks and \d+ of bots in all|no click was counted/,
  },
} satisfies Readonly<Record<string, BugToFind>>;

export type PlantedBug = keyof typeof plantedBugs;

export const bugs = new Set<PlantedBug>();

/** The faults to which planted bugs limit a run, if the installation has them. */
export function faultsThatShow(kinds: readonly FaultKind[]): readonly FaultKind[] {
  const wanted = [...bugs].flatMap(bug => (plantedBugs[bug] as BugToFind).faults ?? []);
  const shown = kinds.filter(kind => wanted.includes(kind));
  return shown.length === 0 ? kinds : shown;
}

/** Whether the violation is expected from the planted bugs; without planted bugs, every violation is. */
export const isExpected = (violation: string): boolean =>
  bugs.size === 0 || [...bugs].some(bug => plantedBugs[bug].violation.test(violation));

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
    async insert(given) {
      if (bugs.has('acknowledged-before-durable') && kernel.chance(rarely))
        return given.map(() => ({ kind: 'inserted' }));
      const outcomes = await links.insert(
        given.map(item => ({
          ...item,
          ...(bugs.has('idempotency-is-forgotten') && { idempotency: undefined }),
          ...(bugs.has('expiry-is-lost') && { link: { ...item.link, expiresAt: null } }),
        })),
      );
      if (!bugs.has('alias-overwritten')) return outcomes;
      return outcomes.map(outcome => (outcome.kind === 'taken' ? { kind: 'inserted' } : outcome));
    },
    useClick: (code, at) =>
      bugs.has('click-limit-is-ignored') ? Promise.resolve(true) : links.useClick(code, at),
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
