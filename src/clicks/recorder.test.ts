import { beforeEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ManualClock } from '../base/clock.ts';
import { ConnectionVisitor, type RawBatch, Recorder } from './recorder.ts';

const link = (code: string, version = 1) => ({ code, ownerId: 'acc_1', tags: [], version });

const visitor = (agent: string): ConnectionVisitor => new ConnectionVisitor('x', agent, '', 0);

/** The click thread's side of the numbering, to read batches back. */
class Listener {
  readonly sequences: number[] = [];
  readonly clicks: string[] = [];
  #links: string[] = [];
  #agents: string[] = [];
  #referrers: string[] = [];
  #visitors: string[] = [];

  hear(batch: RawBatch): void {
    if (batch.forgetStrings) [this.#links, this.#agents, this.#referrers, this.#visitors] = [[], [], [], []];
    this.#links.push(...batch.newLinks.map(({ code }) => code));
    this.#agents.push(...batch.newAgents);
    this.#referrers.push(...batch.newReferrers);
    const { addresses, agents } = batch.newVisitors;
    const described = agents.length === 0 ? [] : addresses.split('\n');
    expect(described).toHaveLength(agents.length);
    for (const [index, address] of described.entries())
      this.#visitors.push(`${address}|${this.#agents[agents[index]!]}`);
    for (let index = 0; index < batch.at.length; index += 1) {
      this.sequences.push(batch.firstSequence + index);
      this.clicks.push(
        [
          this.#links[batch.link[index]!],
          batch.at[index],
          this.#visitors[batch.visitor[index]!],
          this.#referrers[batch.referrer[index]!],
          batch.flags[index],
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

  test('clicks arrive as they were noted, in order, numbered without a gap', () => {
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
            const fresh = new ConnectionVisitor(address, agent, referrer, 0);
            visitors.set(key, fresh);
            return fresh;
          };
          for (const [code, agent, referrer, flags, flush] of steps) {
            recorder.record(
              link(`c${code}`),
              visitorOf(`10.0.0.${code}`, `agent${agent}`, `ref${referrer}`),
              expected.length,
              flags,
            );
            expected.push(
              [`c${code}`, expected.length, `10.0.0.${code}`, `agent${agent}`, `ref${referrer}`, flags].join(
                '|',
              ),
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
    recorder.record(link('a'), visitor(''), 1, 0);
    expect(sent).toHaveLength(0);
    clock.advance(200);
    expect(sent).toHaveLength(1);
    clock.advance(1_000);
    expect(sent).toHaveLength(1);
  });

  test('when no consumer takes them, the oldest clicks are evicted, and the gap in the numbers says how many', () => {
    const recorder = start(10);
    for (let n = 0; n < 4; n += 1) {
      recorder.record(link('a'), visitor(''), n, 0);
      recorder.flush();
    }
    expect(sent).toHaveLength(4);
    for (let n = 0; n < 25; n += 1) recorder.record(link('a'), visitor(''), 100 + n, 0);
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

  test('a flush that came too early is made up for when a message is taken', () => {
    const recorder = start();
    for (let n = 0; n < 5; n += 1) {
      recorder.record(link('a'), visitor(''), n, 0);
      recorder.flush();
    }
    expect([sent.length, recorder.pending]).toEqual([4, 1]);
    recorder.acknowledge();
    expect([sent.length, recorder.pending]).toEqual([5, 0]);
    recorder.record(link('a'), visitor(''), 9, 0);
    recorder.acknowledge();
    expect(recorder.pending).toBe(1);
  });

  test('when the click thread is lost, pending clicks count as dropped and the next thread receives every string', () => {
    const recorder = start();
    recorder.record(link('a'), visitor('agent'), 1, 0);
    recorder.flush();
    recorder.record(link('a'), visitor('agent'), 2, 0);
    recorder.threadLost();
    expect([recorder.pending, recorder.dropped]).toEqual([0, 1]);
    recorder.record(link('a'), visitor('agent'), 3, 0);
    recorder.flush();
    const { firstSequence, forgetStrings, newLinks, newAgents } = sent[1]!;
    expect([firstSequence, forgetStrings, newLinks.length, newAgents]).toEqual([3, true, 1, ['', 'agent']]);
  });

  test('an edited link is described again', () => {
    const recorder = start();
    recorder.record(link('a', 1), visitor(''), 1, 0);
    recorder.record(link('a', 1), visitor(''), 2, 0);
    recorder.record(link('a', 2), visitor(''), 3, 0);
    recorder.flush();
    expect(sent[0]!.newLinks).toHaveLength(2);
    expect([...sent[0]!.link]).toEqual([0, 0, 1]);
  });

  test('endless new strings neither fill the memory nor mix up the clicks', () => {
    const recorder = start();
    const listener = new Listener();
    for (let n = 0; n < 120_000; n += 1) {
      recorder.record(
        link(`c${n % 7}`),
        new ConnectionVisitor('x', `agent ${n}`, 'y'.repeat(5_000), 0),
        n,
        0,
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
    expect(listener.clicks[99_999]).toBe(`c4|99999|x|agent 99999|${'y'.repeat(1_024)}|0`);
  });
});
