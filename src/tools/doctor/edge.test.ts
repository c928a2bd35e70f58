import { afterEach, beforeEach, expect, test } from 'bun:test';
import { systemClock } from '../../base/clock.ts';
import { FakeEdge } from '../../edge/fake-edge.ts';
import { examineEdges } from './examine.ts';

let edge: FakeEdge;
beforeEach(() => {
  edge = new FakeEdge();
});
afterEach(() => edge.stop());

const token = 'token-of-the-operator';
const examined = (edgePurge: readonly string[], edgeTtlS = 60) =>
  examineEdges({ edgePurge, edgePurgeToken: token, edgeTtlS }, systemClock);

test('a cache that accepts purges is ok, and no real link is purged', async () => {
  const { host } = new URL(edge.url);
  expect(await examined([edge.url])).toMatchObject([{ verdict: 'ok', detail: `${host} takes purges` }]);
  expect(edge.seen.map(({ headers }) => headers.get('surrogate-key'))).toEqual(['terse-doctor']);
});

test('one that rejects, or is not there, fails, and the token stays secret', async () => {
  edge.answer = () => new Response(token, { status: 403 });
  const findings = await examined([edge.url, 'http://127.0.0.1:1/{code}']);
  expect(findings.map(({ verdict }) => verdict)).toEqual(['fail', 'fail']);
  expect(findings[0]?.detail).toContain('the edge answered a purge with 403');
  expect(findings[1]?.detail).toContain('the edge cannot be reached');
  expect(JSON.stringify(findings)).not.toContain(token);
});

test('redirects that may be cached and are not purged are reported; without an edge there is no finding', async () => {
  expect(await examined([])).toMatchObject([{ verdict: 'warn', fix: 'name them in TERSE_EDGE_PURGE' }]);
  expect(await examined([], 0)).toEqual([]);
});

test('CloudFront is not asked', async () => {
  expect(await examined(['cloudfront://E1'])).toMatchObject([{ verdict: 'ok' }]);
});
