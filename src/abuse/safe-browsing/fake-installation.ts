/** Safe Browsing as one process has it, with a clock that a test moves, against a server of the test kit. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SafeBrowsingServer } from '../../../test/kit/safe-browsing-server.ts';
import { ManualClock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { ProcessLock } from '../../engines/sqlite/process-lock.ts';
import type { ApiVersion } from './api.ts';
import { SafeBrowsingChecker } from './checker.ts';
import { createClientV4 } from './client-v4.ts';
import { createClientV5 } from './client-v5.ts';
import { ThreatLists } from './lists.ts';
import { SharedFolder } from './shared-folder.ts';
import { Transport } from './transport.ts';
import { type UpdateLock, Updater } from './updater.ts';

export const minuteMs = 60_000;

/** Always the same chance, so that every delay is known to the millisecond. */
export const half: Random = { bytes: length => new Uint8Array(length), float: () => 0.5 };
/** The first request of a process comes after half of its random minute. */
export const firstDelayMs = minuteMs / 2;

export interface Installation {
  readonly lists: ThreatLists;
  readonly updater: Updater;
  readonly checker: SafeBrowsingChecker;
  readonly transport: Transport;
  readonly faults: unknown[];
}

export class World {
  readonly server = new SafeBrowsingServer();
  readonly clock = new ManualClock();
  readonly folder = mkdtempSync(join(tmpdir(), 'terse-safe-browsing-'));
  readonly version: ApiVersion;

  constructor(version: ApiVersion) {
    this.version = version;
  }

  /** What each version calls the list that tests use. */
  get malware(): string {
    return this.version === 'v5' ? 'mw-4b' : 'malware';
  }

  /** One process of the installation; several share the folder. What happens just before it asks for the lock can be told. */
  install(beforeLock?: () => Promise<void>): Installation {
    const { clock, folder } = this;
    const faults: unknown[] = [];
    const onFault = (error: unknown): void => void faults.push(error);
    const transport = new Transport({
      server: this.server.url,
      key: 'the-key',
      clientVersion: '1.2.3',
      clock,
    });
    const api = this.version === 'v5' ? createClientV5(transport) : createClientV4(transport, '1.2.3');
    const lists = new ThreatLists();
    const processLock = new ProcessLock(join(folder, 'lock'));
    const lock: UpdateLock = {
      async tryRun(work) {
        await beforeLock?.();
        return processLock.tryRun(work);
      },
    };
    const shared = new SharedFolder(folder, api);
    const updater = new Updater({ api, lists, folder: shared, lock, clock, random: half, onFault });
    const checker = new SafeBrowsingChecker({ api, lists, clock, random: half, onFault });
    return { lists, updater, checker, transport, faults };
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
