import { describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { createProbingGuard, createRedirectLimit } from '../limits/redirect-limit.ts';
import { sampleLink } from '../links/store-samples.ts';
import type { ResolvedLink } from '../resolve/decide.ts';
import { notInMemory } from '../resolve/resolver.ts';
import { createVisitors } from './client-address.ts';
import { createRedirect } from './redirect.ts';
import { createContinueTokens, createWarning } from './warning.ts';
import { Fields } from './wire/fields.ts';
import { WireRequest } from './wire/wire-request.ts';

const warm: ResolvedLink = { ...sampleLink('warm'), followable: true };

/** A redirect in front of a memory that knows one link and a store that fails. */
function redirectWith(isOverloaded: boolean) {
  const asked: string[] = [];
  const recorded: [code: string, query: string, flags: number, language: string][] = [];
  const faults: unknown[] = [];
  const clock = new ManualClock();
  const redirect = createRedirect({
    plain: undefined,
    recall: code => (code === 'warm' ? warm : notInMemory),
    recallStale: code => (code === 'known' ? { ...warm, code } : undefined),
    async ask(code) {
      asked.push(code);
      throw new Error('the disk is gone');
    },
    useClick: async () => true,
    record: (link, visitor, _at, flags, query) =>
      void recorded.push([link.code, query, flags, visitor.language]),
    visitorOf: createVisitors(peer => peer),
    warning: createWarning(createContinueTokens(new Uint8Array(32), clock), 'https://terse.example'),
    probing: createProbingGuard(null),
    limit: createRedirectLimit({ everyone: null, byPlan: {} }, () => undefined),
    admit() {
      if (isOverloaded) throw new Problem('overloaded', { headers: { 'Retry-After': '1' } });
      return { pause() {}, resume() {}, end() {} };
    },
    clock,
    baseUrl: 'https://terse.example',
    config: { expiredStatus: 410, edgeTtlS: 0, edgeClicks: 'log', robots: undefined },
    onAnswer() {},
    onFault: error => faults.push(error),
  });
  const visit = (code: string, { query = '', method = 'GET' } = {}) =>
    redirect(
      new WireRequest(
        { method, path: `/${code}`, query, isOldVersion: false },
        new Fields(['accept-language'], ['de']),
        { address: '127.0.0.1' },
      ),
    );
  return { visit, asked, faults, recorded };
}

describe('while the server is overloaded', () => {
  test('links that are not in memory are rejected without asking the store', async () => {
    const { visit, asked, faults } = redirectWith(true);
    for (const code of ['cold', 'cold+']) {
      const response = await visit(code);
      expect(response.status).toBe(503);
      expect(response.head).toContain('\r\nRetry-After: 1\r\n');
      expect(JSON.parse(response.body)).toMatchObject({ code: 'overloaded' });
    }
    expect(asked).toEqual([]);
    expect(faults).toEqual([]);
  });

  test('links in memory are answered at once', async () => {
    const { visit, asked } = redirectWith(true);
    expect(visit('warm')).not.toBeInstanceOf(Promise);
    expect((await visit('warm')).status).toBe(302);
    expect((await visit('warm+')).status).toBe(200);
    expect(asked).toEqual([]);
  });
});

test('a store that fails is reported as such and logged once per visit', async () => {
  const { visit, asked, faults } = redirectWith(false);
  for (const code of ['cold', 'cold+']) {
    expect(JSON.parse((await visit(code)).body)).toMatchObject({ status: 503, code: 'store_unavailable' });
  }
  expect(asked).toEqual(['cold', 'cold']);
  expect(faults).toHaveLength(2);
});

test('a followed link is recorded with its query, which the answer does not depend on', async () => {
  const { visit, recorded } = redirectWith(false);
  const plain = await visit('warm');
  expect(await visit('warm', { query: 'utm_source=a&qr' })).toEqual(plain);
  await visit('warm', { query: 'qr', method: 'HEAD' });
  await visit('warm+', { query: 'qr' });
  expect(recorded).toEqual([
    ['warm', '', 0, 'de'],
    ['warm', 'utm_source=a&qr', 0, 'de'],
    ['warm', 'qr', 1, 'de'],
  ]);
});
