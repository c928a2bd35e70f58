/**
 * Migrates an installation from one store to another while the source keeps serving. Everything is copied once, then
 * rounds compare both sides and copy what has changed since, until little is left to do. A final round runs when nothing
 * writes to the source any more; it copies the rest and must find both sides equal.
 *
 * Invariant: the target is marked finished only after a round that read both sides to the end and came
 * to the same counts and checksums.
 */
import { type AuditEntry, auditDaysMin } from '../../audit/audit-entry.ts';
import { auditKind } from '../../audit/audit-log.ts';
import { type Clock, stayAlive } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { idempotencyWindowMs } from '../../links/create.ts';
import type { AnswerCopy, MarkCopy } from '../../links/transfer.ts';
import { admit, type Progress } from './admission.ts';
import { type Installation, MigrationRefused, partsInOrder } from './installation.ts';
import { type Comparison, compareParts, copyAll, type Part, plainPart } from './part.ts';
import { isUnexpired, type RecordCopy } from './record-transfer.ts';
import { RetryPolicy } from './retry-policy.ts';

export interface MigrateOptions {
  readonly source: Installation;
  readonly target: Installation;
  readonly clock: Clock;
  readonly random: Random;
  /** Nothing writes to the source any more: the round that ends the migration. */
  readonly isFinal: boolean;
  readonly isDryRun: boolean;
  readonly recordsPerS?: number | undefined;
  readonly tell: (line: string) => void;
}

export type Migrated =
  | { readonly kind: 'tried' }
  | { readonly kind: 'following'; readonly differences: number }
  | { readonly kind: 'finished'; readonly comparisons: readonly Comparison[] };

/**
 * How far the target's marks are set beyond those of a source that is still in use: its processes may lease that many
 * ids more before both sides could issue the same one.
 */
export const markDistance = 10_000_000;

const followingRoundsMax = 10;
/** So few that the final round copies them very quickly. */
const fewDifferences = 1_000;
const finalRoundsMax = 3;

export async function migrate(options: MigrateOptions): Promise<Migrated> {
  const { source, target, clock, isFinal, isDryRun, tell } = options;
  const release = stayAlive();
  try {
    const progress = await admit(source, target, clock.now());
    if (progress.phase === 'finished') {
      const when = new Date(progress.finishedAt ?? 0).toISOString();
      tell(`This migration was finished and verified at ${when}; there is nothing left to do.`);
      return { kind: 'finished', comparisons: [] };
    }
    const work = new Migration(options, progress);
    if (isDryRun) return await work.tryOut();
    await work.begin();
    await work.copy();
    return isFinal ? await work.finish() : await work.follow();
  } finally {
    release();
  }
}

class Migration {
  readonly #options: MigrateOptions;
  readonly #runner: string;
  readonly #retry: RetryPolicy;
  readonly #reporter: ProgressReporter;
  #progress: Progress;

  constructor(options: MigrateOptions, progress: Progress) {
    this.#options = options;
    this.#runner = options.random.bytes(16).toHex();
    this.#retry = new RetryPolicy(options.clock, options.recordsPerS);
    this.#reporter = new ProgressReporter(options.clock, options.tell);
    this.#progress = progress;
  }

  async tryOut(): Promise<Migrated> {
    const { source, target, tell } = this.#options;
    for (const part of this.#parts()) {
      let records = 0;
      const counted = { ...part, target: { ...part.target, write: async () => {} } };
      await copyAll(counted, undefined, this.#retry, async count => {
        records += count;
        await this.#afterPage(part, count);
      });
      tell(`${part.name}: ${records.toLocaleString('en')}`);
    }
    const would = this.#progress.part === undefined ? 'would be copied' : 'would go on being copied';
    tell(`All of this ${would} from ${source.name} to ${target.name}; nothing was written.`);
    return { kind: 'tried' };
  }

  async begin(): Promise<void> {
    const { target, tell, source } = this.#options;
    const isResumed = this.#progress.part !== undefined || this.#progress.phase !== 'copying';
    tell(`${isResumed ? 'Going on' : 'Copying'} from ${source.name} to ${target.name}.`);
    await this.#retry.run(() => target.notes.take(this.#runner, JSON.stringify(this.#progress)));
  }

  /** Copies everything once, from where an earlier run was interrupted. */
  async copy(): Promise<void> {
    if (this.#progress.phase !== 'copying') return;
    const parts = this.#parts();
    const first = Math.max(
      0,
      parts.findIndex(({ name }) => name === this.#progress.part),
    );
    for (const [index, part] of parts.entries()) {
      if (index < first) continue;
      const start = index === first ? this.#progress.cursor : undefined;
      let copied = 0;
      await copyAll(part, start, this.#retry, async (records, next) => {
        await this.#save(next === undefined ? this.#before(parts[index + 1]) : this.#before(part, next));
        copied += records;
        await this.#afterPage(part, records);
      });
      this.#options.tell(`copied ${copied.toLocaleString('en')} ${part.name}`);
    }
  }

  /** Runs rounds until few differences are left, or no fewer than the source makes during a round. */
  async follow(): Promise<Migrated> {
    let before = Number.POSITIVE_INFINITY;
    let differences = 0;
    for (let round = 1; round <= followingRoundsMax; round += 1) {
      differences = differencesIn(await this.#compare(round));
      if (differences <= fewDifferences || differences * 2 > before) break;
      before = differences;
    }
    return { kind: 'following', differences };
  }

  async finish(): Promise<Migrated> {
    let comparisons: Comparison[] = [];
    for (let round = 1; round <= finalRoundsMax; round += 1) {
      comparisons = await this.#compare(round);
      if (comparisons.some(({ isEqual }) => !isEqual)) continue;
      await this.#save({ ...this.#progress, phase: 'finished', finishedAt: this.#options.clock.now() });
      return { kind: 'finished', comparisons };
    }
    const { source } = this.#options;
    const parts = comparisons.flatMap(({ part, isEqual }) => (isEqual ? [] : part)).join(', ');
    throw new MigrationRefused(
      differencesIn(comparisons) === 0
        ? `the target has more than was copied (${parts}): choose an empty target`
        : `both sides still differ (${parts}): ${source.name} is being written to; stop that, and run this again`,
    );
  }

  async #compare(round: number): Promise<Comparison[]> {
    const comparisons = await compareParts(this.#parts(), this.#retry, async (part, records) => {
      await this.#requireTurn();
      await this.#afterPage(part, records);
    });
    const written = comparisons.reduce((sum, comparison) => sum + comparison.written, 0);
    const removed = comparisons.reduce((sum, comparison) => sum + comparison.removed, 0);
    const compared = comparisons.reduce((sum, { source }) => sum + source.count, 0);
    this.#options.tell(
      `round ${round}: compared ${compared.toLocaleString('en')} records, carried over ${written.toLocaleString('en')}, removed ${removed.toLocaleString('en')}`,
    );
    return comparisons;
  }

  #parts(): readonly Part[] {
    const { source, target, isFinal, clock } = this.#options;
    const now = clock.now();
    const { marks, answers, records } = source.transfers;
    const targets = partsInOrder(target.transfers);
    return partsInOrder(source.transfers).map((transfer, index) => {
      const part = plainPart(transfer, targets[index]!);
      if (transfer === marks) return markPart(part, isFinal ? 0 : markDistance);
      if (transfer === answers) {
        return { ...part, isCurrent: value => (value as AnswerCopy).createdAt >= now - idempotencyWindowMs };
      }
      if (transfer === records) {
        return {
          ...part,
          isCurrent: value => isUnexpired(value as RecordCopy, now),
          mayVanish: value => isOldRoutine(value as RecordCopy, now),
        };
      }
      return part;
    });
  }

  /** The progress to save before a page of a part is copied, or when none is left. */
  #before(part: Part | undefined, cursor?: string): Progress {
    const { part: _part, cursor: _cursor, ...rest } = this.#progress;
    if (part === undefined) return { ...rest, phase: 'following' };
    return { ...rest, part: part.name, ...(cursor !== undefined && { cursor }) };
  }

  async #afterPage(part: Part, records: number): Promise<void> {
    this.#reporter.count(part.name, records);
    await this.#retry.pace(records);
  }

  async #save(progress: Progress): Promise<void> {
    const { notes } = this.#options.target;
    if (!(await this.#retry.run(() => notes.save(this.#runner, JSON.stringify(progress))))) {
      throw new MigrationRefused('another process has taken this migration over');
    }
    this.#progress = progress;
  }

  /** Two runners at once would overwrite each other with outdated pages. */
  #requireTurn(): Promise<void> {
    return this.#save(this.#progress);
  }
}

/** A mark is only ever raised: the target's must be at least `distance` above the source's. */
function markPart(part: Part, distance: number): Part {
  const raised = (value: unknown): MarkCopy => {
    const { length, first, mark } = value as MarkCopy;
    const end = Math.min(62 ** length, Number.MAX_SAFE_INTEGER);
    return { length, first, mark: Math.max(mark, Math.min(mark + distance, end)) };
  };
  return {
    ...part,
    outgoing: raised,
    suffices: (source, target) => (target as MarkCopy).mark >= raised(source).mark,
  };
}

/** Old enough that a server with any setting may have deleted it. */
function isOldRoutine({ kind, value }: RecordCopy, now: number): boolean {
  if (kind !== auditKind().name) return false;
  const { isRoutine, at } = value as AuditEntry;
  return isRoutine && at < now - auditDaysMin * 24 * 60 * 60 * 1_000;
}

const differencesIn = (comparisons: readonly Comparison[]): number =>
  comparisons.reduce((sum, { written, removed }) => sum + written + removed, 0);

const everyMs = 5_000;

/** Reports the progress of a long walk from time to time, so that the operator sees it move. */
class ProgressReporter {
  readonly #clock: Clock;
  readonly #print: (line: string) => void;
  #part = '';
  #records = 0;
  #reportedMs: number;
  #reportedRecords = 0;

  constructor(clock: Clock, tell: (line: string) => void) {
    this.#clock = clock;
    this.#print = tell;
    this.#reportedMs = clock.monotonicMs();
  }

  count(part: string, records: number): void {
    if (part !== this.#part) {
      this.#part = part;
      this.#records = 0;
      this.#reportedRecords = 0;
    }
    this.#records += records;
    const nowMs = this.#clock.monotonicMs();
    const passedMs = nowMs - this.#reportedMs;
    if (passedMs < everyMs) return;
    const perS = Math.round(((this.#records - this.#reportedRecords) / passedMs) * 1_000);
    this.#print(`${part} ${this.#records.toLocaleString('en')} (${perS.toLocaleString('en')} a second)`);
    this.#reportedMs = nowMs;
    this.#reportedRecords = this.#records;
  }
}
