/**
 * An engine as a child process, on a loopback port and in a separate folder, that a test can pause, kill and start
 * again, always at the same address and on the same data. Signals reach all of its child processes, because some
 * engines answer from these. It never outlives us.
 */
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { familyOf, isRunning, isStopped } from '../../../bench/kit/process-family.ts';
import { until } from '../until.ts';
import { freeEnginePorts } from './free-port.ts';
import { tellWatchdog } from './watchdog.ts';

/** The faults that a test can cause. */
export interface Engine {
  /** Undefined while it does not run. */
  readonly pid: number | undefined;
  /** Keeps connections open and answers nothing, like a machine that hangs. */
  pause(): void;
  resume(): void;
  /** Ends it at once, like a power cut. */
  kill(): Promise<void>;
  /** Returns when it answers again, on the same port and data, whether it was paused, killed or running. */
  restart(): Promise<void>;
  /** Ends it permanently and removes its data. */
  stop(): Promise<void>;
}

export interface Launch {
  readonly name: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The user that it runs as, if that must not be ours. */
  readonly uid?: number | undefined;
  /** Requests a clean shutdown. */
  readonly stopSignal: NodeJS.Signals;
  /** For an engine that takes longer to start than others. */
  readonly startMaxMs?: number;
  /** Whether this very engine answers; may also throw if nothing answers. */
  isReady(): Promise<boolean>;
}

const startMaxMsDefault = 60_000;
const stopMaxMs = 30_000;
const readyPauseMs = 20;
const pauseMaxMs = 2_000;
const portTriesMax = 5;
const logTailChars = 2_000;

export interface FolderOptions {
  /** For engines that write many small files, which is slow on a disk. */
  readonly inMemory?: boolean;
}

const memoryFolder = '/dev/shm';
/** More than a run of all tests writes. */
const memoryBytesMin = 4 * 1024 ** 3;

/** A folder for one engine's data and log. */
export function engineFolder(name: string, { inMemory = false }: FolderOptions = {}): string {
  const parent = inMemory && hasMemoryFolder() ? memoryFolder : tmpdir();
  const folder = mkdtempSync(join(parent, `terse-engine-${name}-`));
  tellWatchdog({ folder });
  return folder;
}

function hasMemoryFolder(): boolean {
  if (!existsSync(memoryFolder)) return false;
  const { bavail, bsize } = statfsSync(memoryFolder);
  return bavail * bsize >= memoryBytesMin;
}

export function removeEngineFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  tellWatchdog({ folder, isOver: true });
}

/** Another process may take a free port before the engine does, so others are tried then. */
export async function onFreePorts<Started>(
  count: number,
  start: (ports: readonly number[]) => Promise<Started>,
): Promise<Started> {
  for (let tries = 1; ; tries++) {
    try {
      return await start(freeEnginePorts(count));
    } catch (error) {
      if (tries === portTriesMax || !/address already in use/i.test(String(error))) throw error;
    }
  }
}

/** Starts an engine in a new folder, which is removed if it does not start. */
export async function startEngine<Started extends EngineProcess>(
  name: string,
  make: (folder: string, port: number) => Started,
  options?: FolderOptions,
): Promise<Started> {
  const folder = engineFolder(name, options);
  try {
    return await onFreePorts(1, async ([port]) => {
      const engine = make(folder, port!);
      await engine.start();
      return engine;
    });
  } catch (error) {
    removeEngineFolder(folder);
    throw error;
  }
}

export class EngineProcess implements Engine {
  readonly #folder: string;
  readonly #launch: Launch;
  #child: Bun.Subprocess | undefined;

  constructor(folder: string, launch: Launch) {
    this.#folder = folder;
    this.#launch = launch;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(): Promise<void> {
    const { command, env, uid } = this.#launch;
    const log = openSync(this.#logPath, 'a');
    const child = Bun.spawn([...command], {
      cwd: this.#folder,
      stdin: 'ignore',
      stdout: log,
      stderr: log,
      ...(env !== undefined && { env }),
      ...(uid !== undefined && { uid, gid: uid }),
    });
    closeSync(log);
    child.unref();
    this.#child = child;
    tellWatchdog({ folder: this.#folder, pid: child.pid });
    void child.exited.then(() => this.#forget(child));
    await this.#untilReady(child);
  }

  /** Starts it again if it ended without a request to stop. */
  async revive(): Promise<void> {
    if (this.#child === undefined) await this.start();
  }

  pause(): void {
    const family = this.#stopFamily();
    // On a busy machine threads continue for a moment, and might answer the next request.
    const untilMs = performance.now() + pauseMaxMs;
    while (!family.every(isStopped) && performance.now() < untilMs) Bun.sleepSync(1);
  }

  resume(): void {
    for (const pid of this.#family().reverse()) signal(pid, 'SIGCONT');
  }

  async kill(): Promise<void> {
    const family = this.#stopFamily();
    for (const pid of family.reverse()) signal(pid, 'SIGKILL');
    await this.#ended();
    // Its children hold its memory and files until they are gone, and a successor would refuse to start beside them.
    await until('its children to end', () => !family.some(isRunning), { maxMs: stopMaxMs });
  }

  async restart(): Promise<void> {
    await this.#shutDown();
    await this.start();
  }

  async stop(): Promise<void> {
    // The data is deleted anyway, so a clean shutdown is not needed.
    await this.kill();
    removeEngineFolder(this.#folder);
  }

  #stopFamily(): number[] {
    // The parent first, so that it starts no new process while its children are stopped.
    const family = this.#family();
    for (const pid of family) signal(pid, 'SIGSTOP');
    return family;
  }

  get #logPath(): string {
    return join(this.#folder, 'engine.log');
  }

  #family(): number[] {
    return this.#child === undefined ? [] : familyOf(this.#child.pid);
  }

  async #shutDown(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.resume();
    child.kill(this.#launch.stopSignal);
    const inTime = await Promise.race([
      child.exited.then(() => true),
      Bun.sleep(stopMaxMs).then(() => false),
    ]);
    await (inTime ? this.#ended() : this.kill());
  }

  async #ended(): Promise<void> {
    const child = this.#child;
    await child?.exited;
    this.#forget(child);
  }

  #forget(child: Bun.Subprocess | undefined): void {
    if (child === undefined || this.#child !== child) return;
    this.#child = undefined;
    tellWatchdog({ folder: this.#folder });
  }

  async #untilReady(child: Bun.Subprocess): Promise<void> {
    const untilMs = performance.now() + (this.#launch.startMaxMs ?? startMaxMsDefault);
    while (performance.now() < untilMs && child.exitCode === null && child.signalCode === null) {
      if (await this.#launch.isReady().catch(() => false)) return;
      await Bun.sleep(readyPauseMs);
    }
    await this.kill();
    const said = readFileSync(this.#logPath, 'utf8').slice(-logTailChars);
    throw new Error(`${this.#launch.name} did not start: ${said}`);
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}
