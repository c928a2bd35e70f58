/**
 * The promises behind any edge cache, with the configurations of `deploy/`. Redirects are answered at the edge; a kill
 * reaches it, even if Terse died before the purge; and every click is counted once, from the edge's log or because the
 * edge asks each time.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createClickedLinks } from '../kit/click-account.ts';
import { EdgeInstallation, type EdgeKind } from '../kit/edge-installation.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { kill, killKinds, leadsThere, makeVictims } from '../kit/kills.ts';
import { report } from '../kit/report.ts';
import { scaled } from '../kit/scale.ts';
import { adminKey } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';
import { sampleVisits } from '../kit/visit-kinds.ts';
import { sendVisits, VisitTally } from '../kit/visit-load.ts';
import { browser } from '../kit/visitors.ts';

const visitCount = scaled(3_000, 200_000);
const connections = 8;

export function edgeConformance(kind: EdgeKind): void {
  describeWithEngine(kind, `redirects kept by ${kind}`, () => {
    let installation: EdgeInstallation;
    beforeAll(async () => {
      installation = await EdgeInstallation.start(kind, 'log');
    });
    afterAll(() => installation?.stop());

    test('are requested once, whatever the query, and go to visitors alone', async () => {
      const [code] = await createClickedLinks(installation.terse.url, 1);
      const before = await installation.answeredByTerse();
      const answers = [];
      for (const query of ['', '?utm_source=a', '?utm_source=b', ''])
        answers.push(await visit(installation, `/${code}${query}`));
      for (const { status, headers } of answers) {
        expect(status).toBe(302);
        expect(headers.get('location')).toBe('https://example.com/clicked/0');
        expect(headers.get('cache-control')).toBe('private, max-age=0');
        for (const name of ['surrogate-key', 'xkey', 'x-ask-first']) expect(headers.has(name)).toBe(false);
      }
      expect(await installation.answeredByTerse()).toBe(before + 1);
    });

    test.each<[string, Record<string, unknown>, RequestInit]>([
      ['a link with a limit', { maxClicks: 100 }, {}],
      ['a link whose answer depends on the query', { forwardQuery: true }, {}],
      ['a HEAD', {}, { method: 'HEAD' }],
      ['what a browser fetches ahead', {}, { headers: { 'Sec-Purpose': 'prefetch' } }],
    ])('%s is requested every time', async (_what, fields, request) => {
      const body = { longUrl: 'https://example.com/there', ...fields };
      const code = (await installation.call('POST', '/api/v1/links', { body })).body.shortCode;
      // Fills the cache where that is allowed: the edge could then answer from it.
      await visit(installation, `/${code}`);
      const before = await installation.answeredByTerse();
      for (const query of ['?a=1', '?a=2', '?a=3']) await visit(installation, `/${code}${query}`, request);
      expect(await installation.answeredByTerse()).toBe(before + 3);
      if ('forwardQuery' in fields) {
        const answer = await visit(installation, `/${code}?a=4`);
        expect(answer.headers.get('location')).toBe('https://example.com/there?a=4');
      }
    });

    test('metrics are not available through the edge, even with an admin key; links with similar names are', async () => {
      await expectNoMetrics(installation);
    });

    test('a killed link is dead at the edge long before its TTL is over, however it was killed', async () => {
      const victims = await makeVictims(installation.call, killKinds.length);
      for (const [index, victim] of victims.entries()) {
        expect(await leadsThere(installation.edge.url, victim)).toBe(true);
        expect(await leadsThere(installation.edge.url, victim)).toBe(true);
        await kill(installation.call, killKinds[index]!, victim);
      }
      for (const victim of victims)
        await until(`${victim.code} to die`, async () => !(await leadsThere(installation.edge.url, victim)));
    });

    test('every click is counted once from the log, people and machines apart, however often it is read', async () => {
      const codes = await createClickedLinks(installation.terse.url, 5);
      const before = await installation.answeredByTerse();
      const tally = new VisitTally(sampleVisits({ codes }));
      await sendVisits({ url: installation.edge.url, visits: tally, connections, count: visitCount });
      expect(tally.faults).toEqual([]);
      const asked = (await installation.answeredByTerse()) - before;
      const heads = tally.kinds.reduce(
        (sum, { request }, index) =>
          request.toString('latin1', 0, 4) === 'HEAD' ? sum + tally.answered[index]! : sum,
        0,
      );
      // Only HEAD requests and the first visit of each link.
      expect(asked).toBe(heads + codes.length);

      const people = tally.answeredCount(({ isHuman }) => isHuman);
      const all = { people, machines: visitCount - people };
      // The log is written a moment after the answer, and may be read while it grows.
      await until('every click to be counted', async () => {
        await installation.importLog();
        return Bun.deepEquals(await installation.counted(codes), all);
      });
      expect(await installation.importLog()).toContain(': 0 clicks imported');
      report(
        `${kind}, from its log: ${visitCount} visits sent, ${all.people + all.machines} counted; ` +
          `${((100 * (visitCount - asked)) / visitCount).toFixed(1)} % answered at the edge`,
      );
    });

    test('a purge that Terse could not send before it died is sent when it is back', async () => {
      const [victim] = await makeVictims(installation.call, 1);
      expect(await leadsThere(installation.edge.url, victim!)).toBe(true);
      await kill(installation.call, 'disable', victim!);
      await installation.terse.kill();
      await installation.restartTerse();
      await until('the link to die', async () => !(await leadsThere(installation.edge.url, victim!)));
    });
  });

  describeWithEngine(kind, `redirects that ${kind} must ask for each time`, () => {
    let installation: EdgeInstallation;
    beforeAll(async () => {
      installation = await EdgeInstallation.start(kind, 'revalidate');
    });
    afterAll(() => installation?.stop());

    test('are all counted by Terse, also when many come at once; and when Terse is down, from the log', async () => {
      const codes = await createClickedLinks(installation.terse.url, 3);
      const tally = new VisitTally(sampleVisits({ codes }));
      await sendVisits({ url: installation.edge.url, visits: tally, connections, count: visitCount });
      expect(tally.faults).toEqual([]);
      const people = tally.answeredCount(({ isHuman }) => isHuman);
      const all = { people, machines: visitCount - people };
      // Where Terse did not answer the edge in time, the edge answered, and its log has the click.
      await until('every click to be counted', async () => {
        await installation.importLog();
        return Bun.deepEquals(await installation.counted(codes), all);
      });
      expect(await installation.importLog()).toContain(': 0 clicks imported');

      await installation.terse.kill();
      const missed = 20;
      for (let count = 0; count < missed; count += 1)
        expect((await visit(installation, `/${codes[0]}`)).status).toBe(302);
      await installation.restartTerse();
      await until('what the edge answered to be counted', async () => {
        await installation.importLog();
        return Bun.deepEquals(await installation.counted(codes), { ...all, people: people + missed });
      });
      report(
        `${kind}, asking each time: ${visitCount} visits sent, ${visitCount} counted; ` +
          `${missed} of ${missed} while Terse was dead`,
      );
    });

    test('metrics are not available through the edge, even with an admin key; links with similar names are', async () => {
      await expectNoMetrics(installation);
    });

    test('a killed link is not brought back by the edge when Terse is down', async () => {
      const [victim] = await makeVictims(installation.call, 1);
      expect(await leadsThere(installation.edge.url, victim!)).toBe(true);
      await kill(installation.call, 'delete', victim!);
      expect(await leadsThere(installation.edge.url, victim!)).toBe(false);
      await until('the purge', async () => (await purges(installation)) > 0);
      await installation.terse.kill();
      expect((await visit(installation, `/${victim!.code}`)).status).toBeGreaterThanOrEqual(500);
      await installation.restartTerse();
    });
  });
}

async function visit(
  { edge }: EdgeInstallation,
  path: string,
  request: RequestInit = {},
): Promise<Pick<Response, 'status' | 'headers'>> {
  const answer = await fetch(edge.url + path, {
    redirect: 'manual',
    ...request,
    headers: { ...browser, ...request.headers },
  });
  await answer.arrayBuffer();
  return answer;
}

async function expectNoMetrics(installation: EdgeInstallation): Promise<void> {
  const headers = { Authorization: `Bearer ${adminKey}` };
  for (const path of ['/metrics', '/metrics?name=up']) {
    expect((await fetch(installation.terse.url + path, { headers })).status).toBe(200);
    expect((await visit(installation, path, { headers })).status).toBe(404);
  }
  const body = { longUrl: 'https://example.com/', customAlias: 'metrics-of-spring' };
  expect((await installation.call('POST', '/api/v1/links', { body })).status).toBe(201);
  expect((await visit(installation, '/metrics-of-spring')).status).toBe(302);
}

async function purges({ terse }: EdgeInstallation): Promise<number> {
  const text = await (await fetch(`${terse.url}/metrics`)).text();
  return Number(/^terse_edge_purged_total\{edge="[^"]+"\} (\d+)$/m.exec(text)?.[1] ?? 0);
}
