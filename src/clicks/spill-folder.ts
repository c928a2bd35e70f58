/**
 * The folder that the spills of all processes of an installation share, and the bound over all of them.
 *
 *   <folder>/<producer>~<owner>/     batches that the producer recorded and the owner stores; see spill.ts
 *
 * A process owns what it spilled itself. What a dead one left, a living one takes over by renaming it: of several
 * that try, one succeeds. A process that was only taken for dead finds its spill gone and begins another; its
 * clicks may then arrive out of order, which costs the older of them, and this shows in the numbers.
 *
 * When the bound is reached the oldest segment goes, whether inherited or our own, and its clicks are counted.
 */
import { constants } from 'node:fs';
import { join } from 'node:path';
import { files } from '../base/files.ts';
import type { ClickBatch } from './click.ts';
import { encodeFrame, type Frame } from './frame.ts';
import { namesIn, Spill, segmentHeaderBytes, spilledBytes } from './spill.ts';

export interface SpillFolderOptions {
  readonly folder: string;
  readonly producer: string;
  /** For everything in the folder, whichever process owns it; 0 when nothing may be spilled. */
  readonly bytesMax: number;
  readonly onProblem: (what: string, error: unknown) => void;
}

const segmentBytesMax = 4 * 1024 * 1024;
/** One segment is dropped at a time, so a small bound needs small ones. */
const segmentsMin = 16;
/** Producers have no tilde in their names. */
const spillPattern = /^([^~]+)~([^~]+)$/;

export class SpillFolder {
  readonly #options: SpillFolderOptions;
  readonly #own: Spill;
  /** Oldest first; each holds clicks of one dead producer. */
  readonly #inherited: Spill[] = [];
  /** Clicks given up because the bound was reached. */
  dropped = 0;

  constructor(options: SpillFolderOptions) {
    this.#options = options;
    this.#own = this.#open(nameOf(options.producer, options.producer));
    for (const { name, producer, owner } of spillsIn(options.folder)) {
      if (owner === options.producer && producer !== owner) this.#inherited.push(this.#open(name));
    }
  }

  get isEmpty(): boolean {
    return this.#own.isEmpty && this.#inherited.length === 0;
  }

  /** True while batches that this process spilled itself are not stored. */
  get hasOwn(): boolean {
    return !this.#own.isEmpty;
  }

  get isAllowed(): boolean {
    return this.#options.bytesMax > 0;
  }

  /** What waits here and is ours to store. */
  get bytes(): number {
    return this.#inherited.reduce((bytes, spill) => bytes + spill.bytes, this.#own.bytes);
  }

  /** Throws when nothing can be written here. */
  check(): void {
    const { folder } = this.#options;
    files.mkdirSync(folder, { recursive: true, mode: 0o700 });
    files.accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  }

  /** Returns when the batch would survive a power cut; throws when it cannot be spilled. */
  push(batch: ClickBatch): void {
    const { producer, bytesMax } = this.#options;
    const frame = encodeFrame(producer, batch);
    const frameBytes = frame.length + segmentHeaderBytes;
    const room = bytesMax - this.#bytesOfOthers();
    if (frameBytes > room) throw new Error(`the spill is full: ${Math.max(0, room)} bytes are left to us`);
    while (this.bytes + frameBytes > room) this.dropped += this.#oldest().dropOldest();
    this.#own.push(frame);
  }

  /** Our own oldest batch; undefined when all of them are stored. */
  peekOwn(): Frame | undefined {
    return this.#own.peek();
  }

  shiftOwn(): void {
    this.#own.shift();
  }

  /** The next batch of a dead producer; one producer after the other. */
  peekInherited(): Frame | undefined {
    while (this.#inherited.length > 0) {
      const frame = this.#inherited[0]!.peek();
      if (frame !== undefined) return frame;
      this.#inherited.shift()!.close();
    }
    return undefined;
  }

  shiftInherited(): void {
    this.#inherited[0]?.shift();
  }

  /** True when there are spills of other processes, alive or dead. */
  hasOthers(): boolean {
    return spillsIn(this.#options.folder).some(({ owner }) => owner !== this.#options.producer);
  }

  /** Takes over batches whose owner is no longer alive. */
  inherit(living: ReadonlySet<string>): void {
    const { folder, producer: heir, onProblem } = this.#options;
    for (const { name, producer, owner } of spillsIn(folder)) {
      if (owner === heir || living.has(owner)) continue;
      const inherited = nameOf(producer, heir);
      try {
        files.renameSync(join(folder, name), join(folder, inherited));
        this.#inherited.push(this.#open(inherited));
      } catch (error) {
        // Another process was quicker, or we are not done with what we inherited from the same producer before.
        if (!isTaken(error)) onProblem(`the spilled clicks of ${owner} cannot be taken over`, error);
      }
    }
  }

  close(): void {
    this.#own.close();
  }

  #open(name: string): Spill {
    const { folder, bytesMax, onProblem } = this.#options;
    return new Spill({
      folder: join(folder, name),
      segmentBytesMax: Math.min(segmentBytesMax, Math.floor(bytesMax / segmentsMin)),
      onProblem,
    });
  }

  #oldest(): Spill {
    return this.#inherited.find(spill => !spill.isEmpty) ?? this.#own;
  }

  #bytesOfOthers(): number {
    const { folder, producer } = this.#options;
    return spillsIn(folder).reduce(
      (bytes, { name, owner }) => (owner === producer ? bytes : bytes + spilledBytes(join(folder, name))),
      0,
    );
  }
}

/** Producers with spilled clicks: these clicks are on their way, even if the producer is dead. */
export function spilledProducers(folder: string): Set<string> {
  const spills = spillsIn(folder).filter(({ name }) => spilledBytes(join(folder, name)) > 0);
  return new Set(spills.map(({ producer }) => producer));
}

function spillsIn(folder: string): { name: string; producer: string; owner: string }[] {
  return namesIn(folder)
    .sort()
    .flatMap(name => {
      const [, producer, owner] = spillPattern.exec(name) ?? [];
      return producer === undefined || owner === undefined ? [] : [{ name, producer, owner }];
    });
}

const nameOf = (producer: string, owner: string): string => `${producer}~${owner}`;

function isTaken(error: unknown): boolean {
  return ['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '');
}
