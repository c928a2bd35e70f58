import { describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { clickAt, clickCount, noVisitTraits } from './click.ts';
import { createBatchEnricher } from './enrich.ts';
import { type DescribedLink, NewLinkList, type NewLinks } from './new-links.ts';
import type { RawBatch } from './recorder.ts';
import { createAgentDescriber } from './steps/agent.ts';
import { createReferrerDescriber } from './steps/referrer.ts';
import { Suspicion } from './steps/suspicion.ts';
import { visitFlag } from './steps/visit.ts';
import { createVisitorHasher } from './steps/visitor-hash.ts';

const at = Date.UTC(2026, 5, 1);
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0';

const start = () =>
  createBatchEnricher({
    agents: createAgentDescriber({ entriesMax: 100 }),
    referrers: createReferrerDescriber({ entriesMax: 100 }),
    geo: { locate: address => ({ country: address.startsWith('10.') ? 'DE' : 'FR', region: '', city: '' }) },
    visitors: createVisitorHasher({ secret: new Uint8Array(32) }),
    suspicion: new Suspicion({ addressRate: 2, agentRate: 0, groupOf: address => address, seed: 1 }),
    clock: new ManualClock(),
  });

function newLinks(...links: DescribedLink[]): NewLinks {
  const list = new NewLinkList();
  for (const link of links) list.add(link);
  return list.take();
}

/** The numbers of owners and labels continue from batch to batch. */
const noNewLinks: NewLinks = { ...newLinks(), newOwners: [], newLabels: [] };

const raw = (overrides: Partial<RawBatch>): RawBatch => ({
  firstSequence: 1,
  at: new Float64Array([at, at + 1, at + 2]),
  flags: new Uint8Array(3),
  link: new Uint32Array([0, 1, 0]),
  visitor: new Uint32Array([0, 1, 2]),
  referrer: new Uint32Array([0, 1, 0]),
  query: new Uint32Array(0),
  forgetStrings: true,
  newLinks: newLinks({ code: 'a', ownerId: 'acc_1', tags: ['t'] }, { code: 'b', ownerId: null, tags: [] }),
  newAgents: [firefox, 'curl/8.0'],
  newReferrers: ['', 'https://www.news.example/page?secret=1'],
  newLanguages: ['', 'de-DE,de;q=0.9'],
  newQueries: [''],
  newVisitors: {
    addresses: '10.0.0.1\n10.0.0.2\n20.0.0.1',
    agents: new Uint32Array([0, 0, 1]),
    languages: new Uint32Array(3),
  },
  ...overrides,
});

const clicksOf = (batch: ReturnType<ReturnType<typeof start>['enrich']>) =>
  Array.from({ length: clickCount(batch) }, (_, index) => clickAt(batch, index));

describe('enriching a batch', () => {
  test('each click gets its link, agent, referrer, kind and place, and keeps its number and time', () => {
    const clicks = clicksOf(start().enrich(raw({})));
    expect(clicks.map(({ sequence, code, kind, country }) => [sequence, code, kind, country])).toEqual([
      [1, 'a', 'human', 'DE'],
      [2, 'b', 'human', 'DE'],
      [3, 'a', 'bot', 'FR'],
    ]);
    expect(clicks[0]).toMatchObject({
      at,
      ownerId: 'acc_1',
      tags: ['t'],
      agent: { browser: 'Firefox', os: 'Linux' },
    });
    expect(clicks[1]?.referrer).toEqual({
      referrer: 'https://www.news.example/page',
      domain: 'news.example',
    });
    expect(clicks[1]?.ownerId).toBeNull();
  });

  test('enriched clicks contain no address', () => {
    const batch = start().enrich(raw({}));
    expect(
      JSON.stringify(batch, (_, value) => (ArrayBuffer.isView(value) ? [...(value as Uint8Array)] : value)),
    ).not.toMatch(/10\.0\.0|20\.0\.0/);
  });

  test('a visitor is one within a day, whatever the link, and another with another address or agent', () => {
    const newVisitors = {
      addresses: '10.0.0.1\n10.0.0.1\n10.0.0.1',
      agents: new Uint32Array([0, 0, 1]),
      languages: new Uint32Array(3),
    };
    const [first, second, third] = clicksOf(start().enrich(raw({ newVisitors })));
    expect(second?.visitor).toBe(first!.visitor);
    expect(third?.visitor).not.toBe(first!.visitor);
    const [tomorrow] = clicksOf(start().enrich(raw({ at: new Float64Array(3).fill(at + 86_400_000) })));
    expect(tomorrow?.visitor).not.toBe(first!.visitor);
  });

  test('repeated values are listed once: three addresses in two places make two places', () => {
    const batch = start().enrich(raw({}));
    expect([batch.links.length, batch.agents.length, batch.referrers.length, batch.places.length]).toEqual([
      2, 2, 2, 2,
    ]);
  });

  test('strings are remembered between batches until the numbering restarts', () => {
    const enricher = start();
    enricher.enrich(raw({}));
    const later = enricher.enrich(
      raw({
        firstSequence: 4,
        forgetStrings: false,
        newLinks: noNewLinks,
        newLanguages: [],
        newQueries: [],
        newAgents: ['Googlebot/2.1'],
        newReferrers: [],
        newVisitors: {
          addresses: '30.0.0.1',
          agents: new Uint32Array([2]),
          languages: new Uint32Array([1]),
        },
        visitor: new Uint32Array([0, 2, 3]),
      }),
    );
    expect(clicksOf(later).map(({ kind }) => kind)).toEqual(['human', 'bot', 'bot']);
    expect(clicksOf(later).map(({ code, ownerId }) => [code, ownerId])).toEqual([
      ['a', 'acc_1'],
      ['b', null],
      ['a', 'acc_1'],
    ]);
    expect(clicksOf(later).map(({ visit }) => visit.language)).toEqual(['', '', 'de']);
    const again = enricher.enrich(raw({ newAgents: ['curl/8.0', firefox] }));
    expect(clicksOf(again).map(({ kind }) => kind)).toEqual(['bot', 'bot', 'human']);
  });

  test('someone who clicks before and after midnight is two visitors, also within a batch', () => {
    const midnight = Date.UTC(2026, 5, 2);
    const times = new Float64Array([midnight - 1, midnight, midnight - 1]);
    const visits = clicksOf(start().enrich(raw({ at: times, visitor: new Uint32Array(3) })));
    expect(visits[0]!.visitor).toBe(visits[2]!.visitor);
    expect(visits[0]!.visitor).not.toBe(visits[1]!.visitor);
  });

  test('HEAD and prefetch keep their kind for any agent', () => {
    const flags = new Uint8Array([visitFlag.head, visitFlag.prefetch, visitFlag.head]);
    expect(clicksOf(start().enrich(raw({ flags }))).map(({ kind }) => kind)).toEqual([
      'head',
      'prefetch',
      'head',
    ]);
  });

  test('people who click too fast are flagged from the first excess click on, machines never are', () => {
    const enricher = start();
    const same = { visitor: new Uint32Array(3), link: new Uint32Array(3), referrer: new Uint32Array(3) };
    expect(clicksOf(enricher.enrich(raw(same))).map(({ signal }) => signal)).toEqual([
      'none',
      'none',
      'address',
    ]);
    const machine = { ...same, visitor: new Uint32Array([2, 2, 2]) };
    const clicks = clicksOf(enricher.enrich(raw(machine)));
    expect(clicks.map(({ kind, signal }) => [kind, signal])).toEqual(Array(3).fill(['bot', 'none']));
  });

  test('a visit has its language, and the campaign of its query or else of the destination', () => {
    const campaign = {
      code: 'c',
      ownerId: null,
      tags: [],
      longUrl: 'https://e.com/?utm_source=d&utm_term=d',
    };
    const visits = raw({
      newLinks: newLinks({ code: 'a', ownerId: null, tags: ['t'] }, campaign),
      newLanguages: ['', 'de-DE,de;q=0.9', 'fr'],
      newQueries: ['', 'utm_source=v&qr'],
      newVisitors: {
        addresses: '10.0.0.1\n10.0.0.2\n10.0.0.3',
        agents: new Uint32Array(3),
        languages: new Uint32Array([0, 1, 2]),
      },
      at: new Float64Array(6).fill(at),
      flags: new Uint8Array(6),
      referrer: new Uint32Array(6),
      visitor: Uint32Array.of(0, 1, 2, 1, 1, 1),
      link: Uint32Array.of(0, 0, 0, 1, 0, 1),
      query: Uint32Array.of(0, 0, 0, 0, 1, 1),
    });
    const batch = start().enrich(visits);
    expect(clicksOf(batch).map(({ visit }) => visit)).toEqual([
      noVisitTraits,
      { ...noVisitTraits, language: 'de' },
      { ...noVisitTraits, language: 'fr' },
      { ...noVisitTraits, language: 'de', utmSource: 'd', utmTerm: 'd' },
      { ...noVisitTraits, language: 'de', utmSource: 'v', via: 'qr' },
      { ...noVisitTraits, language: 'de', utmSource: 'v', utmTerm: 'd', via: 'qr' },
    ]);
    expect(batch.visits).toHaveLength(6);
    const plain = clicksOf(start().enrich({ ...visits, query: new Uint32Array(0) }));
    expect(plain.map(({ visit }) => visit.utmSource)).toEqual(['', '', '', 'd', '', 'd']);
  });

  test('visits with the same traits are listed once, whatever else is in their queries', () => {
    const newQueries = ['', 'utm_source=a&fbclid=1', 'x=1&utm_source=a', 'utm_source=%61'];
    const batch = start().enrich(raw({ newQueries, query: Uint32Array.of(1, 2, 3) }));
    expect(batch.visits).toEqual([{ ...noVisitTraits, utmSource: 'a' }]);
  });

  test('visits are not mixed up when there are so many that they are forgotten', () => {
    const enricher = start();
    enricher.enrich(raw({}));
    let queries = 1;
    for (let round = 0; round < 30; round += 1) {
      const newQueries = Array.from({ length: 1_000 }, (_, index) => `utm_source=${queries + index}`);
      // The very first visit repeats in every batch, whether it is still remembered or not.
      const query = Uint32Array.from(newQueries, (_, index) => (index === 7 ? 1 : queries + index));
      const batch = enricher.enrich({
        ...raw({ forgetStrings: false, newAgents: [], newReferrers: [], newLanguages: [] }),
        newVisitors: { addresses: '', agents: new Uint32Array(0), languages: new Uint32Array(0) },
        newLinks: noNewLinks,
        at: new Float64Array(1_000).fill(at),
        flags: new Uint8Array(1_000),
        link: new Uint32Array(1_000),
        visitor: new Uint32Array(1_000),
        referrer: new Uint32Array(1_000),
        newQueries,
        query,
      });
      expect(batch.visits.map(({ utmSource }) => utmSource)).toEqual(Array.from(new Set(query), String));
      queries += 1_000;
    }
  });

  test('the input is not changed', () => {
    const given = raw({ link: new Uint32Array([1, 0, 1]), referrer: new Uint32Array([1, 0, 1]) });
    start().enrich(given);
    expect([[...given.link], [...given.referrer]]).toEqual([
      [1, 0, 1],
      [1, 0, 1],
    ]);
  });

  test('every step counts the clicks that went through it', () => {
    const enricher = start();
    enricher.enrich(raw({}));
    enricher.enrich(raw({}));
    expect(enricher.steps().map(({ name, clicks }) => [name, clicks])).toEqual([
      ['strings', 6],
      ['geo', 6],
      ['visitor', 6],
      ['visit', 6],
      ['kind', 6],
      ['signal', 6],
      ['lists', 6],
    ]);
  });
});
