/**
 * Keeps the lists up to date, for all processes of one data folder together: the process that finds them due and gets
 * the lock asks the server, all others read the file. No process asks before the time the server named, within the
 * first random minute after a start, or while backing off; the times are in the shared files, so a restart changes
 * nothing.
 *
 * Invariant: `tick` never rejects and ends; any failure leaves the lists as they were, which then become stale.
 */
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { HeldList, ListUpdate, SafeBrowsingClient } from './client.ts';
import {
  afterFailure,
  type BackOffState,
  durationMaxMs,
  isBackingOff,
  noBackOff,
  SafeBrowsingFault,
} from './fault.ts';
import {
  isDue,
  listNames,
  type PrefixList,
  type ThreatList,
  type ThreatLists,
  updatedPrefixes,
} from './lists.ts';
import type { SharedFolder } from './shared-folder.ts';

/** Held by one process of the data folder at a time, and released when its process ends. */
export interface UpdateLock {
  /** Runs the work unless another process holds the lock; false if it did not run. */
  tryRun(work: () => Promise<void>): Promise<boolean>;
}

export interface UpdaterOptions {
  readonly client: SafeBrowsingClient;
  readonly lists: ThreatLists;
  readonly folder: SharedFolder;
  readonly lock: UpdateLock;
  readonly clock: Clock;
  readonly random: Random;
  /** Every failure, once; for the log. */
  readonly onFault: (error: unknown) => void;
}

/** How often the files are polled: the other processes have a fetched list this much later. */
const lookPeriodMs = 5_000;
const firstDelayMaxMs = 60_000;
/** Used when the server names no wait. */
const ordinaryWaitMs = 5 * 60_000;
/** Spreads the requests of all installations that got the same time from the server. */
const jitterShare = 0.05;
const jitterMaxMs = 30_000;
/** Updates in a row that a server may cause by naming no time to wait. */
const roundsMax = 8;

export class Updater {
  readonly #options: UpdaterOptions;
  readonly #notBefore: number;
  #backOff: BackOffState = noBackOff;
  #running: Promise<void> | undefined;
  #cancel: (() => void) | undefined;
  #stopped = false;
  updates = 0;
  faults = 0;
  mismatches = 0;

  constructor(options: UpdaterOptions) {
    this.#options = options;
    this.#notBefore = options.clock.monotonicMs() + options.random.float() * firstDelayMaxMs;
  }

  /** Resolves when the lists in the folder are active. */
  async start(): Promise<void> {
    this.#cancel = this.#options.clock.every(lookPeriodMs, () => void this.tick());
    await this.#load().catch(error => this.#options.onFault(error));
  }

  /** Waits for the update in progress, which the caller may abort. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#running;
  }

  /** Reads the files, and asks the server if it is due and no other process does. */
  tick(): Promise<void> {
    this.#running ??= this.#look()
      .catch(error => this.#giveUp(error))
      .finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }

  async #look(): Promise<void> {
    await this.#load();
    if (this.#dueLists().length === 0) return;
    await this.#options.lock.tryRun(async () => {
      // The previous holder of the lock may have fetched everything.
      await this.#load();
      if (this.#dueLists().length > 0) await this.#update();
    });
  }

  async #load(): Promise<void> {
    const { folder, lists } = this.#options;
    const found = await folder.changedLists();
    if (found !== undefined) lists.replace(found.filter(({ name }) => listNames.includes(name)));
    this.#backOff = (await folder.changedBackOff()) ?? this.#backOff;
  }

  #dueLists(): HeldList[] {
    const { lists, clock } = this.#options;
    const now = clock.now();
    if (clock.monotonicMs() < this.#notBefore || isBackingOff(this.#backOff, now)) return [];
    return listNames
      .filter(name => isDue(lists.find(name), now))
      .map(name => ({ name, version: lists.find(name)?.version ?? new Uint8Array() }));
  }

  async #update(): Promise<void> {
    const { lists, folder, onFault } = this.#options;
    try {
      for (let round = 1; round <= roundsMax; round += 1) {
        const due = this.#dueLists();
        if (due.length === 0) break;
        await this.#fetch(due, round === roundsMax);
      }
      this.updates += 1;
      if (this.#backOff.failures > 0) await this.#setBackOff(noBackOff);
    } catch (error) {
      // An abort by ourselves is not a failure.
      if (this.#stopped) return;
      this.#giveUp(error);
      await this.#setBackOff(this.#backOff);
    } finally {
      // Without a writable folder the other processes miss the lists, but this one does not.
      if (lists.all.length > 0) await folder.saveLists(lists.all).catch(onFault);
    }
  }

  /** Backs off, also when our own folder fails: retrying that constantly is as useless as with a server. */
  #giveUp(error: unknown): void {
    const { clock, random, onFault } = this.#options;
    this.faults += 1;
    this.#backOff = afterFailure(this.#backOff, clock.now(), random);
    onFault(error);
  }

  async #setBackOff(state: BackOffState): Promise<void> {
    this.#backOff = state;
    await this.#options.folder.saveBackOff(state).catch(this.#options.onFault);
  }

  /** Brings these lists up to date; one whose update fails is fetched as a whole, once. */
  async #fetch(due: readonly HeldList[], isLastRound: boolean): Promise<void> {
    const broken = await this.#apply(due, isLastRound);
    if (broken.length === 0) return;
    this.mismatches += broken.length;
    const again = broken.map(({ name }) => ({ name, version: new Uint8Array() }));
    const [stillBroken] = await this.#apply(again, isLastRound);
    if (stillBroken !== undefined) throw stillBroken.fault;
  }

  async #apply(
    due: readonly HeldList[],
    isLastRound: boolean,
  ): Promise<{ name: string; fault: SafeBrowsingFault }[]> {
    const { client, lists } = this.#options;
    const answers = await client.fetchLists(due);
    const updates = due.map(({ name, version }) => {
      const update = answers.find(answer => answer.name === name);
      if (update === undefined) throw new SafeBrowsingFault('malformed', `the answer leaves out ${name}`);
      // A list that was requested as a whole must not be built on the local one.
      return { update, base: version.length === 0 ? undefined : lists.find(name) };
    });
    const broken: { name: string; fault: SafeBrowsingFault }[] = [];
    for (const { update, base } of updates) {
      try {
        this.#put(update, await updatedPrefixes(base, update), isLastRound);
      } catch (error) {
        if (!(error instanceof SafeBrowsingFault)) throw error;
        broken.push({ name: update.name, fault: error });
      }
    }
    return broken;
  }

  #put({ name, version, waitMs }: ListUpdate, prefixes: PrefixList, isLastRound: boolean): void {
    const { lists, clock, random } = this.#options;
    const wantedMs = waitMs === 0 && isLastRound ? ordinaryWaitMs : waitMs;
    const boundedMs = Math.min(wantedMs, durationMaxMs);
    const jitterMs = random.float() * Math.min(boundedMs * jitterShare, jitterMaxMs);
    const now = clock.now();
    const list: ThreatList = {
      name,
      version,
      prefixes,
      updatedAt: now,
      nextUpdateAt: now + boundedMs + jitterMs,
    };
    lists.replace([...lists.all.filter(other => other.name !== name), list]);
  }
}
