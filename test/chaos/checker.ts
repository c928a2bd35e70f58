/**
 * Judges the history of a chaos run. It is independent of the product: it uses the requests and answers of clients, the
 * faults, and the documented bounds. An operation with an unknown outcome may have taken effect at any time after it
 * began, or never; an answer that is wrong in every such case is a violation.
 */
import { type ClickTotals, checkClicks } from './click-rules.ts';
import type {
  Change,
  Create,
  Fault,
  HistoryEvent,
  KeyOperation,
  Operation,
  StatsRead,
  Visit,
} from './history.ts';
import { checkChange, checkCreates, checkLink, checkVisit, linksOf, type Write } from './link-rules.ts';
import { bounds, Reachability } from './reachability.ts';
import type { Objection, Violation } from './violation.ts';

export interface FaultRow {
  readonly name: string;
  readonly operations: number;
  readonly failed: number;
  /** Operations whose client itself was late, whether they failed or not. */
  readonly delayed: number;
  /**
   * From the end of the fault to the beginning of the last operation that failed before one of its kind succeeded again,
   * at any process.
   */
  readonly recoveryMs: number;
  /** Operations that failed after others of their kind had succeeded again. */
  readonly failedLater: number;
  /** Whether the next fault came later than the bound on recovery. */
  readonly isRecoveryChecked: boolean;
}

export interface Verdict {
  readonly violations: readonly Violation[];
  readonly faults: readonly FaultRow[];
  /** By kind: operations, those that failed, and those without a definite outcome. */
  readonly operations: ReadonlyMap<string, { all: number; failed: number; unknown: number }>;
  /** For each acknowledged change, how much later the last redirect to the old destination began. */
  readonly stalenessMs: { readonly calm: readonly number[]; readonly faulty: readonly number[] };
  readonly links: number;
  readonly clicks: ClickTotals;
  /** The latest use of a revoked key that was accepted, after the revocation. */
  readonly revokedUsedMs: number;
}

/** After a fault has ended, everything works again within this time. */
export const recoveryMaxMs = 15_000;
/** On a machine short of CPU time a few operations miss their deadline without any fault. */
const strayShareMax = 0.01;
const strayMax = 2;
/**
 * The failures of a client this late prove nothing about the server: connections to clients and engines pass through
 * the same event loop, and a server waits a second for its store.
 */
const delayedMs = 250;

export function check(events: readonly HistoryEvent[]): Verdict {
  const run = events.find(event => event.type === 'run');
  if (run === undefined) throw new Error('the history does not say which run it is of');
  const operations = events.filter(event => event.type === 'operation');
  const faults = events.filter(event => event.type === 'fault').sort((a, b) => a.startMs - b.startMs);
  const account = events.find(event => event.type === 'clicks');
  const reachability = new Reachability(faults, run.isolatedMs);
  const violations: Violation[] = [];
  const object: Objection = (rule, { startMs: atMs }, what) => void violations.push({ rule, atMs, what });

  const creates = operations.filter(isCreate);
  const changes = operations.filter(isChange);
  const visits = operations.filter(isVisit);
  const links = linksOf(creates, changes, visits);
  checkCreates(creates, object);
  const obeyed = new Map<Write, number>();
  for (const [code, link] of links) {
    for (const write of [...link.destinations.slice(1), ...link.states.slice(1)])
      if (write.isOk) obeyed.set(write, 0);
    checkLink(code, link, object);
    for (const visit of link.visits) checkVisit(code, link, visit, run.wallMs, reachability, obeyed, object);
  }
  for (const change of changes) checkChange(change, links.get(change.code)!, object);
  const clicks = checkClicks(visits, operations.filter(isStats), faults, account, object);
  const revokedUsedMs = checkKeys(operations.filter(isKey), reachability, object);
  for (const operation of operations) {
    const { kind, process, status = 200 } = operation;
    const isExpected = status < 400 || status === 503 || (status < 500 && !neverRejected.includes(kind));
    if (!isExpected) object('unexpected-answer', operation, `${kind} at process ${process}: ${status}`);
  }
  const rows = faults.map((fault, n) =>
    rowOf(fault, faults[n + 1]?.startMs, operations, run.processes, object),
  );
  const staleness = [...obeyed].map(([change, ms]) => ({
    ms,
    isCalm: reachability.isCalm(change.endMs, change.endMs + ms),
  }));
  return {
    violations,
    faults: rows,
    operations: talliesOf(operations),
    stalenessMs: {
      calm: staleness.filter(({ isCalm }) => isCalm).map(({ ms }) => ms),
      faulty: staleness.filter(({ isCalm }) => !isCalm).map(({ ms }) => ms),
    },
    links: [...links.values()].filter(({ creates }) => creates.some(({ outcome }) => outcome === 'ok'))
      .length,
    clicks,
    revokedUsedMs,
  };
}

/** Operations for which no 4xx is justified; for others it depends on the link or the key. */
const neverRejected: readonly Operation['kind'][] = ['bulk', 'stats', 'final-stats', 'create-key'];

const isCreate = (operation: Operation): operation is Create =>
  ['create', 'alias', 'bulk'].includes(operation.kind);
const isChange = (operation: Operation): operation is Change =>
  ['edit', 'disable', 'enable', 'delete'].includes(operation.kind);
const isVisit = (operation: Operation): operation is Visit =>
  ['hot', 'cold', 'killed', 'expiring', 'limited', 'never-issued', 'final'].includes(operation.kind);
const isStats = (operation: Operation): operation is StatsRead =>
  ['stats', 'final-stats'].includes(operation.kind);
const isKey = (operation: Operation): operation is KeyOperation =>
  ['create-key', 'revoke-key', 'use-key'].includes(operation.kind);

function checkKeys(
  operations: readonly KeyOperation[],
  reachability: Reachability,
  object: Objection,
): number {
  let latestMs = 0;
  for (const [keyId, some] of Map.groupBy(operations, ({ keyId }) => keyId)) {
    if (keyId === undefined) continue;
    const made = some.find(({ kind }) => kind === 'create-key');
    const revocations = some.filter(({ kind, outcome }) => kind === 'revoke-key' && outcome !== 'failed');
    const revoked = revocations
      .filter(({ outcome }) => outcome === 'ok')
      .sort((a, b) => a.endMs - b.endMs)[0];
    const [rejected] = some.filter(
      ({ kind, status = 200 }) => kind === 'revoke-key' && status >= 400 && status < 500,
    );
    if (rejected !== undefined && !revocations.some(({ startMs }) => startMs < rejected.startMs))
      object('unexpected-answer', rejected, `revocation of key ${keyId}: ${rejected.status}`);
    for (const use of some.filter(({ kind }) => kind === 'use-key')) {
      const at = `key ${keyId} at process ${use.process}`;
      if (use.outcome === 'ok' && revoked !== undefined && use.startMs > revoked.endMs) {
        const afterMs = use.startMs - revoked.endMs;
        latestMs = Math.max(latestMs, afterMs);
        const boundMs = reachability.reachesStore(use.process, revoked.endMs, use.endMs)
          ? 0
          : bounds.freshMs + bounds.slackMs;
        if (afterMs > boundMs)
          object('revoked-key', use, `${at} was accepted ${afterMs.toFixed(0)} ms after it was revoked`);
      }
      const isRefused = use.status === 401 || use.status === 403;
      const mayBeRevoked = revocations.some(({ startMs }) => startMs <= use.endMs);
      if (isRefused && !mayBeRevoked && made !== undefined && made.endMs <= use.startMs)
        object('wrong-refusal', use, `${at}: ${use.status}`);
    }
  }
  return latestMs;
}

/** A rejection is not a failure; no answer, a 5xx or an unknown outcome is. */
const hasFailed = ({ status, outcome }: Operation): boolean =>
  status === undefined || status >= 500 || outcome === 'unknown';
const wasDelayed = ({ lagMs }: Operation): boolean => lagMs > delayedMs;

function rowOf(
  fault: Fault,
  nextMs = Number.POSITIVE_INFINITY,
  operations: readonly Operation[],
  processes: number,
  object: Objection,
): FaultRow {
  const { name, startMs: fromMs, healedMs } = fault;
  const recoveredMs = healedMs + recoveryMaxMs;
  const isRecoveryChecked = nextMs > recoveredMs;
  const during = operations.filter(
    ({ startMs, endMs }) => endMs >= fromMs && startMs < Math.min(nextMs, recoveredMs),
  );
  const after = operations.filter(({ startMs, endMs }) => startMs >= healedMs && endMs < nextMs);
  let recoveryMs = 0;
  let failedAtFirst = 0;
  for (const [kind, some] of Map.groupBy(after, each => `${groupOf(each)} at process ${each.process}`)) {
    const inOrder = some.toSorted((one, other) => one.startMs - other.startMs);
    const well = inOrder.findIndex(operation => !isFailure(operation));
    if (well === 0) continue;
    failedAtFirst += well === -1 ? some.length : well;
    const tookMs = inOrder.at(well === -1 ? -1 : well - 1)!.startMs - healedMs;
    recoveryMs = Math.max(recoveryMs, tookMs);
    if (tookMs > recoveryMaxMs)
      object(
        'no-progress',
        inOrder[0]!,
        `${kind} still failed ${inSeconds(tookMs)} after the end of: ${name}`,
      );
  }
  for (let process = 0; process < processes; process += 1) {
    const own = after.filter(each => each.process === process);
    const later = own.filter(({ startMs }) => startMs > recoveredMs);
    const failed = later.filter(isFailure);
    if (failed.length > Math.max(strayMax, later.length * strayShareMax))
      object(
        'no-progress',
        failed[0]!,
        `${failed.length} of ${later.length} operations at process ${process} failed long after the end of: ${name}`,
      );
    const worked = own.filter(({ outcome, startMs }) => outcome === 'ok' && startMs < recoveredMs);
    if (isRecoveryChecked && !(worked.some(isVisit) && worked.some(isCreate)))
      object(
        'no-progress',
        { startMs: healedMs },
        `process ${process} did nothing after the end of: ${name}`,
      );
  }
  return {
    name,
    operations: during.length,
    failed: during.filter(hasFailed).length,
    delayed: during.filter(wasDelayed).length,
    recoveryMs,
    failedLater: after.filter(isFailure).length - failedAtFirst,
    isRecoveryChecked,
  };
}

/** A client that was late itself proves nothing. */
const isFailure = (operation: Operation): boolean => hasFailed(operation) && !wasDelayed(operation);

const groupOf = (operation: Operation): string =>
  isVisit(operation)
    ? 'visits'
    : isCreate(operation)
      ? 'creates'
      : isChange(operation)
        ? 'changes'
        : operation.kind;

const inSeconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

function talliesOf(operations: readonly Operation[]): Verdict['operations'] {
  const tallies = new Map<string, { all: number; failed: number; unknown: number }>();
  for (const operation of operations) {
    const tally = tallies.get(operation.kind) ?? { all: 0, failed: 0, unknown: 0 };
    tally.all += 1;
    if (hasFailed(operation)) tally.failed += 1;
    if (operation.outcome === 'unknown') tally.unknown += 1;
    tallies.set(operation.kind, tally);
  }
  return tallies;
}
