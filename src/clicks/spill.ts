/**
 * Encoded batches on disk, first in, first out: where clicks wait while their stream cannot be written.
 *
 *   <folder>/0000000001.spill     how much of the segment is done u32, then frames, see frame.ts
 *
 * A segment is appended to until it is first read from, and removed once it was read to its end. How much of it
 * is done is changed in its place, which needs no room on a full disk and outlives the process; after a power cut
 * it may be behind, or half written, and batches that then come again are known by their numbers. Whatever is not a whole and
 * intact frame ends its segment: there a crash has cut the writer off. So a segment never blocks the next.
 *
 * One process at a time has a spill; see spill-folder.ts for who that is, and for the bound.
 */
import { join } from 'node:path';
import { files } from '../base/files.ts';
import { clickCount } from './click.ts';
import { decodeFrame, type Frame, frameLength } from './frame.ts';

export interface SpillOptions {
  readonly folder: string;
  /** A segment takes no frame beyond it, unless it is the first. */
  readonly segmentBytesMax: number;
  readonly onProblem: (what: string, error: unknown) => void;
}

interface Segment {
  readonly number: number;
  bytes: number;
}

interface Writer {
  readonly segment: Segment;
  readonly file: number;
}

interface Reader {
  readonly segment: Segment;
  readonly bytes: Buffer;
  offset: number;
}

/** What comes before the first frame of a segment. */
export const segmentHeaderBytes = 4;
const segmentPattern = /^(\d{10})\.spill$/;

export class Spill {
  readonly #options: SpillOptions;
  /** Oldest first. */
  readonly #segments: Segment[];
  #writer: Writer | undefined;
  #reader: Reader | undefined;

  constructor(options: SpillOptions) {
    this.#options = options;
    this.#segments = listSegments(options.folder);
  }

  get isEmpty(): boolean {
    return this.#segments.length === 0;
  }

  get bytes(): number {
    return this.#segments.reduce((bytes, segment) => bytes + segment.bytes, 0);
  }

  /**
   * Returns when the frame would survive a power cut; throws when the disk rejects it, and then none of it is stored.
   */
  push(frame: Uint8Array): void {
    const { segment, file } = this.#writerFor(frame.length);
    const bytes = segment.bytes === 0 ? Buffer.concat([Buffer.alloc(segmentHeaderBytes), frame]) : frame;
    try {
      for (let written = 0; written < bytes.length; )
        written += files.writeSync(file, bytes, written, bytes.length - written);
      files.fsyncSync(file);
    } catch (error) {
      this.#cutOff(segment, file);
      throw error;
    }
    segment.bytes += bytes.length;
  }

  /** The oldest batch; undefined when there is none left. */
  peek(): Frame | undefined {
    // Every turn ends with a batch or with one segment less.
    while (this.#segments.length > 0) {
      const frame = this.#readFrame(this.#segments[0]!);
      if (frame !== undefined) return frame;
      this.#removeOldest();
    }
    return undefined;
  }

  /** Removes the batch that `peek` has returned. */
  shift(): void {
    const frame = this.peek();
    if (frame === undefined) return;
    const reader = this.#reader!;
    reader.offset += frame.bytes;
    if (reader.offset >= reader.bytes.length) this.#removeOldest();
    else this.#noteDone(reader);
  }

  /** Gives up the oldest segment; returns how many clicks were in it. */
  dropOldest(): number {
    let clicks = 0;
    const oldest = this.#segments[0];
    for (let frame = this.peek(); frame !== undefined && this.#segments[0] === oldest; frame = this.peek()) {
      clicks += clickCount(frame.batch);
      this.shift();
    }
    return clicks;
  }

  /** Leaves nothing behind when there is nothing in it. */
  close(): void {
    this.#seal();
    if (this.#segments.length === 0) removeIfEmpty(this.#options.folder);
  }

  #writerFor(frameBytes: number): Writer {
    const { folder, segmentBytesMax } = this.#options;
    if (this.#writer !== undefined && this.#writer.segment.bytes + frameBytes > segmentBytesMax) this.#seal();
    if (this.#writer !== undefined) return this.#writer;
    files.mkdirSync(folder, { recursive: true, mode: 0o700 });
    const segment = { number: (this.#segments.at(-1)?.number ?? 0) + 1, bytes: 0 };
    const file = files.openSync(segmentPath(folder, segment), 'ax', 0o600);
    this.#segments.push(segment);
    this.#writer = { segment, file };
    return this.#writer;
  }

  /** Half a frame would hide whatever came after it, so it is cut off, and nothing comes after it. */
  #cutOff(segment: Segment, file: number): void {
    try {
      files.ftruncateSync(file, segment.bytes);
    } catch (error) {
      this.#options.onProblem('a partly written spilled batch cannot be truncated', error);
    }
    this.#seal();
    if (segment.bytes > 0) return;
    this.#segments.pop();
    files.rmSync(segmentPath(this.#options.folder, segment), { force: true });
  }

  #seal(): void {
    if (this.#writer !== undefined) files.closeSync(this.#writer.file);
    this.#writer = undefined;
  }

  #readFrame(segment: Segment): Frame | undefined {
    try {
      this.#reader ??= this.#openReader(segment);
      const { bytes, offset } = this.#reader;
      const frame = decodeFrame(bytes, offset);
      if (frame === undefined && offset < bytes.length)
        throw new Error(`${bytes.length - offset} bytes are no whole batch`);
      return frame;
    } catch (error) {
      // An unreadable batch must not block readable ones: its clicks show as a gap in the numbers.
      const path = segmentPath(this.#options.folder, segment);
      this.#options.onProblem(`spilled clicks in ${path} cannot be read`, error);
      return undefined;
    }
  }

  #openReader(segment: Segment): Reader {
    if (this.#writer?.segment === segment) this.#seal();
    const bytes = files.readFileSync(segmentPath(this.#options.folder, segment));
    const done = bytes.length < segmentHeaderBytes ? 0 : bytes.readUInt32LE(0);
    return { segment, bytes, offset: frameAt(bytes, segmentHeaderBytes + done) };
  }

  #noteDone({ segment, offset }: Reader): void {
    const done = Buffer.alloc(segmentHeaderBytes);
    done.writeUInt32LE(offset - segmentHeaderBytes);
    try {
      const file = files.openSync(segmentPath(this.#options.folder, segment), 'r+');
      try {
        files.writeSync(file, done, 0, done.length, 0);
      } finally {
        files.closeSync(file);
      }
    } catch {
      // Then a later process reads these batches again, and their numbers show that they are repeated.
    }
  }

  #removeOldest(): void {
    const segment = this.#segments.shift();
    this.#reader = undefined;
    if (segment === undefined) return;
    if (this.#writer?.segment === segment) this.#seal();
    const { folder, onProblem } = this.#options;
    try {
      files.rmSync(segmentPath(folder, segment), { force: true });
    } catch (error) {
      onProblem('spilled clicks cannot be removed', error);
    }
    if (this.#segments.length === 0) removeIfEmpty(folder);
  }
}

/** That offset if a frame begins or the last one ends there, otherwise the first frame's. */
function frameAt(bytes: Buffer, offset: number): number {
  let at = segmentHeaderBytes;
  while (at < offset) at += frameLength(bytes, at) ?? Number.POSITIVE_INFINITY;
  return at === offset ? offset : segmentHeaderBytes;
}

/** An empty folder left behind would do no harm. */
function removeIfEmpty(folder: string): void {
  try {
    files.rmdirSync(folder);
  } catch {}
}

/** Bytes that the segments of a folder take. */
export function spilledBytes(folder: string): number {
  return listSegments(folder).reduce((bytes, segment) => bytes + segment.bytes, 0);
}

function listSegments(folder: string): Segment[] {
  return namesIn(folder)
    .sort()
    .flatMap(name => {
      const number = segmentPattern.exec(name)?.[1];
      const bytes = files.statSync(join(folder, name), { throwIfNoEntry: false })?.size;
      return number === undefined || bytes === undefined ? [] : [{ number: Number(number), bytes }];
    });
}

/** Empty when there is no such folder, or no longer, or none that can be read. */
export function namesIn(folder: string): string[] {
  try {
    return files.readdirSync(folder);
  } catch {
    return [];
  }
}

function segmentPath(folder: string, { number }: Segment): string {
  return join(folder, `${String(number).padStart(10, '0')}.spill`);
}
