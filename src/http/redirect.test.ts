import { describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { sampleLink } from '../links/store-samples.ts';
import type { ResolvedLink } from '../resolve/decide.ts';
import { notInMemory } from '../resolve/resolver.ts';
import { type CodeRequest, createRedirect } from './redirect.ts';

const warm: ResolvedLink = { ...sampleLink('warm'), followable: true };

/** A redirect in front of a memory that knows one link and a store that fails. */
function redirectWith(isOverloaded: boolean) {
  const asked: string[] = [];
  const faults: unknown[] = [];
  const redirect = createRedirect({
    recall: code => (code === 'warm' ? warm : notInMemory),
    async resolve(code) {
      asked.push(code);
      throw new Error('the disk is gone');
    },
    useClick: async () => true,
    record() {},
    isOverloaded: () => isOverloaded,
    clock: new ManualClock(),
    baseUrl: 'https://terse.example',
    expiredStatus: 410,
    edgeTtlS: 0,
    robots: undefined,
    onAnswer() {},
    onFault: error => faults.push(error),
  });
  const visit = (code: string) =>
    redirect(Object.assign(new Request(`http://localhost/${code}`), { params: { code } }) as CodeRequest);
  return { visit, asked, faults };
}

describe('while the server is overloaded', () => {
  test('what memory does not know is refused without asking the store', async () => {
    const { visit, asked, faults } = redirectWith(true);
    for (const code of ['cold', 'cold+']) {
      const response = await visit(code);
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toBe('1');
      expect(await response.json()).toMatchObject({ code: 'overloaded' });
    }
    expect(asked).toEqual([]);
    expect(faults).toEqual([]);
  });

  test('what memory knows is answered at once', async () => {
    const { visit, asked } = redirectWith(true);
    expect(visit('warm')).toBeInstanceOf(Response);
    expect((await visit('warm')).status).toBe(302);
    expect((await visit('warm+')).status).toBe(200);
    expect(asked).toEqual([]);
  });
});

test('a store that fails is told as such and noted once per visit', async () => {
  const { visit, asked, faults } = redirectWith(false);
  for (const code of ['cold', 'cold+']) {
    expect(await (await visit(code)).json()).toMatchObject({ status: 503, code: 'store_unavailable' });
  }
  expect(asked).toEqual(['cold', 'cold']);
  expect(faults).toHaveLength(2);
});
