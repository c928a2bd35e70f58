import { describe, expect, test } from 'bun:test';
import type { Actor } from '../../accounts/account.ts';
import { fakeActor } from '../../accounts/fake-actors.ts';
import { everythingAbout } from '../../audit/audit-log.ts';
import { ManualClock, yieldToEventLoop } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { WatchList } from '../../clicks/live.ts';
import type { ClickReports } from '../../clicks/stats.ts';
import type { LinkContext } from '../../links/context.ts';
import type { Link } from '../../links/link.ts';
import { sampleLink } from '../../links/store-samples.ts';
import { fakeModeration } from '../../moderation/fake-moderation.ts';
import { viewsPerAccountMax } from '../live-stream.ts';
import { openApiDocument } from '../openapi.ts';
import { RequestSpelling } from '../spellings.ts';
import { clickRoutes } from './clicks.ts';

const owner = fakeActor('acc_owner');
const beatMs = 5_000;

/** A server whose link, and whose decision about the caller, can change while an answer is in progress. */
function serverWith(own: Partial<ClickReports> = {}) {
  const { audit } = fakeModeration();
  const clock = new ManualClock();
  const watchers = new WatchList(() => {});
  const now: { link: Link; refusal: Problem | undefined } = {
    link: sampleLink('mine', { ownerId: 'acc_owner' }),
    refusal: undefined,
  };
  const links = { clock, store: { find: async () => now.link } } as unknown as LinkContext;
  const reports = { watchers, ...own } as unknown as ClickReports;
  const identifyAgain = async (): Promise<Actor> => {
    if (now.refusal !== undefined) throw now.refusal;
    return owner;
  };
  const routes = clickRoutes({ links, reports, audit });
  const ask = async (name: string, query: unknown): Promise<Response> => {
    const route = routes.find(route => route.name === name)!;
    const request = new Request('http://localhost/');
    const params = { code: 'mine' };
    const spelling = new RequestSpelling('/');
    const input = { params, query, body: undefined, actor: owner, identifyAgain, request, spelling };
    return (await route.handle(input)) as Response;
  };
  return { clock, watchers, now, ask, audit, routes };
}

describe('a live view', () => {
  const opened = async () => {
    const server = serverWith();
    const response = await server.ask('watchLink', undefined);
    const text = response.text();
    const beat = async (): Promise<void> => {
      server.clock.advance(beatMs);
      await yieldToEventLoop();
    };
    return { ...server, text, beat };
  };

  test('continues for as long as its caller may read the link', async () => {
    const { watchers, beat, text } = await opened();
    for (let beats = 0; beats < 3; beats += 1) await beat();
    expect(watchers.codes).toEqual(['mine']);
    watchers.endAll();
    expect(await text).toBe(`: watching\n\n${': beat\n\n'.repeat(3)}`);
  });

  test('ends with the next beat once the key, the session or the account is rejected', async () => {
    const { watchers, now, beat, text } = await opened();
    now.refusal = new Problem('unauthorized');
    await beat();
    expect(watchers.codes).toEqual([]);
    expect(await text).toBe(': watching\n\n: beat\n\n');
  });

  test('ends with the next beat once the link is deleted or belongs to someone else', async () => {
    for (const change of [{ status: 'deleted' }, { ownerId: 'acc_other' }] as const) {
      const { watchers, now, beat, text } = await opened();
      now.link = { ...now.link, ...change };
      await beat();
      expect(watchers.codes).toEqual([]);
      expect(await text).toContain(': beat');
    }
  });

  test('is one of a limited number for each account, and one that ends makes room for another', async () => {
    const { ask } = serverWith();
    const views = await Promise.all(
      Array.from({ length: viewsPerAccountMax }, () => ask('watchLink', undefined)),
    );
    await expect(ask('watchLink', undefined)).rejects.toMatchObject({ code: 'overloaded' });
    await views[0]!.body!.cancel();
    expect((await ask('watchLink', undefined)).status).toBe(200);
    await expect(ask('watchLink', undefined)).rejects.toMatchObject({ code: 'overloaded' });
  });
});

test('deleting the clicks of a link is in the audit log before they are deleted', async () => {
  const forgotten: string[] = [];
  const { ask, audit } = serverWith({
    async forget(code) {
      const about = everythingAbout({ kind: 'link', id: code }, { limit: 10, cursor: undefined });
      forgotten.push(code, ...(await audit.query(about)).entries.map(({ action }) => action));
    },
  });
  expect((await ask('deleteClicks', undefined)).status).toBe(204);
  expect(forgotten).toEqual(['mine', 'link.clicksDeleted']);
});

test('an export stops where its caller is rejected', async () => {
  let parts = 0;
  const { ask, now } = serverWith({
    async exportPart() {
      parts += 1;
      if (parts === 3) now.refusal = new Problem('unauthorized');
      const next = parts < 9 ? { partition: '2026-01-01', position: parts, clicks: 0 } : undefined;
      return { text: `part ${parts}\n`, next };
    },
  });
  const response = await ask('exportClicks', { format: 'ndjson' });
  await expect(response.text()).rejects.toMatchObject({ code: 'unauthorized' });
  expect(parts).toBe(3);
});

test('an export has the filters and the range of the request, and says which clicks are gone', async () => {
  const filters: unknown[] = [];
  const { ask, clock } = serverWith({
    async exportPart(filter) {
      filters.push(filter);
      return { text: '', next: undefined, coveredFrom: filter.from < 5_000 ? 5_000 : 0 };
    },
  });
  clock.advance(9_000);
  const country = { values: ['DE'], isExcluded: true };
  const response = await ask('exportClicks', { format: 'csv', from: 1_000, to: 9_000, country });
  expect(response.headers.get('Covered-From')).toBe('1970-01-01T00:00:05.000Z');
  expect(filters).toEqual([
    {
      code: 'mine',
      ownerId: 'acc_owner',
      format: 'csv',
      from: 1_000,
      to: 9_000,
      filters: [{ dimension: 'country', ...country }],
    },
  ]);
  const covered = await ask('exportClicks', { format: 'csv', from: 5_000 });
  expect(covered.headers.has('Covered-From')).toBe(false);
});

test('the header of an export that says which clicks are gone is in the OpenAPI document', async () => {
  const { routes } = serverWith();
  const { paths } = await openApiDocument(routes, { version: '1', baseUrl: 'http://localhost' });
  expect(paths).toMatchObject({
    '/api/v1/links/{code}/clicks': {
      get: { responses: { 200: { headers: { 'Covered-From': { schema: { format: 'date-time' } } } } } },
    },
  });
});
