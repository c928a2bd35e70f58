import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { type ConnectionVisitor, Recorder } from '../clicks/recorder.ts';
import { visitFlag } from '../clicks/steps/visit.ts';
import { type Link, redirectTypes } from '../links/link.ts';
import { sampleLink } from '../links/store-samples.ts';
import { Horizon } from '../resolve/horizon.ts';
import { Resolver } from '../resolve/resolver.ts';
import { createVisitors } from './client-address.ts';
import { createPlainRedirect, type PlainRedirectOptions } from './plain-redirect.ts';
import { redirectHeaders } from './redirect-headers.ts';
import { answerOf } from './wire/answer.ts';
import { Fields } from './wire/fields.ts';
import { WireRequest } from './wire/wire-request.ts';

const config = { edgeTtlS: 0, edgeClicks: 'log', robots: 'noindex' } as const;
const headers = new Fields(['host', 'user-agent'], ['h', 'a']);
const peer = { address: '127.0.0.1' };

describe('a plain redirect', () => {
  let links: Map<string, Link>;
  let resolver: Resolver;
  let clock: ManualClock;
  let recorded: string[];
  let logged: string[];
  let isFollowable: boolean;
  beforeEach(() => {
    clock = new ManualClock();
    links = new Map();
    recorded = [];
    logged = [];
    isFollowable = true;
    resolver = new Resolver({
      store: { find: async code => links.get(code) },
      horizon: new Horizon(() => undefined),
      follower: { isBehind: () => false, catchUp: async () => {} },
      freshness: { provenAtMs: Number.NEGATIVE_INFINITY },
      outage: { isStoreFailing: () => false, mayAskCache: () => false, staleMaxMs: 0 },
      isFollowable: () => isFollowable,
      clock,
      random: { float: () => 0.999, bytes: length => new Uint8Array(length) },
      entriesMax: 100,
      bytesMax: 2 ** 20,
      ttlMs: 2_000,
      negativeTtlMs: 1_000,
    });
  });
  const plainWith = (options: Partial<PlainRedirectOptions> = {}) =>
    createPlainRedirect({
      config,
      resolver,
      record: (entry, visitor, at, flags, query) =>
        void recorded.push(`${resolver.memory.link(entry)?.code} ${visitor.agent} ${at} ${flags} ${query}`),
      visitorOf: createVisitors(address => address),
      clock,
      onAnswer: (status, _startedMs, { method, path }) => void logged.push(`${method} ${path} ${status}`),
      onFault() {},
      ...options,
    })!;
  const know = async (link: Link): Promise<void> => {
    links.set(link.code, link);
    resolver.invalidate(link.code);
    await resolver.resolve(link.code);
  };
  const target = new Uint8Array(4_096);
  /** The head of a quick answer; undefined when there is none. */
  const quickHead = (plain: ReturnType<typeof plainWith>, code: string): string | undefined => {
    const bytes = Buffer.from(`GET /${code} HTTP/1.1`);
    const length = plain.quick(bytes, 5, 5 + code.length, headers, peer, target);
    return length === 0 ? undefined : Buffer.from(target.subarray(0, length)).toString();
  };
  const requestOf = (code: string, method = 'GET', query = ''): WireRequest =>
    new WireRequest({ method, path: `/${code}`, query, isOldVersion: false }, headers, peer);
  const answered = (plain: ReturnType<typeof plainWith>, code: string): string | undefined =>
    plain.answer(requestOf(code), code, clock.monotonicMs(), 0)?.head;

  test.each(redirectTypes)('answers as a decision about the record would, by %p', async redirectType => {
    const link = sampleLink('abc', { redirectType, longUrl: `https://example.com/${'x'.repeat(300)}` });
    await know(link);
    const plain = plainWith();
    const decided = answerOf(
      redirectType,
      redirectHeaders({ status: redirectType, location: link.longUrl, link }, clock.now(), config),
      '',
    );
    expect(plain.answer(requestOf('abc'), 'abc', clock.monotonicMs(), 0)).toMatchObject({
      head: decided.head,
      body: '',
    });
    expect(quickHead(plain, 'abc')).toBe(decided.head);
  });

  test('records what was followed, and how', async () => {
    await know(sampleLink('abc'));
    const plain = plainWith();
    quickHead(plain, 'abc');
    plain.answer(requestOf('abc', 'HEAD', 'qr'), 'abc', clock.monotonicMs(), visitFlag.head);
    expect(recorded).toEqual([`abc a ${clock.now()} 0 `, `abc a ${clock.now()} ${visitFlag.head} qr`]);
    expect(logged).toEqual(['GET /abc 302']);
  });

  test('is not given for a link that has to be decided, is unknown, or was changed', async () => {
    const plain = plainWith();
    for (const [code, fields] of Object.entries<Partial<Link>>({
      disabled: { status: 'disabled' },
      held: { status: 'quarantined' },
      expiring: { expiresAt: clock.now() + 1e9 },
      limited: { maxClicks: 5 },
      forwarding: { forwardQuery: true },
      odd: { longUrl: 'https://example.com/\r\nSet-Cookie: a=b' },
    })) {
      await know(sampleLink(code, fields));
      expect([code, quickHead(plain, code), answered(plain, code)]).toEqual([code, undefined, undefined]);
    }
    await resolver.resolve('unknown');
    expect(quickHead(plain, 'unknown')).toBeUndefined();
    await know(sampleLink('abc'));
    expect(quickHead(plain, 'abc')).toBeDefined();
    expect(quickHead(plain, 'ab')).toBeUndefined();
    resolver.invalidate('abc');
    expect([quickHead(plain, 'abc'), answered(plain, 'abc')]).toEqual([undefined, undefined]);
  });

  test('is not given once the lifetime of the entry is over, or its destination is to be judged again', async () => {
    const plain = plainWith();
    await know(sampleLink('abc'));
    expect(quickHead(plain, 'abc')).toBeDefined();
    resolver.judgeAgain();
    expect(quickHead(plain, 'abc')).toBeUndefined();
    // The decision has judged it.
    expect(resolver.recall('abc')).toMatchObject({ followable: true });
    expect(quickHead(plain, 'abc')).toBeDefined();
    isFollowable = false;
    resolver.judgeAgain();
    expect(resolver.recall('abc')).toMatchObject({ followable: false });
    expect(quickHead(plain, 'abc')).toBeUndefined();
    isFollowable = true;
    await know(sampleLink('abc'));
    clock.advance(2_000);
    expect(quickHead(plain, 'abc')).toBeUndefined();
  });

  test('is given although the click cannot be recorded', async () => {
    const faults: unknown[] = [];
    await know(sampleLink('abc'));
    const plain = plainWith({
      record() {
        throw new Error('full');
      },
      onFault: error => void faults.push(error),
    });
    expect(quickHead(plain, 'abc')).toContain('Location: https://example.com/abc\r\n');
    expect(faults).toHaveLength(1);
  });

  test('does not exist behind an edge, whose answers name the code', () => {
    expect(plainWith({ config: { ...config, edgeTtlS: 60 } })).toBeUndefined();
  });

  test('is counted for its link, also when clicks are numbered again or the link was edited', async () => {
    const sent: string[] = [];
    const codes: string[] = [];
    const recorder = new Recorder({
      clock,
      head: { note() {} },
      send({ forgetStrings, newLinks, link }) {
        if (forgetStrings) codes.length = 0;
        const { lengths, bytes } = newLinks.codes;
        let from = 0;
        for (const length of lengths) {
          codes.push(Buffer.from(bytes.subarray(from, from + length)).toString());
          from += length;
        }
        sent.push(...Array.from(link, number => codes[number]!));
        recorder.acknowledge();
      },
    });
    const plain = plainWith({
      record: (entry: number, visitor: ConnectionVisitor, at, flags, query) =>
        recorder.recordEntry(resolver.memory, entry, visitor, at, flags, query),
    });
    await know(sampleLink('a'));
    await know(sampleLink('b'));
    for (const code of ['a', 'b', 'a']) quickHead(plain, code);
    recorder.flush();
    recorder.threadLost();
    for (const code of ['b', 'a']) quickHead(plain, code);
    recorder.flush();
    await know(sampleLink('a', { version: 2, ownerId: 'acc_2' }));
    quickHead(plain, 'a');
    recorder.flush();
    expect(sent).toEqual(['a', 'b', 'a', 'b', 'a', 'a']);
    expect(codes).toEqual(['b', 'a', 'a']);
    recorder.close();
  });
});
