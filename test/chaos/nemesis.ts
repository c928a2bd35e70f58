/**
 * What breaks when, decided by the seed alone, and how it is broken and mended. Every kind of fault comes once before any
 * comes again; one in four comes together with another.
 */
import { sleep, systemClock } from '../../src/base/clock.ts';
import { type Random, seededRandom } from '../../src/base/random.ts';
import type { LinkFault } from '../kit/outage-crew.ts';
import type { Effect, Recorder } from './history.ts';
import type { EngineSet, Installation } from './installation.ts';

type EnginePart = 'store' | 'redis' | 'stream' | 'stats';
type LinkPart = 'store' | 'redis' | 'stats' | 'clients';

/** One thing that breaks. */
export type Strike =
  | { readonly does: 'kill' | 'pause'; readonly part: EnginePart }
  | { readonly does: 'kill' | 'pause' | 'stop'; readonly process: number }
  | { readonly does: LinkFault; readonly parts: readonly LinkPart[]; readonly process: number }
  | { readonly does: 'set clock'; readonly skewMs: number; readonly process: number };

export interface PlannedFault {
  readonly strikes: readonly Strike[];
  readonly durationMs: number;
  readonly restMs: number;
}

export interface PlanOptions {
  readonly seed: number;
  readonly set: EngineSet;
  readonly processes: number;
  readonly hasClocks: boolean;
  readonly count: number;
  /** Between two faults; longer than the bound on recovery, or it is not checked. */
  readonly restMs: readonly [number, number];
}

const durationMs = [2_000, 10_000] as const;
/** Longer than a process without engines serves what it knew. */
const isolationMs = [9_000, 14_000] as const;
const skewsMs = [5_000, -5_000, 90_000, -90_000, 3_600_000, -3_600_000];
const pairShare = 0.25;

export function plan({ seed, set, processes, hasClocks, count, restMs }: PlanOptions): PlannedFault[] {
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
  /** A process that makes changes without Redis, beside one that could learn of them by Redis alone. */
  const crossed = (): Strike[] => {
    const process = anyone();
    const other = (process + 1 + Math.floor(random.float() * (processes - 1))) % processes;
    return [
      { does: anyFault(), parts: ['store'], process },
      { does: anyFault(), parts: ['redis'], process: other },
    ];
  };
  const deck = (): Strike[][] => [
    ...engines.flatMap((part): Strike[][] => [[{ does: 'kill', part }], [{ does: 'pause', part }]]),
    [{ does: 'kill', process: anyone() }],
    [{ does: 'kill', process: anyone() }],
    [{ does: 'pause', process: anyone() }],
    [{ does: 'pause', process: anyone() }],
    [{ does: 'stop', process: anyone() }],
    ...links.flatMap((part): Strike[][] => [
      [{ does: 'refused', parts: [part], process: anyone() }],
      [{ does: 'swallowed', parts: [part], process: anyone() }],
    ]),
    [{ does: anyFault(), parts: ['store', 'redis'], process: anyone() }],
    crossed(),
    ...(hasClocks
      ? [1, 2].map((): Strike[] => [{ does: 'set clock', skewMs: among(skewsMs), process: anyone() }])
      : []),
  ];
  const faults: PlannedFault[] = [];
  let cards: Strike[][] = [];
  const draw = (): Strike[] => {
    if (cards.length === 0) cards = shuffled(deck(), random);
    return cards.pop()!;
  };
  while (faults.length < count) {
    const strikes = draw();
    if (random.float() < pairShare) {
      const others = draw();
      const targets = new Set(strikes.map(targetOf));
      if (others.some(other => targets.has(targetOf(other)))) cards.unshift(others);
      else strikes.push(...others);
    }
    const isIsolation = strikes.some(strike => 'parts' in strike && strike.parts.length > 1);
    faults.push({
      strikes,
      durationMs: between(isIsolation ? isolationMs : durationMs),
      restMs: between(restMs),
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

/** Two strikes on one target would undo each other. */
const targetOf = (strike: Strike): string =>
  'process' in strike ? `process ${strike.process}` : strike.part;

const postgresNames = { store: 'Postgres', redis: 'Redis', stream: 'Kafka', stats: 'ClickHouse' } as const;
const engineNames: Record<EngineSet, Record<EnginePart, string>> = {
  postgres: postgresNames,
  'postgres-queued': postgresNames,
  dynamodb: { store: 'DynamoDB', redis: 'Redis', stream: 'log', stats: 'counts' },
};

/** Without the process, so that strikes of a kind are one row of a table. */
export function nameOf(strikes: readonly Strike[], set: EngineSet): string {
  const names = strikes.map(strike => {
    if (strike.does === 'set clock') {
      const seconds = strike.skewMs / 1_000;
      return `clock of a process set ${seconds > 0 ? 'forward' : 'back'} by ${Math.abs(seconds)} s`;
    }
    const verb = {
      kill: 'killed',
      pause: 'paused',
      stop: 'stopped',
      refused: 'refused',
      swallowed: 'half open',
    }[strike.does];
    if ('part' in strike) return `${engineNames[set][strike.part]} ${verb}`;
    if (!('parts' in strike)) return `process ${verb}`;
    const to = strike.parts.map(part => (part === 'clients' ? 'its clients' : engineNames[set][part]));
    return `connections of a process and ${to.join(', ')} ${verb}`;
  });
  return names.sort().join(' + ');
}

export function effectsOf(strike: Strike): Effect[] {
  if ('part' in strike) return [{ part: strike.part }];
  const { process } = strike;
  if ('parts' in strike) return strike.parts.map(part => ({ part, process }));
  if (strike.does === 'set clock') return [{ part: 'clock', process, skewMs: strike.skewMs }];
  return [{ part: 'process', process }];
}

async function begin(strike: Strike, { engines, members }: Installation): Promise<void> {
  if ('part' in strike) {
    const engine = engines[strike.part]!;
    if (strike.does === 'kill') await engine.kill();
    else engine.pause();
    return;
  }
  const member = members[strike.process]!;
  if ('parts' in strike) for (const part of strike.parts) await member.routeTo(part).fail(strike.does);
  else if (strike.does === 'set clock') member.setClock(strike.skewMs);
  else if (strike.does === 'kill') await member.kill();
  else if (strike.does === 'stop') await member.shutDown();
  else member.pause();
}

async function end(strike: Strike, { engines, members }: Installation): Promise<void> {
  if ('part' in strike) {
    const engine = engines[strike.part]!;
    if (strike.does === 'kill') await engine.restart();
    else engine.resume();
    return;
  }
  const member = members[strike.process]!;
  if ('parts' in strike) for (const part of strike.parts) await member.routeTo(part).heal();
  else if (strike.does === 'set clock') member.setClock(0);
  else if (strike.does === 'pause') member.resume();
  else await member.restart();
}

/** A process that was killed is started last, when what it needs is there. */
const healingOrder = (strike: Strike): number => ('part' in strike ? 1 : 'parts' in strike ? 0 : 2);

/** Lets the planned faults happen one after the other; none begins later than `untilMs` of the recorder's time. */
export async function haunt(
  faults: readonly PlannedFault[],
  installation: Installation,
  set: EngineSet,
  recorder: Recorder,
  untilMs: number,
  onFault: (line: string) => void,
): Promise<void> {
  for (const { strikes, durationMs: lastsMs, restMs } of faults) {
    if (recorder.nowMs > untilMs) return;
    const name = nameOf(strikes, set);
    const startMs = recorder.nowMs;
    for (const strike of strikes) await begin(strike, installation);
    await sleep(systemClock, lastsMs);
    for (const strike of strikes.toSorted((one, other) => healingOrder(one) - healingOrder(other)))
      await end(strike, installation);
    const healedMs = recorder.nowMs;
    recorder.add({ type: 'fault', name, startMs, healedMs, effects: strikes.flatMap(effectsOf) });
    onFault(`${(startMs / 1_000).toFixed(0)} s: ${name}, for ${((healedMs - startMs) / 1_000).toFixed(1)} s`);
    await sleep(systemClock, restMs);
  }
}
