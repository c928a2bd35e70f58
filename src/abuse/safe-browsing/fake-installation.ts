/** Safe Browsing in one process, with a clock that a test moves, against a server of the test kit. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SafeBrowsingServer } from '../../../test/kit/safe-browsing-server.ts';
import { ManualClock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { ProcessLock } from '../../engines/sqlite/process-lock.ts';
import { SafeBrowsingChecker } from './checker.ts';
import { SafeBrowsingClient } from './client.ts';
import { ThreatLists } from './lists.ts';
import { SharedFolder } from './shared-folder.ts';
import { type UpdateLock, Updater } from './updater.ts';

export const minuteMs = 60_000;
/** The list that tests use. */
export const malware = 'mw-4b';

/** A constant random value, so that every delay is known to the millisecond. */
export const half: Random = { bytes: length => new Uint8Array(length), float: () => 0.5 };
/** The first request of a process comes after half of its random minute. */
export const firstDelayMs = minuteMs / 2;

export interface Installation {
  readonly lists: ThreatLists;
  readonly updater: Updater;
  readonly checker: SafeBrowsingChecker;
  readonly client: SafeBrowsingClient;
  readonly faults: unknown[];
}

export class World {
  readonly server = new SafeBrowsingServer();
  readonly clock = new ManualClock();
  readonly folder = mkdtempSync(join(tmpdir(), 'terse-safe-browsing-'));

  /** One process of the installation; several share the folder. A test can run code just before it takes the lock. */
  install(beforeLock?: () => Promise<void>): Installation {
    const { clock, folder } = this;
    const faults: unknown[] = [];
    const onFault = (error: unknown): void => void faults.push(error);
    const client = new SafeBrowsingClient({
      server: this.server.url,
      key: 'the-key',
      clientVersion: '1.2.3',
      clock,
    });
    const lists = new ThreatLists();
    const processLock = new ProcessLock(join(folder, 'lock'));
    const lock: UpdateLock = {
      async tryRun(work) {
        await beforeLock?.();
        return processLock.tryRun(work);
      },
    };
    const shared = new SharedFolder(folder, client.server);
    const updater = new Updater({ client, lists, folder: shared, lock, clock, random: half, onFault });
    const checker = new SafeBrowsingChecker({ client, lists, clock, random: half, onFault });
    return { lists, updater, checker, client, faults };
  }

  /** One process whose lists have been fetched. */
  async installed(): Promise<Installation> {
    const installation = this.install();
    await installation.updater.start();
    this.clock.advance(firstDelayMs);
    await installation.updater.tick();
    return installation;
  }

  async end(): Promise<void> {
    await this.server.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
