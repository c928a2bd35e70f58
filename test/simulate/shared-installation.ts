/**
 * Several machines on a database and a Redis, with their faults. It records what each process can reach at any time;
 * shared-checks.ts checks the answers.
 */
import { createRedisPendings } from '../../src/links/pendings/redis/pendings.ts';
import { SimDatabase } from './database.ts';
import type { Fault, FaultKind } from './faults.ts';
import { SimKafka } from './kafka.ts';
import type { Kernel, Party } from './kernel.ts';
import { Network } from './network.ts';
import { SimProcess } from './process.ts';
import { isolatedMs, Reach } from './reach.ts';
import { SimRedis } from './redis.ts';

export const sharedFaultKinds: readonly FaultKind[] = [
  'crash-process',
  'pause-process',
  'restart-process',
  'pause-database',
  'crash-database',
  'cut-database',
  'pause-redis',
  'restart-redis-empty',
  'fail-over-redis',
  'evict-redis',
  'cut-redis',
  'isolate-process',
  'lose-messages',
  'lose-packets',
  'slow-network',
  'jump-clock',
  'drift-clock',
];

export const adminKey = `terse_${'k'.repeat(43)}`;
export const processCount = 3;
const usualLatencyMs = [0.2, 2] as const;
/** A clock is stepped by at most half of it, either way. */
const jumpMaxMs = 4_000;
const notePeriodMs = 250;

export type Writes = 'direct' | 'queued';

export class SharedInstallation {
  readonly kernel: Kernel;
  readonly isQueued: boolean;
  readonly network: Network;
  readonly database: SimDatabase;
  readonly redis: SimRedis;
  readonly kafka: SimKafka;
  readonly processes: readonly SimProcess[];
  readonly reach = new Reach(processCount);
  /** When Redis last came back with data lost. */
  redisLostMs = Number.NEGATIVE_INFINITY;
  /** Why a graceful stop failed. */
  failedStop: string | undefined;

  constructor(kernel: Kernel, writes: Writes) {
    this.kernel = kernel;
    this.isQueued = writes === 'queued';
    this.network = new Network(kernel);
    this.database = new SimDatabase(kernel, this.network);
    this.redis = new SimRedis(kernel, this.network);
    this.kafka = new SimKafka(kernel, this.network);
    const env = {
      TERSE_LINKS: 'postgres://database/terse',
      TERSE_CACHE: 'redis://redis',
      TERSE_CLICKS: 'off',
      TERSE_ADMIN_KEY: adminKey,
      TERSE_RANGE_SIZE: '40',
      ...(writes === 'queued' && { TERSE_WRITES: 'queued', TERSE_STREAM: 'kafka://kafka/clicks' }),
      TERSE_STALE_IF_ISOLATED_S: String(isolatedMs / 1_000),
    };
    this.processes = Array.from(
      { length: processCount },
      (_, index) =>
        new SimProcess(kernel, `terse-${index}`, env, ({ party }) => ({
          openStores: async () => this.database.openFor(party),
          openRedis: async () => this.redis.openFor(party),
          openQueue: async (_stream, { redis }) => ({
            queue: this.kafka.queueFor(party),
            pendings: createRedisPendings(redis, { clock: party.clock() }),
          }),
        })),
    );
  }

  boot(): void {
    for (const process of this.processes) process.boot();
    this.#keepNotingReach();
  }

  begin({ kind, process: index, severity, forMs }: Fault): void {
    const process = this.processes[index]!;
    const { party } = process;
    const database = this.database.party;
    const redis = this.redis;
    const how = severity < 0.5 ? 'silent' : 'refused';
    switch (kind) {
      case 'crash-process':
        process.crash();
        break;
      case 'pause-process':
        party.pause();
        break;
      case 'restart-process':
        party.after(0, () => process.stop(failure => this.#noteStop(failure)));
        break;
      case 'pause-database':
        database.pause();
        break;
      case 'crash-database':
        database.crash();
        break;
      case 'cut-database':
        this.network.cut(party, database, how);
        break;
      case 'pause-redis':
        redis.party.pause();
        break;
      case 'restart-redis-empty':
      case 'fail-over-redis':
        redis.crash();
        break;
      case 'evict-redis':
        redis.evictSome(severity);
        break;
      case 'cut-redis':
        this.network.cut(party, redis.party, how);
        break;
      case 'isolate-process':
        this.network.cut(party, redis.party, how);
        this.network.cut(party, database, how);
        break;
      case 'lose-messages':
        redis.messageLossRate = severity / 2;
        break;
      case 'lose-packets':
        this.network.lossRate = severity / 3;
        break;
      case 'slow-network':
        this.network.latencyMs = [1, 1 + severity * 200];
        break;
      case 'jump-clock':
        party.skewMs = (severity - 0.5) * jumpMaxMs;
        break;
      case 'drift-clock':
        party.rate = 0.99 + severity * 0.02;
        break;
      default:
        throw new Error(`${kind} for ${forMs} ms is no fault of this installation`);
    }
    this.noteReach();
  }

  end({ kind, process: index, severity }: Fault): void {
    const process = this.processes[index]!;
    const { party } = process;
    const database = this.database.party;
    const redis = this.redis;
    switch (kind) {
      case 'crash-process':
      case 'restart-process':
        if (party.state === 'down') process.boot();
        break;
      case 'pause-process':
        party.resume();
        break;
      case 'pause-database':
        database.resume();
        break;
      case 'crash-database':
        if (database.state === 'down') database.recover();
        break;
      case 'pause-redis':
        redis.party.resume();
        break;
      case 'restart-redis-empty':
        if (redis.party.state === 'down') redis.restartEmpty();
        this.redisLostMs = this.kernel.nowMs;
        break;
      case 'fail-over-redis':
        if (redis.party.state === 'down') redis.failOver(severity * 2_000);
        this.redisLostMs = this.kernel.nowMs;
        break;
      case 'cut-database':
        this.network.heal(party, database);
        break;
      case 'cut-redis':
        this.network.heal(party, redis.party);
        break;
      case 'isolate-process':
        this.network.heal(party, redis.party);
        this.network.heal(party, database);
        break;
      case 'lose-messages':
        redis.messageLossRate = 0;
        break;
      case 'lose-packets':
        this.network.lossRate = 0;
        break;
      case 'slow-network':
        this.network.latencyMs = usualLatencyMs;
        break;
      case 'drift-clock':
        setClockRight(party);
        break;
    }
    this.noteReach();
  }

  heal(): void {
    this.network.healAll();
    this.network.latencyMs = usualLatencyMs;
    this.redis.messageLossRate = 0;
    const { party: database } = this.database;
    if (database.state === 'down') database.recover();
    database.resume();
    if (this.redis.party.state === 'down') {
      this.redis.restartEmpty();
      this.redisLostMs = this.kernel.nowMs;
    }
    this.redis.party.resume();
    for (const process of this.processes) {
      process.party.resume();
      setClockRight(process.party);
      if (!process.isServing) process.boot();
    }
    this.noteReach();
  }

  #noteStop(failure: string | undefined): void {
    this.failedStop ??= failure;
    this.noteReach();
  }

  #keepNotingReach(): void {
    this.kernel.outside.after(notePeriodMs, () => {
      this.noteReach();
      this.#keepNotingReach();
    });
  }

  /** Called when a fault begins or ends, and periodically for processes that start. */
  noteReach(): void {
    const { network, database, redis } = this;
    const isSlow = network.lossRate > 0 || network.latencyMs[1] > 50;
    for (const [index, process] of this.processes.entries()) {
      const { party } = process;
      const isWell = process.isServing && party.state === 'up' && !isSlow;
      this.reach.note({ process: index, life: party.life }, this.kernel.nowMs, {
        store: isWell && database.party.state === 'up' && !network.isCut(party, database.party),
        channel:
          isWell &&
          redis.party.state === 'up' &&
          redis.messageLossRate === 0 &&
          !network.isCut(party, redis.party),
      });
    }
  }
}

function setClockRight(party: Party): void {
  party.rate = 1;
  party.skewMs = 0;
}
