import { beforeEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ManualClock } from '../base/clock.ts';
import type { LinkLabels } from './new-links.ts';
import { unpackTexts } from './packed-texts.ts';
import { ConnectionVisitor, type RawBatch, Recorder, rawBatchTransfers } from './recorder.ts';

const link = (code: string, version = 1) => ({ code, ownerId: 'acc_1', tags: [], version });

const visitor = (agent: string): ConnectionVisitor => new ConnectionVisitor('x', agent, '', 0, '');

/** Decodes batches like the click thread. */
class Listener {
  readonly sequences: number[] = [];
  readonly clicks: string[] = [];
  #links: string[] = [];
  #owners: string[] = [];
  #labels: string[] = [];
  #languages: string[] = [];
  #queries: string[] = [];
  #agents: string[] = [];
  #referrers: string[] = [];
  #visitors: string[] = [];

  hear(batch: RawBatch): void {
    if (batch.forgetStrings) {
      [this.#links, this.#agents, this.#referrers, this.#visitors] = [[], [], [], []];
      [this.#owners, this.#labels, this.#languages, this.#queries] = [[], [], [], []];
    }
    const { codes, owners, labels, newOwners, newLabels } = batch.newLinks;
    this.#owners.push(...newOwners);
    this.#labels.push(...newLabels);
    for (const [index, code] of unpackTexts(codes).entries()) {
      const [owner, label] = [this.#owners[owners[index] ?? 0], this.#labels[labels[index] ?? 0]];
      this.#links.push(`${code} of ${owner}${label}`);
    }
    this.#agents.push(...batch.newAgents);
    this.#referrers.push(...batch.newReferrers);
    this.#languages.push(...batch.newLanguages);
    this.#queries.push(...batch.newQueries);
    const { addresses, agents, languages } = batch.newVisitors;
    const described = agents.length === 0 ? [] : addresses.split('\n');
    expect(described).toHaveLength(agents.length);
    for (const [index, address] of described.entries())
      this.#visitors.push(`${address}|${this.#agents[agents[index]!]}|${this.#languages[languages[index]!]}`);
    for (let index = 0; index < batch.at.length; index += 1) {
      this.sequences.push(batch.firstSequence + index);
      this.clicks.push(
        [
          this.#links[batch.link[index]!],
          batch.at[index],
          this.#visitors[batch.visitor[index]!],
          this.#referrers[batch.referrer[index]!],
          batch.flags[index],
          this.#queries[batch.query[index] ?? 0],
        ].join('|'),
      );
    }
  }
}

describe('recorder', () => {
  let clock: ManualClock;
  let sent: RawBatch[];
  let noted: number;
  beforeEach(() => {
    clock = new ManualClock(0);
    sent = [];
    noted = 0;
  });
  const start = (capacity?: number) =>
    new Recorder({
      clock,
      send: batch => sent.push(batch),
      head: { note: sequence => (noted = sequence) },
      ...(capacity !== undefined && { capacity }),
    });

  test('clicks arrive as they were recorded, in order, numbered without a gap', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(9), fc.nat(5), fc.nat(5), fc.nat(3), fc.boolean()), { maxLength: 300 }),
        steps => {
          sent = [];
          const recorder = start(64);
          const listener = new Listener();
          const expected: string[] = [];
          const visitors = new Map<string, ConnectionVisitor>();
          /** Some come back over the same connection, and some over another. */
          const visitorOf = (address: string, agent: string, referrer: string): ConnectionVisitor => {
            const key = `${address} ${agent} ${referrer}`;
            const known = visitors.get(key);
            if (known !== undefined && expected.length % 3 !== 0) return known;
            const fresh = new ConnectionVisitor(address, agent, referrer, 0, `de-${agent}`);
            visitors.set(key, fresh);
            return fresh;
          };
          for (const [code, agent, referrer, flags, flush] of steps) {
            const query = flags === 0 ? '' : `utm_source=${referrer}`;
            recorder.record(
              link(`c${code}`),
              visitorOf(`10.0.0.${code}`, `agent${agent}`, `ref${referrer}`),
              expected.length,
              flags,
              query,
            );
            const visitor = `10.0.0.${code}|agent${agent}|de-agent${agent}`;
            expected.push(
              [`c${code} of acc_1`, expected.length, visitor, `ref${referrer}`, flags, query].join('|'),
            );
            if (flush || recorder.pending === 64) {
              recorder.flush();
              while (sent.length > 0) {
                listener.hear(sent.shift()!);
                recorder.acknowledge();
              }
            }
          }
          recorder.flush();
          for (const batch of sent) listener.hear(batch);
          expect(listener.clicks).toEqual(expected);
          expect(listener.sequences).toEqual(expected.map((_, index) => index + 1));
          expect(recorder.dropped).toBe(0);
        },
      ),
    );
  });

  test('a timer sends what is pending', () => {
    const recorder = start();
    recorder.record(link('a'), visitor(''), 1, 0, '');
    expect(sent).toHaveLength(0);
    clock.advance(200);
    expect(sent).toHaveLength(1);
    clock.advance(1_000);
    expect(sent).toHaveLength(1);
  });

  test('when clicks are not consumed, the oldest are evicted, and the gap in the numbers says how many', () => {
    const recorder = start(10);
    for (let n = 0; n < 4; n += 1) {
      recorder.record(link('a'), visitor(''), n, 0, '');
      recorder.flush();
    }
    expect(sent).toHaveLength(4);
    for (let n = 0; n < 25; n += 1) recorder.record(link('a'), visitor(''), 100 + n, 0, '');
    expect([recorder.pending, recorder.dropped, recorder.recorded, noted]).toEqual([10, 15, 29, 29]);
    recorder.flush();
    expect(sent).toHaveLength(4);
    recorder.acknowledge();
    recorder.flush();
    expect([sent[4]!.firstSequence, [...sent[4]!.at]]).toEqual([
      20,
      [115, 116, 117, 118, 119, 120, 121, 122, 123, 124],
    ]);
  });

  test('a flush that came too early is repeated when a message is acknowledged', () => {
    const recorder = start();
    for (let n = 0; n < 5; n += 1) {
      recorder.record(link('a'), visitor(''), n, 0, '');
      recorder.flush();
    }
    expect([sent.length, recorder.pending]).toEqual([4, 1]);
    recorder.acknowledge();
    expect([sent.length, recorder.pending]).toEqual([5, 0]);
    recorder.record(link('a'), visitor(''), 9, 0, '');
    recorder.acknowledge();
    expect(recorder.pending).toBe(1);
  });

  test('when the click thread is lost, pending clicks count as dropped and the next thread receives every string', () => {
    const recorder = start();
    recorder.record(link('a'), visitor('agent'), 1, 0, '');
    recorder.flush();
    recorder.record(link('a'), visitor('agent'), 2, 0, '');
    recorder.threadLost();
    expect([recorder.pending, recorder.dropped]).toEqual([0, 1]);
    recorder.record(link('a'), visitor('agent'), 3, 0, '');
    recorder.flush();
    const { firstSequence, forgetStrings, newLinks, newAgents } = sent[1]!;
    expect([firstSequence, forgetStrings, newAgents]).toEqual([3, true, ['', 'agent']]);
    expect([unpackTexts(newLinks.codes), newLinks.newOwners]).toEqual([['a'], ['', 'acc_1']]);
  });

  test('a visitor on a new connection is described again only after another one from the same address', () => {
    const recorder = start();
    for (const agent of ['one', 'one', 'other', 'one']) recorder.record(link('a'), visitor(agent), 1, 0, '');
    recorder.record(link('a'), new ConnectionVisitor('x', 'one', '', 0, 'de'), 1, 0, '');
    recorder.flush();
    const { newVisitors, visitor: numbers } = sent[0]!;
    expect([newVisitors.addresses.split('\n').length, [...numbers]]).toEqual([4, [0, 0, 1, 2, 3]]);
    recorder.threadLost();
    recorder.record(link('a'), visitor('one'), 2, 0, '');
    recorder.flush();
    expect([sent[1]!.newVisitors.addresses, [...sent[1]!.visitor]]).toEqual(['x', [0]]);
  });

  test('an edited link is described again', () => {
    const recorder = start();
    recorder.record(link('a', 1), visitor(''), 1, 0, '');
    recorder.record(link('a', 1), visitor(''), 2, 0, '');
    recorder.record(link('a', 2), visitor(''), 3, 0, '');
    recorder.flush();
    expect(unpackTexts(sent[0]!.newLinks.codes)).toEqual(['a', 'a']);
    expect([...sent[0]!.link]).toEqual([0, 0, 1]);
  });

  test('endless new strings neither fill the memory nor mix up the clicks', () => {
    const recorder = start();
    const listener = new Listener();
    for (let n = 0; n < 120_000; n += 1) {
      recorder.record(
        link(`c${n % 7}`),
        new ConnectionVisitor('x', `agent ${n}`, 'y'.repeat(5_000), 0, `language ${n}`),
        n,
        0,
        `utm_source=${n}`,
      );
      if (recorder.pending > 4_000) recorder.flush();
      while (sent.length > 0) {
        listener.hear(sent.shift()!);
        recorder.acknowledge();
      }
    }
    recorder.flush();
    for (const batch of sent) listener.hear(batch);
    expect(listener.clicks).toHaveLength(120_000);
    const visitor = 'x|agent 99999|language 99999';
    expect(listener.clicks[99_999]).toBe(
      `c4 of acc_1|99999|${visitor}|${'y'.repeat(1_024)}|0|utm_source=99999`,
    );
  });

  test('a language and a query are kept up to a length', () => {
    const recorder = start();
    const visitor = new ConnectionVisitor('x', '', '', 0, 'l'.repeat(5_000));
    recorder.record(link('a'), visitor, 1, 0, `qr&${'z'.repeat(5_000)}`);
    recorder.flush();
    const { newLanguages, newQueries } = taken();
    expect([...newLanguages, ...newQueries].map(({ length }) => length)).toEqual([0, 32, 0, 1_024]);
  });

  const taken = (): RawBatch => {
    const batch = sent.shift()!;
    expect(sent).toHaveLength(0);
    return batch;
  };

  test('a query that statistics do not use is not kept, and a batch without any has no column for them', () => {
    const recorder = start();
    const queries = ['', 'fbclid=1', 'xqr=1', 'a=qr', 'qrcode'];
    for (const query of queries) recorder.record(link('a'), visitor(''), 1, 0, query);
    recorder.flush();
    const unused = taken();
    expect([unused.query.length, unused.newQueries]).toEqual([0, ['']]);
    const used = ['qr', 'qr=1&a=1', 'a=1&qr', '', 'utm_term=x', 'qr'];
    for (const query of used) recorder.record(link('a'), visitor(''), 2, 0, query);
    recorder.flush();
    const { query, newQueries } = taken();
    expect(Array.from(query, number => ['', ...newQueries][number])).toEqual(used);
    recorder.record(link('a'), visitor(''), 3, 0, '');
    recorder.flush();
    const without = taken();
    expect([without.query.length, without.newQueries]).toEqual([0, []]);
  });

  test('a link is described with its owner, its tags, and what its destination says of campaigns', () => {
    const recorder = start();
    const links = [
      { code: 'plain', ownerId: null, tags: [], version: 1, longUrl: 'https://e.com/?a=1' },
      { code: 'owned', ownerId: 'acc_1', tags: [], version: 1, longUrl: 'https://e.com/utm_x' },
      { code: 'tagged', ownerId: 'acc_2', tags: ['a', 'b'], version: 1 },
      { code: 'same', ownerId: 'acc_1', tags: ['a', 'b'], version: 1, longUrl: 'https://e.com/' },
      { code: 'utm', ownerId: null, tags: [], version: 1, longUrl: 'https://e.com/?utm_term=x#utm_term=y' },
      { code: 'late', ownerId: null, tags: [], version: 1, longUrl: 'https://e.com/#?utm_term=y' },
    ];
    for (const each of links) recorder.record(each, visitor(''), 1, 0, '');
    recorder.flush();
    const { codes, owners, labels, newOwners, newLabels } = taken().newLinks;
    const labelsAt = (index: number): LinkLabels | '' => {
      const text = newLabels[labels[index]!]!;
      return text === '' ? '' : JSON.parse(text);
    };
    expect(
      unpackTexts(codes).map((code, index) => [code, newOwners[owners[index]!], labelsAt(index)]),
    ).toEqual([
      ['plain', '', ''],
      ['owned', 'acc_1', ''],
      ['tagged', 'acc_2', { tags: ['a', 'b'], query: '' }],
      ['same', 'acc_1', { tags: ['a', 'b'], query: '' }],
      ['utm', '', { tags: [], query: 'utm_term=x' }],
      ['late', '', ''],
    ]);
    expect(newLabels).toHaveLength(3);
  });

  test('the destination’s query is bounded', () => {
    const recorder = start();
    const longUrl = `https://e.com/?utm_term=${'x'.repeat(5_000)}`;
    recorder.record({ ...link('a'), longUrl }, visitor(''), 1, 0, '');
    recorder.flush();
    const [, text = ''] = taken().newLinks.newLabels;
    expect((JSON.parse(text) as LinkLabels).query).toHaveLength(1_024);
  });

  test('codes of any length arrive, however many there are in a batch', () => {
    const recorder = start();
    const codes = Array.from({ length: 5_000 }, (_, index) => `${'x'.repeat(index % 60)}${index}`);
    for (const code of codes) recorder.record(link(code), visitor(''), 1, 0, '');
    recorder.flush();
    expect(unpackTexts(taken().newLinks.codes)).toEqual(codes);
    recorder.record(link('later'), visitor(''), 1, 0, '');
    recorder.flush();
    expect(unpackTexts(taken().newLinks.codes)).toEqual(['later']);
  });

  test('buffers that are transferred to another thread are not used afterwards', () => {
    const recorder = start();
    for (let n = 0; n < 2; n += 1) {
      recorder.record({ ...link(`c${n}`), tags: ['t'] }, visitor('agent'), n, 0, 'qr');
      recorder.flush();
      const batch = taken();
      const buffers = rawBatchTransfers(batch);
      expect(new Set(buffers).size).toBe(buffers.length);
      const { newLinks, link: links } = structuredClone(batch, { transfer: buffers });
      expect([unpackTexts(newLinks.codes), [...links]]).toEqual([[`c${n}`], [n]]);
    }
  });
});
