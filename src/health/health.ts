/**
 * What is known about a link's destination: whether it still answers. It is shown to the owner and does not change the
 * redirect, because a visitor may reach a server that our check did not.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { inParallel } from '../base/in-parallel.ts';
import type { Random } from '../base/random.ts';
import type { Link } from '../links/link.ts';
import { createRecordChanges } from '../records/change-records.ts';
import { put, type RecordKind, type RecordStore } from '../records/record-store.ts';

/** Why there was no answer: the name, the address, the connection, the certificate, the timeout, or HTTP. */
export const noAnswerReasons = [
  'no_such_name',
  'not_public',
  'no_connection',
  'bad_certificate',
  'too_slow',
  'no_http',
] as const;
export type NoAnswerReason = (typeof noAnswerReasons)[number];

export type Outcome =
  | { readonly kind: 'answered'; readonly status: number }
  | { readonly kind: 'unanswered'; readonly reason: NoAnswerReason };

export interface HealthRecord {
  readonly code: string;
  /** The destination that was checked: when a link leads elsewhere by now, its health is unknown. */
  readonly destination: string;
  readonly checkedAt: number;
  /** Since when every check has failed; null when the last one succeeded. */
  readonly failingSince: number | null;
  /** The status of the response; null when there was none. */
  readonly httpStatus: number | null;
  readonly reason: NoAnswerReason | null;
}

export const destinationOf = (longUrl: string): string =>
  createHash('sha256').update(longUrl).digest('base64url').slice(0, 22);

/**
 * Whether a destination is gone or broken. A server that asks for a password, forbids robots, throttles or redirects is
 * up.
 */
export const isFailure = (outcome: Outcome): boolean =>
  outcome.kind === 'unanswered' || outcome.status === 404 || outcome.status === 410 || outcome.status >= 500;

export function recordOf(
  { code, longUrl }: Pick<Link, 'code' | 'longUrl'>,
  outcome: Outcome,
  before: HealthRecord | undefined,
  now: number,
): HealthRecord {
  const destination = destinationOf(longUrl);
  const failedBefore = before?.destination === destination ? before.failingSince : null;
  return {
    code,
    destination,
    checkedAt: now,
    failingSince: isFailure(outcome) ? (failedBefore ?? now) : null,
    httpStatus: outcome.kind === 'answered' ? outcome.status : null,
    reason: outcome.kind === 'unanswered' ? outcome.reason : null,
  };
}

/** Stores the results of checks, and which process has the turn to check. */
export interface HealthStore {
  /** One per code, in their order; undefined where nothing is known. */
  find(codes: readonly string[]): Promise<(HealthRecord | undefined)[]>;
  /** Each replaces the previous result of its link, and expires after `keepMs` unless it is replaced. */
  save(records: readonly HealthRecord[], now: number, keepMs: number): Promise<void>;
  /**
   * Takes or keeps the turn for a runner, until progress is noted again or `turnMs` have passed. Returns the position
   * of the walk; undefined while another runner has the turn.
   */
  takeTurn(runner: string, now: number, turnMs: number): Promise<WalkPosition | undefined>;
  /** Saves the position of the walk. False, and nothing is saved, when another runner has the turn by now. */
  noteTurn(runner: string, position: WalkPosition): Promise<boolean>;
}

/** A walk goes over all links in rounds. */
export interface WalkPosition {
  /** When the round began; 0 before the first. */
  readonly roundAt: number;
  /** Where the next page starts; null when the round is over. */
  readonly cursor: string | null;
}

const walkStart: WalkPosition = { roundAt: 0, cursor: null };

/**
 * The results of checks, and the turn to check, as records that all processes of an installation share.
 * `store.conformance.ts` defines the contract.
 */
export const linkHealthKind: RecordKind<HealthRecord & { readonly keptUntil: number }, never> = {
  name: 'link-health',
  key: ({ code }) => code,
  indexes: {},
  expiresAt: ({ keptUntil }) => keptUntil,
};

export interface Walk extends WalkPosition {
  readonly runner: string;
  readonly turnUntil: number;
}

const walkKey = 'all';

/** One record: where the walk over all links is, and who walks. */
export const healthWalkKind: RecordKind<Walk, never> = {
  name: 'link-health-walk',
  key: () => walkKey,
  indexes: {},
};

const recordsPerWrite = 10;
const writesAtOnce = 2;

export function createHealthStore(records: RecordStore, clock: Clock, random: Random): HealthStore {
  const changes = createRecordChanges(records, clock, random);
  const read = (codes: readonly string[]) => records.getMany(linkHealthKind, codes);
  const readWalk = () => records.get(healthWalkKind, walkKey);

  return {
    async find(codes) {
      return (await read(codes)).map(stored => stored && withoutExpiry(stored.value));
    },
    async save(results, now, keepMs) {
      await inParallel(Math.ceil(results.length / recordsPerWrite), writesAtOnce, async part => {
        const some = results.slice(part * recordsPerWrite, (part + 1) * recordsPerWrite);
        await changes.run(`link health ${some[0]!.code}`, async () => {
          const before = await read(some.map(({ code }) => code));
          const writes = some.map((each, index) =>
            put(linkHealthKind, { ...each, keptUntil: now + keepMs }, before[index]),
          );
          return { answer: undefined, writes };
        });
      });
    },
    takeTurn: (runner, now, turnMs) =>
      changes.run<WalkPosition | undefined>('link health walk', async () => {
        const before = await readWalk();
        if (before !== undefined && before.value.runner !== runner && now < before.value.turnUntil) {
          return { answer: undefined };
        }
        const { roundAt, cursor } = before?.value ?? walkStart;
        const walk = { runner, turnUntil: now + turnMs, roundAt, cursor };
        return { answer: { roundAt, cursor }, writes: [put(healthWalkKind, walk, before)] };
      }),
    noteTurn: (runner, { roundAt, cursor }) =>
      changes.run('link health walk', async () => {
        const before = await readWalk();
        if (before?.value.runner !== runner) return { answer: false };
        return { answer: true, writes: [put(healthWalkKind, { ...before.value, roundAt, cursor }, before)] };
      }),
  };
}

const withoutExpiry = ({
  keptUntil: _keptUntil,
  ...record
}: HealthRecord & { keptUntil: number }): HealthRecord => record;
