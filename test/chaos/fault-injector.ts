/**
 * Plans faults from the seed alone, injects them and heals them. Every kind of fault comes once before any is repeated;
 * one in four comes together with another.
 */
import { sleep, systemClock } from '../../src/base/clock.ts';
import { type Random, seededRandom } from '../../src/base/random.ts';
import type { LinkFault } from '../kit/outage-fleet.ts';
import type { Effect, Recorder } from './history.ts';
import type { EngineSet, Installation } from './installation.ts';

type EnginePart = 'store' | 'redis' | 'stream' | 'stats';
type LinkPart = 'store' | 'redis' | 'stats' | 'clients';

/** One thing that breaks. */
export type FaultAction =
  | { readonly does: 'kill' | 'pause'; readonly part: EnginePart }
  | { readonly does: 'kill' | 'pause' | 'stop'; readonly process: number }
  | { readonly does: LinkFault; readonly parts: readonly LinkPart[]; readonly process: number }
  | { readonly does: 'set clock'; readonly skewMs: number; readonly process: number };

export interface PlannedFault {
  readonly actions: readonly FaultAction[];
  readonly durationMs: number;
  readonly restMs: number;
}

export interface PlanOptions {
  readonly seed: number;
  readonly set: EngineSet;
  readonly processes: number;
  readonly hasClocks: boolean;
  readonly count: number;
  /**
   * The shortest and the longest rest after each fault, in turn. Recovery is checked after rests that are longer than
   * its bound.
   */
  readonly restsMs: readonly (readonly [number, number])[];
}

const durationMs = [2_000, 10_000] as const;
/** Longer than an isolated process serves links from memory. */
const isolationMs = [9_000, 14_000] as const;
const skewsMs = [5_000, -5_000, 90_000, -90_000, 3_600_000, -3_600_000];
const pairShare = 0.25;

export function plan({ seed, set, processes, hasClocks, count, restsMs }: PlanOptions): PlannedFault[] {
  const random = seededRandom(seed);
  const among = <Item>(items: readonly Item[]): Item => items[Math.floor(random.float() * items.length)]!;
  const between = ([least, most]: readonly [number, number]): number =>
    Math.round(least + random.float() * (most - least));
  const anyone = (): number => Math.floor(random.float() * processes);
  const isPostgres = set !== 'dynamodb';
  const engines: readonly EnginePart[] = isPostgres
    ? ['store', 'redis', 'stream', 'stats']
    : ['store', 'redis'];
  const links: readonly LinkPart[] = isPostgres
    ? ['store', 'redis', 'stats', 'clients']
    : ['store', 'redis', 'clients'];
  const anyFault = (): LinkFault => among(['refused', 'swallowed']);
  /** A process that makes changes without Redis, beside one that could learn of them only through Redis. */
  const crossed = (): FaultAction[] => {
    const process = anyone();
    const other = (process + 1 + Math.floor(random.float() * (processes - 1))) % processes;
    return [
      { does: anyFault(), parts: ['store'], process },
      { does: anyFault(), parts: ['redis'], process: other },
    ];
  };
  const everyKind = (): FaultAction[][] => [
    ...engines.flatMap((part): FaultAction[][] => [[{ does: 'kill', part }], [{ does: 'pause', part }]]),
    [{ does: 'kill', process: anyone() }],
    [{ does: 'kill', process: anyone() }],
    [{ does: 'pause', process: anyone() }],
    [{ does: 'pause', process: anyone() }],
    [{ does: 'stop', process: anyone() }],
    ...links.flatMap((part): FaultAction[][] => [
      [{ does: 'refused', parts: [part], process: anyone() }],
      [{ does: 'swallowed', parts: [part], process: anyone() }],
    ]),
    [{ does: anyFault(), parts: ['store', 'redis'], process: anyone() }],
    crossed(),
    ...(hasClocks
      ? [1, 2].map((): FaultAction[] => [{ does: 'set clock', skewMs: among(skewsMs), process: anyone() }])
      : []),
  ];
  const faults: PlannedFault[] = [];
  let remaining: FaultAction[][] = [];
  const next = (): FaultAction[] => {
    if (remaining.length === 0) remaining = shuffled(everyKind(), random);
    return remaining.pop()!;
  };
  while (faults.length < count) {
    const actions = next();
    if (random.float() < pairShare) {
      const others = next();
      const targets = new Set(actions.map(targetOf));
      if (others.some(other => targets.has(targetOf(other)))) remaining.unshift(others);
      else actions.push(...others);
    }
    const isIsolation = actions.some(action => 'parts' in action && action.parts.length > 1);
    faults.push({
      actions,
      durationMs: between(isIsolation ? isolationMs : durationMs),
      restMs: between(restsMs[faults.length % restsMs.length]!),
    });
  }
  return faults;
}

function shuffled<Item>(items: Item[], random: Random): Item[] {
  for (let at = items.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random.float() * (at + 1));
    [items[at], items[other]] = [items[other]!, items[at]!];
  }
  return items;
}

/** Two actions on one target would undo each other. */
const targetOf = (action: FaultAction): string =>
  'process' in action ? `process ${action.process}` : action.part;

const postgresNames = { store: 'Postgres', redis: 'Redis', stream: 'Kafka', stats: 'ClickHouse' } as const;
const engineNames: Record<EngineSet, Record<EnginePart, string>> = {
  postgres: postgresNames,
  'postgres-queued': postgresNames,
  dynamodb: { store: 'DynamoDB', redis: 'Redis', stream: 'log', stats: 'counts' },
};

/** Without the process, so that each kind of action is one row of a table. */
export function nameOf(actions: readonly FaultAction[], set: EngineSet): string {
  const names = actions.map(action => {
    if (action.does === 'set clock') {
      const seconds = action.skewMs / 1_000;
      return `clock of a process set ${seconds > 0 ? 'forward' : 'back'} by ${Math.abs(seconds)} s`;
    }
    const verb = {
      kill: 'killed',
      pause: 'paused',
      stop: 'stopped',
      refused: 'refused',
      swallowed: 'half open',
    }[action.does];
    if ('part' in action) return `${engineNames[set][action.part]} ${verb}`;
    if (!('parts' in action)) return `process ${verb}`;
    const to = action.parts.map(part => (part === 'clients' ? 'its clients' : engineNames[set][part]));
    return `connections of a process and ${to.join(', ')} ${verb}`;
  });
  return names.sort().join(' + ');
}

export function effectsOf(action: FaultAction): Effect[] {
  if ('part' in action) return [{ part: action.part }];
  const { process } = action;
  if ('parts' in action) return action.parts.map(part => ({ part, process }));
  if (action.does === 'set clock') return [{ part: 'clock', process, skewMs: action.skewMs }];
  return [{ part: 'process', process }];
}

async function begin(action: FaultAction, { engines, members }: Installation): Promise<void> {
  if ('part' in action) {
    const engine = engines[action.part]!;
    if (action.does === 'kill') await engine.kill();
    else engine.pause();
    return;
  }
  const member = members[action.process]!;
  if ('parts' in action) for (const part of action.parts) await member.routeTo(part).fail(action.does);
  else if (action.does === 'set clock') member.setClock(action.skewMs);
  else if (action.does === 'kill') await member.kill();
  else if (action.does === 'stop') await member.shutDown();
  else member.pause();
}

async function end(action: FaultAction, { engines, members }: Installation): Promise<void> {
  if ('part' in action) {
    const engine = engines[action.part]!;
    if (action.does === 'kill') await engine.restart();
    else engine.resume();
    return;
  }
  const member = members[action.process]!;
  if ('parts' in action) for (const part of action.parts) await member.routeTo(part).heal();
  else if (action.does === 'set clock') member.setClock(0);
  else if (action.does === 'pause') member.resume();
  else await member.restart();
}

const withKill = (effect: Effect, { does }: FaultAction, killMs: readonly [number, number]): Effect =>
  does === 'kill' && effect.part === 'process' ? { ...effect, killMs } : effect;

/** A killed process is started last, when its engines are up. */
const healingOrder = (action: FaultAction): number => ('part' in action ? 1 : 'parts' in action ? 0 : 2);

/** Injects the planned faults one after the other; none begins later than `untilMs` of the recorder's time. */
export async function injectFaults(
  faults: readonly PlannedFault[],
  installation: Installation,
  set: EngineSet,
  recorder: Recorder,
  untilMs: number,
  onFault: (line: string) => void,
): Promise<void> {
  for (const { actions, durationMs: lastsMs, restMs } of faults) {
    if (recorder.nowMs > untilMs) return;
    const name = nameOf(actions, set);
    const startMs = recorder.nowMs;
    const effects: Effect[] = [];
    for (const action of actions) {
      const beganMs = recorder.nowMs;
      await begin(action, installation);
      effects.push(...effectsOf(action).map(each => withKill(each, action, [beganMs, recorder.nowMs])));
    }
    await sleep(systemClock, lastsMs);
    for (const action of actions.toSorted((one, other) => healingOrder(one) - healingOrder(other)))
      await end(action, installation);
    const healedMs = recorder.nowMs;
    recorder.add({ type: 'fault', name, startMs, healedMs, effects });
    onFault(`${(startMs / 1_000).toFixed(0)} s: ${name}, for ${((healedMs - startMs) / 1_000).toFixed(1)} s`);
    await sleep(systemClock, restMs);
  }
}
