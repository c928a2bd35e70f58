/**
 * Redirects of links whose answer is the same for every visitor at any time, as for nearly all links. They are answered
 * from memory, without the record and without a decision; `redirect.ts` answers all other requests.
 */
import type { Clock } from '../base/clock.ts';
import type { ConnectionVisitor } from '../clicks/recorder.ts';
import { unstated } from '../links/fields.ts';
import { type RedirectType, redirectTypes } from '../links/link.ts';
import type { Resolver } from '../resolve/resolver.ts';
import type { VisitorOf } from './client-address.ts';
import { type RedirectHeaderSettings, redirectHeaders } from './redirect-headers.ts';
import { type Answer, answerOf } from './wire/answer.ts';
import type { QuickAnswer } from './wire/connection-context.ts';
import type { WireRequest } from './wire/wire-request.ts';

export interface PlainRedirectOptions {
  readonly config: RedirectHeaderSettings;
  readonly resolver: Pick<Resolver, 'plainEntry' | 'plainEntryAt' | 'memory'>;
  /** Records a followed link; it must be quick, and its failure must not affect the visitor. */
  readonly record: (
    entry: number,
    visitor: ConnectionVisitor,
    at: number,
    flags: number,
    query: string,
  ) => void;
  readonly visitorOf: VisitorOf;
  readonly clock: Clock;
  readonly onAnswer: (
    status: number,
    startedMs: number,
    request: Pick<WireRequest, 'method' | 'path'>,
  ) => void;
  readonly onFault: (error: unknown) => void;
}

export interface PlainRedirect {
  /** The answer for a visitor of a link; undefined when `redirect.ts` must decide. */
  answer(request: WireRequest, code: string, startedMs: number, headFlag: number): Answer | undefined;
  /** The same, but reads the bytes of a request and writes the bytes of its answer. */
  readonly quick: QuickAnswer;
}

/** The bytes of an answer before and after its destination. */
interface Frame {
  readonly before: string;
  readonly after: string;
  readonly beforeBytes: Uint8Array;
  readonly afterBytes: Uint8Array;
}

/** A request of which only the bytes are known; the path is decoded only if it is logged. */
class QuickRequest {
  readonly method = 'GET';
  #bytes: Uint8Array = new Uint8Array(0);
  #from = 0;
  #to = 0;

  of(bytes: Uint8Array, from: number, to: number): this {
    this.#bytes = bytes;
    this.#from = from;
    this.#to = to;
    return this;
  }

  get path(): string {
    return `/${Buffer.from(this.#bytes.subarray(this.#from, this.#to)).toString('latin1')}`;
  }
}

/** Undefined behind an edge: an answer then also contains the code, for purging. */
export function createPlainRedirect(options: PlainRedirectOptions): PlainRedirect | undefined {
  const { config, resolver, record, visitorOf, clock, onAnswer, onFault } = options;
  if (config.edgeTtlS > 0) return undefined;
  const frames = new Map(redirectTypes.map(type => [type, frameOf(type, config)]));
  const { memory } = resolver;
  const quickRequest = new QuickRequest();

  /** A failure to record the click does not stop the visitor. */
  function noteClick(entry: number, visitor: ConnectionVisitor, flags: number, query: string): void {
    try {
      record(entry, visitor, clock.now(), flags, query);
    } catch (error) {
      onFault(error);
    }
  }

  return {
    answer(request, code, startedMs, headFlag) {
      const entry = resolver.plainEntry(code, startedMs);
      if (entry === 0) return undefined;
      const visitor = visitorOf(request);
      const status = memory.redirectType(entry);
      const { before, after } = frames.get(status)!;
      const head = before + memory.longUrl(entry) + after;
      noteClick(entry, visitor, visitor.flags | headFlag, request.query);
      return { status, head, body: '' };
    },
    quick(bytes, from, to, headers, peer, target) {
      const startedMs = clock.monotonicMs();
      const entry = resolver.plainEntryAt(bytes, from, to, startedMs);
      if (entry === 0) return 0;
      const status = memory.redirectType(entry);
      const { beforeBytes, afterBytes } = frames.get(status)!;
      if (beforeBytes.length + memory.urlLength(entry) + afterBytes.length > target.length) return 0;
      let at = copied(beforeBytes, target, 0);
      at = memory.copyUrl(entry, target, at);
      at = copied(afterBytes, target, at);
      const visitor = visitorOf({ headers, peer });
      noteClick(entry, visitor, visitor.flags, '');
      onAnswer(status, startedMs, quickRequest.of(bytes, from, to));
      return at;
    },
  };
}

const anyUrl = 'https://destination.invalid/';

function frameOf(status: RedirectType, config: RedirectHeaderSettings): Frame {
  const link = { ...unstated, code: '', status: 'active' } as const;
  const { head } = answerOf(status, redirectHeaders({ status, location: anyUrl, link }, 0, config), '');
  const [before = '', after = ''] = head.split(anyUrl);
  return { before, after, beforeBytes: Buffer.from(before), afterBytes: Buffer.from(after) };
}

/** For a few dozen bytes, this loop is faster than any library call. */
function copied(from: Uint8Array, to: Uint8Array, at: number): number {
  for (let index = 0; index < from.length; index += 1) to[at + index] = from[index]!;
  return at + from.length;
}
