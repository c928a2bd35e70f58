/** Events of sample histories, for tests of the checker. */
import type { Change, Create, Fault, KeyOperation, Operation, Run, StatsRead, Visit } from './history.ts';
import { bounds } from './reachability.ts';

export const run: Run = {
  type: 'run',
  seed: 1,
  engines: 'postgres',
  processes: 2,
  wallMs: 1_000_000,
  isolatedMs: 8_000,
};
export const lateMs = bounds.freshMs + bounds.slackMs + 1;

type Times = Partial<Pick<Operation, 'process' | 'outcome' | 'status' | 'lagMs'>> & {
  readonly endMs?: number;
};
const attempt = (startMs: number, { endMs = startMs + 5, ...more }: Times = {}) =>
  ({ type: 'operation', process: 0, outcome: 'ok', lagMs: 0, startMs, endMs, ...more }) as const;

export const create = (
  startMs: number,
  code: string,
  longUrl: string,
  more: Times & Partial<Create> = {},
): Create => ({
  kind: 'create',
  owner: 'one',
  code,
  longUrl,
  status: 201,
  ...more,
  ...attempt(startMs, { status: 201, ...more }),
});
export const claim = (startMs: number, alias: string, owner: string, status: number | undefined): Create => ({
  ...create(startMs, alias, `https://example.com/${owner}`, { alias, owner, status }),
  kind: 'alias',
  outcome: status === undefined ? 'unknown' : status < 400 ? 'ok' : 'failed',
  code: status !== undefined && status < 400 ? alias : undefined,
});
export const change = (
  startMs: number,
  kind: Change['kind'],
  code: string,
  more: Times & Partial<Change> = {},
): Change => ({
  kind,
  code,
  status: 200,
  ...more,
  ...attempt(startMs, { status: 200, ...more }),
});
export const led = (
  startMs: number,
  code: string,
  location: string,
  more: Times & Partial<Visit> = {},
): Visit => ({
  kind: 'hot',
  code,
  location,
  ...more,
  ...attempt(startMs, { status: 302, ...more }),
});
export const unanswered = (startMs: number, code: string): Visit => ({
  kind: 'hot',
  code,
  ...attempt(startMs, { outcome: 'unknown' }),
});
export const refused = (
  startMs: number,
  code: string,
  status: number,
  reason: string,
  more: Partial<Visit> = {},
): Visit => ({
  kind: 'hot',
  code,
  reason,
  ...more,
  ...attempt(startMs, { status, outcome: 'failed' }),
});
export const final = (code: string, location: string): Visit =>
  led(90_000, code, location, { kind: 'final' });
export const keyed = (startMs: number, kind: KeyOperation['kind'], more: Times = {}): KeyOperation => ({
  kind,
  keyId: 'k',
  ...attempt(startMs, { status: 200, ...more }),
});
export const stats = (startMs: number, code: string, clicks: number, kind: StatsRead['kind']): StatsRead => ({
  kind,
  code,
  clicks,
  ...attempt(startMs, { status: 200 }),
});
export const fault = (startMs: number, healedMs: number, effects: Fault['effects']): Fault => ({
  type: 'fault',
  name: 'a fault',
  startMs,
  healedMs,
  effects,
});
export const killed = (atMs: number, process: number): Fault =>
  fault(atMs, atMs + 1_000, [{ part: 'process', process, killMs: [atMs, atMs + 1] }]);
/** These processes create and redirect at this time. */
export const working = (startMs: number, processes: readonly number[] = [0, 1]): Operation[] =>
  processes.flatMap(process => [
    create(startMs, `w${process}-${startMs}`, 'https://example.com/w', { process }),
    final(`w${process}-${startMs}`, 'https://example.com/w'),
    led(startMs + 10, `w${process}-${startMs}`, 'https://example.com/w', { process }),
  ]);

export const a = 'https://example.com/a';
export const b = 'https://example.com/b';
export const made = create(0, 'x', a);
