/**
 * Clicks under faults, with the real click path from the recorder to the counts: several processes on one data folder
 * with the embedded log, or several machines whose clicks travel over Kafka and are counted together. Counts must be
 * exact: what is missing was noted by a process a moment before it died.
 */
import { answerCall, type ThreadFunctions } from '../../src/base/thread-call.ts';
import { startClickThread } from '../../src/clicks/click.thread.ts';
import { startConsumerThread } from '../../src/clicks/consumer.thread.ts';
import { producerOf } from '../../src/clicks/log.ts';
import type { ClickEngines } from '../../src/clicks/open-click-path.ts';
import type { RawBatch } from '../../src/clicks/recorder.ts';
import { type ClicksOptions, type ClickThreads, startClicks } from '../../src/clicks/start.ts';
import type { LedgerRow } from '../../src/clicks/warehouse.ts';
import { SimDatabase } from './database.ts';
import { SimDisk } from './disk.ts';
import type { Fault, FaultKind } from './faults.ts';
import { Violation } from './history.ts';
import { SimKafka } from './kafka.ts';
import { type Kernel, Party } from './kernel.ts';
import { Network } from './network.ts';
import { SimProcess, type SimResponse } from './process.ts';
import type { RunFigures } from './shared-engines.ts';
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

const adminKey = `terse_${'k'.repeat(43)}`;
const processCount = 2;
const startedMs = 1_500;
const faultsUntilMs = 25_000;
export const countingFaultWindow = { processes: processCount, fromMs: startedMs, toMs: faultsUntilMs };
/** Long enough for a dead process to be noticed, and for what it left to be stored and counted. */
const settleMs = 60_000;
const usualLatencyMs = [0.2, 2] as const;
const dataFolder = '/sim/data';
/**
 * What a process that dies may have noted and not stored: a flush, a hand-over, a write; with Kafka also the time that a
 * write may take before its clicks are spilled.
 */
const unstoredMs: Readonly<Record<ClickStream, number>> = { embedded: 1_500, kafka: 6_000 };

interface StartedThread {
  readonly functions: ThreadFunctions;
  readonly take: (raw: RawBatch) => void;
}

/** Everything that one start of a process has noted. */
interface Producer {
  readonly name: string;
  /** When each click was noted; the number of a click is its place. */
  readonly notedMs: number[];
  /** When its process died; undefined while it lives, and after a graceful stop. */
  diedMs: number | undefined;
  hadPowerCut: boolean;
}

export class CountingRun {
  readonly #kernel: Kernel;
  readonly #stream: ClickStream;
  readonly #network: Network;
  readonly #kafka: SimKafka;
  readonly #database: SimDatabase;
  readonly #disk: SimDisk;
  readonly #warehouse = new SimWarehouse();
  readonly #processes: SimProcess[];
  readonly #producers = new Map<string, Producer>();
  /** The producer of each process's latest start. */
  readonly #running = new Map<string, Producer>();
  readonly #clicks = new Map<string, number>();
  readonly #codes: string[] = [];
  /** Since when the disk was full, at any time of the run. */
  #fullSinceMs: number | undefined;
  #operations = 0;
  #failed = 0;
  #redirects = 0;

  constructor(kernel: Kernel, stream: ClickStream) {
    this.#kernel = kernel;
    this.#stream = stream;
    const local = new Network(kernel);
    local.latencyMs = [0.05, 0.5];
    local.slowRate = 0.002;
    this.#network = new Network(kernel);
    // Links are not what is tested here: their database has no faults.
    this.#database = new SimDatabase(kernel, local);
    this.#disk = new SimDisk(kernel);
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
    this.#processes = Array.from(
      { length: processCount },
      (_, index) =>
        new SimProcess(kernel, `terse-${index}`, env(index), ({ party }) => ({
          openStores: async () => this.#database.openLocalFor(party),
          openRedis: async () => undefined,
          startClicks: options => this.#startClicks(party, options),
        })),
    );
  }

  async run(faults: readonly Fault[]): Promise<RunFigures> {
    const kernel = this.#kernel;
    const uninstall = this.#disk.install();
    try {
      for (const process of this.#processes) process.boot();
      for (const fault of faults) {
        kernel.outside.after(fault.atMs, () => {
          kernel.note(`fault: ${fault.kind} ${fault.process}`);
          this.#begin(fault);
        });
        kernel.outside.after(fault.atMs + fault.forMs, () => this.#end(fault));
      }
      this.#keepWritingBack();
      await kernel.runUntil(kernel.startMs + startedMs);
      let failure: unknown;
      for (let index = 0; index < 3; index += 1) {
        const client = new Party(kernel, `client-${index}`);
        client.after(kernel.between(0, 100), () => {
          this.#client(client).catch(error => {
            failure ??= error;
          });
        });
      }
      const endMs = kernel.startMs + faultsUntilMs + 3_000;
      while (kernel.nowMs < endMs && failure === undefined) await kernel.runUntil(kernel.nowMs + 250);
      if (failure !== undefined) throw failure;
      this.#heal();
      await kernel.runUntil(kernel.nowMs + settleMs);
      await this.#checkCounts();
    } finally {
      uninstall();
    }
    return { operations: this.#operations, failed: this.#failed, redirects: this.#redirects };
  }

  async #client(client: Party): Promise<void> {
    const kernel = this.#kernel;
    const endMs = kernel.startMs + faultsUntilMs;
    while (kernel.nowMs < endMs) {
      const process = kernel.pick(this.#processes);
      if (this.#codes.length < 5 || kernel.chance(0.03)) {
        const body = { longUrl: `https://d${this.#operations}.example/` };
        const response = await this.#send(client, process, 'POST', '/api/v1/links', body);
        if (response?.status === 201) this.#codes.push(JSON.parse(response.body).shortCode);
      } else {
        // Most visits go to few links.
        const code = this.#codes[Math.floor(this.#codes.length * kernel.random.float() ** 3)]!;
        await this.#send(client, process, 'GET', `/${code}`);
        this.#redirects += 1;
      }
      await new Promise<void>(resolve => client.after(kernel.between(2, 60), resolve));
    }
  }

  async #send(
    client: Party,
    process: SimProcess,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<SimResponse | undefined> {
    this.#operations += 1;
    const request = { method, path, ...(body !== undefined && { body, key: adminKey }) };
    const response = await Promise.race([
      process.request(client, request),
      new Promise<undefined>(resolve => client.after(5_000, () => resolve(undefined))),
    ]);
    if (response === undefined || response.status >= 500) this.#failed += 1;
    if (response?.status === 404 && method === 'GET')
      throw new Violation(`${path} was acknowledged and answered 404`);
    if (response?.status === 500) throw new Violation(`${method} ${path} answered 500: ${response.body}`);
    return response;
  }

  /** The real recorder and the real click thread, which runs in its process's own time. */
  #startClicks(party: Party, options: ClicksOptions): ReturnType<typeof startClicks> {
    let producer: Producer | undefined;
    const threads: ClickThreads = {
      click: settings => {
        producer = { name: settings.producer, notedMs: [], diedMs: undefined, hadPowerCut: false };
        this.#producers.set(producer.name, producer);
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
    const record = recorder.record.bind(recorder);
    recorder.record = (link, visitor, at, flags) => {
      record(link, visitor, at, flags);
      producer!.notedMs.push(this.#kernel.nowMs);
      this.#clicks.set(link.code, (this.#clicks.get(link.code) ?? 0) + 1);
    };
    return clicks;
  }

  #enginesOf(party: Party): ClickEngines {
    return {
      clock: party.clock(),
      openWarehouse: () => this.#warehouse.accessFor(party),
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
    this.#kernel.outside.after(this.#kernel.between(2_000, 6_000), () => {
      this.#disk.writeBack();
      this.#warehouse.checkpoint();
      this.#keepWritingBack();
    });
  }

  /** When a process can last have stored something: not while it was paused. */
  #lastStoredMs({ party: { state, pausedMs, resumedMs } }: SimProcess): number {
    const { nowMs } = this.#kernel;
    const hasJustResumed = nowMs - resumedMs < unstoredMs[this.#stream];
    return state === 'paused' || hasJustResumed ? pausedMs : nowMs;
  }

  #died(process: SimProcess, isPowerCut: boolean): void {
    const atMs = this.#lastStoredMs(process);
    process.crash();
    this.#warehouse.wake();
    const producer = this.#running.get(process.party.name);
    if (producer === undefined) return;
    producer.diedMs ??= atMs;
    producer.hadPowerCut ||= isPowerCut;
  }

  #begin(fault: Fault): void {
    const process = this.#processes[fault.process]!;
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
        for (const each of this.#processes) this.#died(each, true);
        this.#disk.powerCut();
        this.#warehouse.powerCut();
        break;
      case 'full-disk':
        this.#disk.isFull = true;
        this.#fullSinceMs ??= this.#kernel.nowMs;
        break;
      case 'torn-write':
        this.#disk.isTorn = true;
        this.#disk.onTorn = () => {
          const torn = this.#processes.find(({ party }) => party === this.#kernel.current);
          if (torn !== undefined) this.#died(torn, false);
        };
        break;
      case 'break-warehouse':
        this.#warehouse.isBroken = true;
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

  #end({ kind, process: index }: Fault): void {
    const process = this.#processes[index]!;
    if (kind === 'pause-process') process.party.resume();
    if (kind === 'full-disk') this.#disk.isFull = false;
    if (kind === 'break-warehouse') this.#warehouse.isBroken = false;
    if (kind === 'pause-kafka') this.#kafka.party.resume();
    if (kind === 'crash-kafka' && this.#kafka.party.state === 'down') this.#kafka.party.recover();
    if (kind === 'cut-kafka') this.#network.heal(process.party, this.#kafka.party);
    if (kind === 'lose-packets') this.#network.lossRate = 0;
    if (kind === 'slow-network') this.#network.latencyMs = usualLatencyMs;
    for (const each of this.#processes) if (each.party.state === 'down') each.boot();
  }

  /** A graceful stop loses nothing, unless there is nowhere to store it. */
  #restart(process: SimProcess): void {
    const producer = this.#running.get(process.party.name);
    process.party.after(0, () => {
      const lastStoredMs = this.#lastStoredMs(process);
      void process.stop().then(() => {
        if (producer !== undefined && this.#disk.isFull) producer.diedMs ??= lastStoredMs;
      });
    });
  }

  #heal(): void {
    this.#disk.isFull = false;
    this.#disk.isTorn = false;
    this.#warehouse.isBroken = false;
    this.#network.healAll();
    this.#network.latencyMs = usualLatencyMs;
    this.#kafka.party.resume();
    if (this.#kafka.party.state === 'down') this.#kafka.party.recover();
    for (const process of this.#processes) {
      process.party.resume();
      process.party.skewMs = 0;
      if (!process.isServing) process.boot();
    }
  }

  async #checkCounts(): Promise<void> {
    const { real } = this.#warehouse;
    const ledger = await real.ledger(0, Number.MAX_SAFE_INTEGER);
    let counted = 0;
    for (const [code, noted] of this.#clicks) {
      const { clicks, bots } = await real.total({ kind: 'link', code });
      counted += clicks + bots;
      if (clicks + bots > noted)
        throw new Violation(`${code} was followed ${noted} times and has ${clicks + bots} clicks`);
    }
    const inLedger = ledger.reduce((sum, row) => sum + row.counted, 0);
    if (inLedger !== counted) throw new Violation(`links have ${counted} clicks, the ledger ${inLedger}`);
    for (const producer of this.#producers.values()) this.#checkProducer(producer, ledger);
    const spilled = this.#disk.namesBelow(dataFolder).filter(name => name.endsWith('.spill'));
    if (spilled.length > 0) throw new Violation(`clicks are still spilled: ${spilled.join(', ')}`);
  }

  #checkProducer({ name, notedMs, diedMs, hadPowerCut }: Producer, ledger: readonly LedgerRow[]): void {
    const rows = ledger.filter(row => producerOf(row.producer) === name);
    const counted = rows.reduce((sum, row) => sum + row.counted, 0);
    const lost = notedMs.length - counted;
    if (lost < 0) throw new Violation(`${name} noted ${notedMs.length} clicks, and ${counted} were counted`);
    // A process that died may have lost what it had noted a moment before; a living one has lost nothing.
    const recentMs = unstoredMs[this.#stream] * (hadPowerCut ? 2 : 1);
    const troubleMs = Math.min(
      diedMs ?? Number.POSITIVE_INFINITY,
      this.#fullSinceMs ?? Number.POSITIVE_INFINITY,
    );
    const safeUntilMs = troubleMs - recentMs;
    const mayBeLost = diedMs === undefined ? 0 : notedMs.filter(atMs => atMs > safeUntilMs).length;
    if (lost > mayBeLost)
      throw new Violation(
        `${name} noted ${notedMs.length} clicks and lost ${lost}, ${diedMs === undefined ? 'though it never died' : `though only ${mayBeLost} were recent when it died`}`,
      );
  }
}

const silentThread = (): Worker => ({ postMessage() {}, terminate() {} }) as unknown as Worker;
