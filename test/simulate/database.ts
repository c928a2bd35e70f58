/**
 * The simulated database: links and records in memory, as durable as a server's after its commit. A process reaches it
 * over the network, so that a call can fail, hang, arrive late, or be executed without its answer arriving.
 */
import { Problem } from '../../src/base/errors.ts';
import type { LinkStore } from '../../src/links/store.ts';
import { createMemoryStore } from '../../src/links/stores/memory.ts';
import { createMemoryRecords, type MemoryRecords } from '../../src/records/drivers/memory.ts';
import type { RecordStore } from '../../src/records/record-store.ts';
import { type Stores, storesOnRecords } from '../../src/stores/stores.ts';
import { bugs, withBugs } from './bugs.ts';
import { type Kernel, Party } from './kernel.ts';
import type { CallOptions, Network } from './network.ts';

const readMaxMs = 1_000;
const writeMaxMs = 5_000;
const writes: ReadonlySet<string> = new Set([
  'insert',
  'replace',
  'useClick',
  'leaseRange',
  'removeEvents',
  'purgeExpired',
  'prune',
  'installationSecret',
  'transact',
  'removeExpired',
]);

export class SimDatabase {
  readonly party: Party;
  readonly links: LinkStore;
  readonly records: MemoryRecords;
  readonly #network: Network;

  constructor(kernel: Kernel, network: Network) {
    this.#network = network;
    this.party = new Party(kernel, 'database');
    const clock = this.party.clock();
    this.records = createMemoryRecords(clock);
    const { reviews } = storesOnRecords(this.records, { clock, random: kernel.random });
    this.links = createMemoryStore(reviews.traceWrites, this.records.write);
  }

  /** The stores for a process on another machine. */
  openFor(process: Party): Stores {
    const records = this.#remote<RecordStore>(process, this.#records());
    // A remote engine has no change token that can be read without a call.
    const { changeToken: _, ...shared } = withBugs(this.links, process.kernel);
    const links = this.#remote<LinkStore>(process, shared);
    return {
      ...storesOnRecords(records, { clock: process.clock(), random: process.kernel.random }),
      links: { ...links, close: async () => {} },
    };
  }

  /** The stores for processes on the machine with the data folder, which also have a change token. */
  openLocalFor(process: Party): Stores {
    const stores = this.openFor(process);
    return { ...stores, links: { ...stores.links, changeToken: this.links.changeToken! } };
  }

  #records(): RecordStore {
    const { records } = this;
    const first = new Map<string, unknown>();
    if (!bugs.has('key-stays')) return records;
    return {
      ...records,
      async get(kind, key) {
        const found = await records.get(kind, key);
        if (kind.name !== 'key' || found === undefined) return found;
        if (!first.has(key)) first.set(key, found);
        return first.get(key) as typeof found;
      },
    };
  }

  #remote<Port extends object>(process: Party, port: object): Port {
    const calls = Object.entries(port as Record<string, (...input: unknown[]) => Promise<unknown>>).map(
      ([name, method]) => [
        name,
        (...input: unknown[]) =>
          this.#network.call(process, this.party, () => method(...input), optionsOf(name)),
      ],
    );
    return Object.fromEntries(calls) as Port;
  }
}

const optionsOf = (name: string): CallOptions => ({
  timeoutMs: writes.has(name) ? writeMaxMs : readMaxMs,
  failure: (lost, reason) =>
    new Problem('store_unavailable', {
      detail: `${name}: ${reason}`,
      outcome: writes.has(name) && !bugs.has('lost-answer-is-not-done') ? lost : 'none',
    }),
});
