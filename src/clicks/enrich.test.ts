import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ManualClock } from '../base/clock.ts';
import { visitKinds } from './click.ts';
import { createEnricher, dropReasons, type EnricherOptions, type RawClick, timedEvery } from './enrich.ts';
import { createAgentDescriber } from './steps/agent.ts';
import { createReferrerDescriber } from './steps/referrer.ts';
import { visitFlag } from './steps/visit-kind.ts';
import { createVisitorHasher } from './steps/visitor.ts';

const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';

const raw: RawClick = {
  sequence: 41,
  at: Date.UTC(2026, 0, 15, 12),
  code: 'spring',
  ownerId: 'owner-1',
  tags: ['campaign'],
  address: '203.0.113.9',
  userAgent: iphone,
  referrer: 'https://www.example.com/page?session=1',
  flags: 0,
};

function enricherWith(changes: Partial<EnricherOptions> = {}) {
  return createEnricher({
    agents: createAgentDescriber({ entriesMax: 100 }),
    referrers: createReferrerDescriber({ entriesMax: 100 }),
    geo: { locate: address => ({ country: address === '203.0.113.9' ? 'DE' : '', city: 'Berlin' }) },
    visitors: createVisitorHasher({ secret: new Uint8Array(32).fill(7) }),
    clock: new ManualClock(),
    ...changes,
  });
}

describe('an enriched click', () => {
  test('says what can be told from the raw one', () => {
    expect(enricherWith().enrich(raw)).toEqual({
      sequence: 41,
      at: raw.at,
      code: 'spring',
      ownerId: 'owner-1',
      tags: ['campaign'],
      kind: 'human',
      visitor: expect.stringMatching(/^[0-9a-f]{16}$/),
      country: 'DE',
      city: 'Berlin',
      agent: { userAgent: iphone, browser: 'Safari', os: 'iOS', device: 'mobile', kind: 'human' },
      referrer: { referrer: 'https://www.example.com/page', domain: 'example.com' },
    });
  });

  test('no longer holds the address', () => {
    expect(JSON.stringify(enricherWith().enrich(raw))).not.toContain('203.0.113');
  });

  test('is what its request was, when that says more than its agent', () => {
    const { enrich } = enricherWith();
    expect(enrich({ ...raw, flags: visitFlag.head })).toMatchObject({ kind: 'head' });
    expect(enrich({ ...raw, flags: visitFlag.prefetch })).toMatchObject({ kind: 'prefetch' });
    expect(enrich({ ...raw, userAgent: 'Twitterbot/1.0' })).toMatchObject({ kind: 'preview' });
    expect(enrich({ ...raw, userAgent: '' })).toMatchObject({ kind: 'bot' });
  });

  test('has the same visitor whatever follows the first 512 characters of the agent', () => {
    const { enrich } = enricherWith();
    const long = iphone.padEnd(512, 'x');
    const visitors = ['a', 'b'].map(end => {
      const click = enrich({ ...raw, userAgent: long + end });
      return 'drop' in click ? undefined : click.visitor;
    });
    expect(visitors[0]).toBeString();
    expect(visitors[0]).toBe(visitors[1]);
  });
});

describe('a click is dropped', () => {
  test.each<Partial<Record<keyof RawClick, unknown>>>([
    { sequence: -1 },
    { sequence: 1.5 },
    { sequence: Number.NaN },
    { at: Number.NaN },
    { at: Number.POSITIVE_INFINITY },
    { at: -1 },
    { at: 8.64e15 + 1 },
    { code: '' },
    { code: 'a/b' },
    { code: 7 },
    { address: undefined },
    { userAgent: null },
    { referrer: 7 },
    { flags: '1' },
  ])('as malformed, when it has %p', change => {
    expect(enricherWith().enrich({ ...raw, ...change } as RawClick)).toEqual({ drop: 'malformed' });
  });

  test('as failed, when a step breaks, and the next one is not harmed', () => {
    let isBroken = true;
    const { enrich } = enricherWith({
      geo: {
        locate() {
          if (isBroken) throw new Error('broken');
          return { country: '', city: '' };
        },
      },
    });
    expect(enrich(raw)).toEqual({ drop: 'failed' });
    isBroken = false;
    expect(enrich(raw)).toMatchObject({ code: 'spring' });
  });

  test('by nothing that a visitor can send', () => {
    const { enrich } = enricherWith();
    const text = fc.string({ unit: 'binary', maxLength: 600 });
    fc.assert(
      fc.property(text, text, text, fc.nat({ max: 255 }), (address, userAgent, referrer, flags) => {
        const click = enrich({ ...raw, address, userAgent, referrer, flags });
        if ('drop' in click) throw new Error(click.drop);
        expect(visitKinds).toContain(click.kind);
        expect(click.agent.userAgent.length).toBeLessThanOrEqual(512);
        expect(click.referrer.referrer.length).toBeLessThanOrEqual(1024);
        expect(click.visitor).toMatch(/^[0-9a-f]{16}$/);
      }),
      { numRuns: 500 },
    );
  });

  test('for one of the known reasons', () => {
    expect(dropReasons).toEqual(['malformed', 'failed']);
  });
});

describe('the steps', () => {
  test('are named, run in order, and count what they see', () => {
    const enricher = enricherWith();
    enricher.enrich(raw);
    enricher.enrich({ ...raw, code: '' });
    expect(enricher.steps().map(({ name, count }) => [name, count])).toEqual([
      ['check', 2],
      ['agent', 1],
      ['kind', 1],
      ['referrer', 1],
      ['geo', 1],
      ['visitor', 1],
    ]);
  });

  test('read the clock for one click in 64, and answer for all', () => {
    let reads = 0;
    const clock = { monotonicMs: () => reads++ };
    const enricher = enricherWith({ clock });
    for (let index = 0; index < 2 * timedEvery; index += 1) enricher.enrich(raw);
    // Two clicks of six steps, twice each; the clock moves a millisecond with each reading.
    expect(reads).toBe(2 * 6 * 2);
    for (const { count, nanoseconds } of enricher.steps()) {
      expect(count).toBe(128);
      expect(nanoseconds).toBe(128 * 1e6);
    }
  });

  test('have taken no time before the first click', () => {
    expect(
      enricherWith()
        .steps()
        .every(({ nanoseconds }) => nanoseconds === 0),
    ).toBeTrue();
  });
});
