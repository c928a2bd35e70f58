/**
 * Several processes on one data folder with the embedded click log, or several machines that share clicks through
 * Kafka, with their faults. It keeps the recorded clicks and knows which of them a dead process may have lost;
 * counting.ts checks the counts.
 */
import { answerCall, type ThreadFunctions } from '../../src/base/thread-call.ts';
import { startClickThread } from '../../src/clicks/click.thread.ts';
import { startConsumerThread } from '../../src/clicks/consumer.thread.ts';
import type { ClickEngines } from '../../src/clicks/open-click-path.ts';
import type { RawBatch, RecordedLink } from '../../src/clicks/recorder.ts';
import { type ClicksOptions, type ClickThreads, startClicks } from '../../src/clicks/start.ts';
import { bugs } from './bugs.ts';
import { SimDatabase } from './database.ts';
import { SimDisk } from './disk.ts';
import type { Fault, FaultKind } from './faults.ts';
import { SimKafka } from './kafka.ts';
import type { Kernel, Party } from './kernel.ts';
import { Network } from './network.ts';
import { SimProcess } from './process.ts';
import { SimWarehouse } from './warehouse.ts';

export type ClickStream = 'embedded' | 'kafka';

const faultKindsOfBoth: readonly FaultKind[] = [
  'crash-process',
  'pause-process',
  'restart-process',
  'jump-clock',
  'full-disk',
  'torn-write',
  'break-warehouse',
];
export const countingFaultKinds: Readonly<Record<ClickStream, readonly FaultKind[]>> = {
  embedded: [...faultKindsOfBoth, 'power-cut'],
  kafka: [...faultKindsOfBoth, 'pause-kafka', 'crash-kafka', 'cut-kafka', 'lose-packets', 'slow-network'],
};

export const adminKey = `terse_${'k'.repeat(43)}`;
export const processCount = 2;
export const dataFolder = '/sim/data';
const usualLatencyMs = [0.2, 2] as const;
/**
 * For how long clicks of a dying process may be unstored: a flush, a hand-over, a write; with Kafka also the time that
 * a write may take before its clicks are spilled.
 */
const unstoredMs: Readonly<Record<ClickStream, number>> = { embedded: 1_500, kafka: 6_000 };

interface StartedThread {
  readonly functions: ThreadFunctions;
  readonly take: (raw: RawBatch) => void;
}

/** The clicks that one start of a process has recorded. */
export interface Producer {
  readonly name: string;
  readonly party: Party;
  /** When each click was recorded, in the order of click numbers. */
  readonly notedMs: number[];
  /** When its process died; undefined while it lives, and after a graceful stop. */
  diedMs: number | undefined;
  hadPowerCut: boolean;
}

export class CountingInstallation {
  readonly kernel: Kernel;
  readonly stream: ClickStream;
  readonly #network: Network;
  readonly #kafka: SimKafka;
  readonly #database: SimDatabase;
  readonly disk: SimDisk;
  readonly warehouse = new SimWarehouse();
  readonly processes: readonly SimProcess[];
  readonly producers = new Map<string, Producer>();
  /** The producer of each process's latest start. */
  readonly #running = new Map<string, Producer>();
  /** How many clicks of each code were recorded. */
  readonly noted = new Map<string, number>();
  readonly owners = new Map<string, string | null>();
  /** When the disk was full; the last time may not be over. */
  readonly #full: { readonly fromMs: number; toMs: number }[] = [];
  /** Why a graceful stop failed. */
  failedStop: string | undefined;

  constructor(kernel: Kernel, stream: ClickStream) {
    this.kernel = kernel;
    this.stream = stream;
    const local = new Network(kernel);
    local.latencyMs = [0.05, 0.5];
    local.slowRate = 0.002;
    this.#network = new Network(kernel);
    // The database of links has no faults, because links are not tested here.
    this.#database = new SimDatabase(kernel, local);
    this.disk = new SimDisk(kernel);
    this.#kafka = new SimKafka(kernel, this.#network);
    const env = (index: number) => ({
      TERSE_LINKS: 'memory',
      // With Kafka each process has a machine of its own.
      TERSE_DATA: stream === 'embedded' ? dataFolder : `${dataFolder}/${index}`,
      ...(stream === 'kafka' && { TERSE_STREAM: 'kafka://kafka/clicks?partitions=4' }),
      TERSE_ADMIN_KEY: adminKey,
      TERSE_RANGE_SIZE: '1000',
      TERSE_GEO_FILE: '/sim/no-countries.mmdb',
    });
    this.processes = Array.from(
      { length: processCount },
      (_, index) =>
        new SimProcess(kernel, `terse-${index}`, env(index), ({ party }) => ({
          openStores: async () => this.#database.openLocalFor(party),
          openRedis: async () => undefined,
          startClicks: options => this.#startClicks(party, options),
        })),
    );
  }

  boot(): void {
    for (const process of this.processes) process.boot();
    this.#keepWritingBack();
  }

  /** The real recorder and the real click thread, which runs on the clock of its process. */
  #startClicks(party: Party, options: ClicksOptions): ReturnType<typeof startClicks> {
    let producer: Producer | undefined;
    const threads: ClickThreads = {
      click: settings => {
        producer = { name: settings.producer, party, notedMs: [], diedMs: undefined, hadPowerCut: false };
        this.producers.set(producer.name, producer);
        this.#running.set(party.name, producer);
        return this.#thread(party, tell => startClickThread(settings, tell, this.#enginesOf(party)));
      },
      consumer: settings =>
        this.#thread(party, async tell => ({
          functions: await startConsumerThread(settings, tell, this.#enginesOf(party)),
          take() {},
        })),
      stats: silentThread,
      reconcile: silentThread,
    };
    const clicks = startClicks({ ...options, threads });
    const { recorder } = clicks;
    const isForgotten = (): boolean => bugs.has('click-is-not-noted') && this.kernel.chance(0.05);
    const note = ({ code, ownerId }: RecordedLink): void => {
      this.owners.set(code, ownerId);
      producer!.notedMs.push(this.kernel.nowMs);
      this.noted.set(code, (this.noted.get(code) ?? 0) + 1);
    };
    const record = recorder.record.bind(recorder);
    recorder.record = (link, ...visit) => {
      if (isForgotten()) return;
      record(link, ...visit);
      note(link);
    };
    const recordEntry = recorder.recordEntry.bind(recorder);
    recorder.recordEntry = (links, entry, ...visit) => {
      if (isForgotten()) return;
      recordEntry(links, entry, ...visit);
      note(links.link(entry)!);
    };
    return clicks;
  }

  #enginesOf(party: Party): ClickEngines {
    return {
      clock: party.clock(),
      openWarehouse: () => this.warehouse.accessFor(party),
      kafka: async () => this.#kafka.engineFor(party),
    };
  }

  /** A thread that lives and dies with its process; messages take a moment. */
  #thread(party: Party, start: (tell: (data: unknown) => void) => Promise<StartedThread>): Worker {
    const life = party.life;
    const worker = {
      onmessage: (_event: { readonly data: unknown }): void => {},
      terminate() {},
      postMessage: (data: unknown) =>
        void party.after(0.05, () => {
          if (party.life !== life) return;
          void thread.then(({ functions, take }) => {
            if (!answerCall(data, functions, { postMessage: tell })) take(data as RawBatch);
          });
        }),
    };
    const tell = (data: unknown): void => void party.after(0.05, () => worker.onmessage({ data }));
    const thread = start(tell);
    return worker as unknown as Worker;
  }

  #keepWritingBack(): void {
    this.kernel.outside.after(this.kernel.between(2_000, 6_000), () => {
      this.disk.writeBack();
      this.warehouse.checkpoint();
      this.#keepWritingBack();
    });
  }

  #died(process: SimProcess, isPowerCut: boolean): void {
    const producer = this.#running.get(process.party.name);
    if (producer !== undefined) {
      // A process that has stopped before has nothing to lose.
      if (process.party.state !== 'down') producer.diedMs ??= this.kernel.nowMs;
      producer.hadPowerCut ||= isPowerCut;
    }
    process.crash();
    this.warehouse.wake();
  }

  begin(fault: Fault): void {
    const process = this.processes[fault.process]!;
    switch (fault.kind) {
      case 'crash-process':
        this.#died(process, false);
        break;
      case 'pause-process':
        process.party.pause();
        break;
      case 'restart-process':
        this.#restart(process);
        break;
      case 'jump-clock':
        process.party.skewMs = (fault.severity - 0.5) * 8_000;
        break;
      case 'power-cut':
        for (const each of this.processes) this.#died(each, true);
        this.disk.powerCut();
        this.warehouse.powerCut();
        break;
      case 'full-disk':
        this.#fillDisk();
        break;
      case 'torn-write':
        this.disk.isTorn = true;
        this.disk.onTorn = () => {
          const torn = this.processes.find(({ party }) => party === this.kernel.current);
          if (torn !== undefined) this.#died(torn, false);
        };
        break;
      case 'break-warehouse':
        this.warehouse.isBroken = true;
        break;
      case 'pause-kafka':
        this.#kafka.party.pause();
        break;
      case 'crash-kafka':
        this.#kafka.party.crash();
        break;
      case 'cut-kafka':
        this.#network.cut(process.party, this.#kafka.party, fault.severity < 0.5 ? 'silent' : 'refused');
        break;
      case 'lose-packets':
        this.#network.lossRate = fault.severity / 3;
        break;
      case 'slow-network':
        this.#network.latencyMs = [1, 1 + fault.severity * 400];
        break;
      default:
        throw new Error(`${fault.kind} is no fault of this installation`);
    }
  }

  end({ kind, process: index }: Fault): void {
    const process = this.processes[index]!;
    if (kind === 'pause-process') process.party.resume();
    if (kind === 'full-disk') this.#freeDisk();
    if (kind === 'break-warehouse') this.warehouse.isBroken = false;
    if (kind === 'pause-kafka') this.#kafka.party.resume();
    if (kind === 'crash-kafka' && this.#kafka.party.state === 'down') this.#kafka.party.recover();
    if (kind === 'cut-kafka') this.#network.heal(process.party, this.#kafka.party);
    if (kind === 'lose-packets') this.#network.lossRate = 0;
    if (kind === 'slow-network') this.#network.latencyMs = usualLatencyMs;
    for (const each of this.processes) if (each.party.state === 'down') each.boot();
  }

  /** A graceful stop loses nothing, unless there is nowhere to store it. */
  #restart(process: SimProcess): void {
    const producer = this.#running.get(process.party.name);
    const stoppingMs = this.kernel.nowMs;
    process.party.after(0, () => {
      process.stop(failure => {
        this.failedStop ??= failure;
        const wasFull = this.#full.some(({ toMs }) => toMs >= stoppingMs);
        if (producer !== undefined && wasFull) producer.diedMs ??= stoppingMs;
      });
    });
  }

  #fillDisk(): void {
    if (!this.disk.isFull) this.#full.push({ fromMs: this.kernel.nowMs, toMs: Number.POSITIVE_INFINITY });
    this.disk.isFull = true;
  }

  #freeDisk(): void {
    const last = this.#full.at(-1);
    if (this.disk.isFull && last !== undefined) last.toMs = this.kernel.nowMs;
    this.disk.isFull = false;
  }

  heal(): void {
    this.#freeDisk();
    this.disk.isTorn = false;
    this.warehouse.isBroken = false;
    this.#network.healAll();
    this.#network.latencyMs = usualLatencyMs;
    this.#kafka.party.resume();
    if (this.#kafka.party.state === 'down') this.#kafka.party.recover();
    for (const process of this.processes) {
      process.party.resume();
      process.party.skewMs = 0;
      if (!process.isServing) process.boot();
    }
  }

  /** How many of its clicks may be lost: those recorded shortly before its process died; none while it lives. */
  mayBeLost({ party, notedMs, diedMs, hadPowerCut }: Producer): number {
    if (diedMs === undefined) return 0;
    const recentMs = unstoredMs[this.stream] * (hadPowerCut ? 2 : 1);
    // Nothing is stored while the disk is full or the process is paused.
    const hindrances = [...this.#full, ...party.pauses];
    let sinceMs = diedMs - recentMs;
    for (;;) {
      const hindrance = hindrances.find(({ fromMs, toMs }) => fromMs - recentMs < sinceMs && toMs > sinceMs);
      if (hindrance === undefined) return notedMs.filter(atMs => atMs > sinceMs).length;
      sinceMs = hindrance.fromMs - recentMs;
    }
  }
}

const silentThread = (): Worker => ({ postMessage() {}, terminate() {} }) as unknown as Worker;
