/**
 * A request body on its way in. Its handler reads it as a stream and sets the pace: when more has arrived than it
 * has read, the socket rests. A handler that answers without reading leaves the rest to be passed over.
 */
import { ChunkedDecoder } from './chunked.ts';
import { compact } from './compact.ts';

export interface BodySource {
  /** Called when the handler first asks, for clients that wait to be told. */
  onWanted(): void;
  pause(): void;
  resume(): void;
  /** Whether the handler waits for bytes that the client has not sent. */
  onWaiting(isWaiting: boolean): void;
}

/** Bytes that may lie unread before the socket rests. */
const unreadMaxBytes = 64 * 1024;

export class IncomingBody {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #source: BodySource;
  readonly #chunks: ChunkedDecoder | undefined;
  #leftBytes: number;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #isWanted = false;
  #isWaiting = false;
  /** Whether nobody will hear of the rest, because it is not wanted or will not come. */
  #isOver = false;
  /** Everything that came, also what belongs to the framing. */
  receivedBytes = 0;

  /** `bytes` is undefined for a body in chunks. */
  constructor(bytes: number | undefined, source: BodySource) {
    this.#leftBytes = bytes ?? 0;
    this.#chunks = bytes === undefined ? new ChunkedDecoder() : undefined;
    this.#source = source;
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller;
        },
        pull: () => {
          if (!this.#isWanted) source.onWanted();
          this.#isWanted = true;
          source.resume();
          this.#setWaiting(true);
        },
        cancel: () => this.passOver(),
      },
      // Nothing is asked for before somebody reads.
      new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
    );
  }

  get isDone(): boolean {
    return this.#chunks?.isDone ?? this.#leftBytes === 0;
  }

  /** What is still to come, as far as anyone can tell. */
  get leftBytes(): number {
    return this.#chunks === undefined ? this.#leftBytes : this.isDone ? 0 : Number.POSITIVE_INFINITY;
  }

  /** What has come and was not read yet. */
  get unreadBytes(): number {
    return this.#isOver ? 0 : 0 - (this.#controller?.desiredSize ?? 0);
  }

  /**
   * Takes what belongs to this body and returns how much that was; throws when it is malformed. The bytes belong to
   * the body from then on.
   */
  take(bytes: Buffer): number {
    const used = this.#chunks === undefined ? this.#takePlain(bytes) : this.#takeChunks(this.#chunks, bytes);
    this.receivedBytes += used;
    this.#setWaiting(false);
    if (this.#isOver) return used;
    if (this.isDone) {
      this.#isOver = true;
      this.#controller?.close();
    } else if (this.unreadBytes > unreadMaxBytes) this.#source.pause();
    return used;
  }

  /** Nobody wants the rest. */
  passOver(): void {
    this.#isOver = true;
    this.#setWaiting(false);
    this.#source.resume();
  }

  /** The rest will never come. */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#setWaiting(false);
    this.#controller?.error(error);
  }

  #setWaiting(isWaiting: boolean): void {
    if (this.#isWaiting === isWaiting) return;
    this.#isWaiting = isWaiting;
    this.#source.onWaiting(isWaiting);
  }

  #takePlain(bytes: Buffer): number {
    const own = bytes.subarray(0, this.#leftBytes);
    this.#leftBytes -= own.length;
    this.#give(own);
    return own.length;
  }

  #takeChunks(chunks: ChunkedDecoder, bytes: Buffer): number {
    const { dataBytes, usedBytes } = chunks.decode(bytes);
    this.#give(bytes.subarray(0, dataBytes));
    return usedBytes;
  }

  #give(data: Buffer): void {
    if (!this.#isOver && data.length > 0) this.#controller?.enqueue(compact(data));
  }
}
