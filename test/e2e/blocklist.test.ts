/**
 * Destinations on a list: rejected by every way to create or change a link, no longer followed, and changed while Terse
 * runs.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { metricOf } from '../kit/follow.ts';
import { addAccount, storedRows } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

const folder = temporaryFolder();
const listPath = join(folder, 'feed.txt');
/** Replaces the list in one step, as a careful download does. */
function writeList(...lines: string[]): void {
  writeFileSync(`${listPath}.new`, `${lines.join('\n')}\n`);
  renameSync(`${listPath}.new`, listPath);
}
writeList('# phishing', 'evil.example', 'co.uk', 'https://good.example/bad', '-ok.evil.example');

const terse = await startTerseHere({ env: { TERSE_BLOCKLISTS: listPath } });
afterAll(() => terse.stop());
const call = callerOf(terse.url);
const strangerKey = addAccount(terse.dataFolder, 'stranger');

const create = (longUrl: string, more: object = {}) =>
  call('POST', '/api/v1/links', { body: { longUrl, ...more } });
const codeTo = async (longUrl: string): Promise<string> => (await create(longUrl)).body.shortCode;
const statusOf = async (code: string): Promise<number> => (await call('GET', `/${code}`)).status;
const blocklist = async () => (await call('GET', '/api/v1/blocklist')).body;
const fileStatus = async () => (await blocklist()).lists[1];

describe('a listed destination', () => {
  const listed = ['https://evil.example/', 'http://a.b.evil.example:8080/x', 'https://good.example/bad?x=1'];

  test.each(listed)(
    '%s is rejected by every endpoint with the reason, and nothing is stored',
    async longUrl => {
      const code = await codeTo('https://example.com/');
      const before = storedRows(terse.dataFolder);
      for (const [method, path] of [
        ['POST', '/api/v1/links'],
        ['PATCH', `/api/v1/links/${code}`],
        ['PUT', `/api/v1/links/${code}`],
      ] as const) {
        const answer = await call(method, path, { body: { longUrl } });
        expectProblem(answer, 403, 'url_blocked');
        expect(answer.body).toMatchObject({ field: 'longUrl', reason: 'blocklist' });
        expect(answer.body.detail).toContain('feed.txt');
      }
      const links = [{ longUrl }, { longUrl: 'https://fine.example/' }];
      const { results } = (await call('POST', '/api/v1/links/bulk', { body: { links } })).body;
      expect(results).toMatchObject([{ status: 403, problem: { code: 'url_blocked' } }, { status: 201 }]);
      const after = storedRows(terse.dataFolder);
      expect(JSON.stringify(after)).not.toContain('evil.example');
      expect(after.links.length).toBe(before.links.length + 1);
    },
  );

  test('is counted', async () => {
    const before = await metricOf(terse.url, 'malicious_url_attempts_total{type="blocklist"}');
    await create('https://evil.example/');
    expect(await metricOf(terse.url, 'malicious_url_attempts_total{type="blocklist"}')).toBe(before + 1);
  });

  test('is rejected however its page is written, from a file and from the operator', async () => {
    await call('POST', '/api/v1/blocklist', { body: { entry: 'https://shared.example/login/' } });
    for (const page of ['good.example/bad', 'shared.example/login']) {
      const [host, path] = page.split('/');
      for (const longUrl of [
        `http://${page}/`,
        `https://${host}:8443/${path}`,
        `https://${host!.toUpperCase()}.//${path};x?y`,
        `https://${host}/a/..;/%${path!.charCodeAt(0).toString(16)}${path!.slice(1)}%2F`,
      ]) {
        expectProblem(await create(longUrl), 403, 'url_blocked');
      }
      expect((await create(`https://${page}/other`)).status).toBe(201);
    }
  });

  test('is distinguished from similar names and from exceptions', async () => {
    for (const longUrl of [
      'https://evil.example.com/',
      'https://good.example/',
      'https://ok.evil.example/',
      'https://www.bbc.co.uk/',
    ]) {
      expect((await create(longUrl)).status).toBe(201);
    }
  });
});

describe('a list that changes on disk', () => {
  test('takes effect for new and existing links, and no longer once it is removed', async () => {
    const code = await codeTo('https://turned.example/page');
    expect(await statusOf(code)).toBe(302);
    writeList('evil.example', 'turned.example');
    await until(
      'the new entry to apply',
      async () => (await create('https://turned.example/')).status === 403,
    );
    const answer = await call('GET', `/${code}`);
    expectProblem(answer, 410, 'link_unsafe');
    expect(answer.headers.get('location')).toBeNull();
    writeList('evil.example');
    await until('the link to be released', async () => (await statusOf(code)) === 302);
  });

  test('keeps its old version and reports it when it is broken, empty or gone', async () => {
    writeList('evil.example', 'steady.example');
    await until('the entry to apply', async () => (await create('https://steady.example/')).status === 403);
    const faults: [() => void, string][] = [
      [() => writeFileSync(listPath, '<html>\n<body>502 Bad Gateway\n'), 'cannot be read'],
      [() => writeFileSync(listPath, ''), 'empty'],
      [() => renameSync(listPath, `${listPath}.moved`), 'missing'],
    ];
    for (const [breakIt, fault] of faults) {
      breakIt();
      await until(
        'the fault to be reported',
        async () => (await fileStatus()).fault?.includes(fault) ?? false,
      );
      expect(await fileStatus()).toMatchObject({ name: 'feed.txt', state: 'kept', entries: 2 });
      expectProblem(await create('https://steady.example/'), 403, 'url_blocked');
      expect(await metricOf(terse.url, 'terse_list_healthy{list="feed.txt"}')).toBe(0);
      expect(terse.logged()).toContain(fault);
    }
    writeList('evil.example');
    await until('the file to be loaded', async () => (await fileStatus()).state === 'loaded');
    expect(await metricOf(terse.url, 'terse_list_healthy{list="feed.txt"}')).toBe(1);
    expect((await create('https://steady.example/')).status).toBe(201);
  });

  test('leaves out a line that would block unrelated sites, and reports it', async () => {
    writeList('evil.example', 'co.uk', 'com');
    await until(
      'the rejected lines to be counted',
      async () => (await fileStatus()).complaints.refused === 2,
    );
    expect((await fileStatus()).complaints.examples[0]).toContain('line 2: "co.uk"');
    expect((await create('https://www.bbc.co.uk/')).status).toBe(201);
  });
});

describe('an entry added through the API', () => {
  const add = (entry: string, reason?: string) =>
    call('POST', '/api/v1/blocklist', { body: { entry, ...(reason !== undefined && { reason }) } });

  test('takes effect at once, for new links and old, until it is removed', async () => {
    const code = await codeTo('https://www.nasty.example/');
    const added = await add('Nasty.example', 'phishing of customers');
    expect(added.status).toBe(201);
    expect(added.body).toMatchObject({ entry: 'nasty.example', reason: 'phishing of customers' });
    expect(await statusOf(code)).toBe(410);
    expectProblem(await create('https://nasty.example/'), 403, 'url_blocked');
    expect((await blocklist()).entries).toContainEqual(added.body);
    expect((await call('DELETE', `/api/v1/blocklist/${added.body.id}`)).status).toBe(204);
    expect(await statusOf(code)).toBe(302);
    expectProblem(await call('DELETE', `/api/v1/blocklist/${added.body.id}`), 404, 'not_found');
  });

  test('is listed once, however it is written', async () => {
    const first = await add('twice.example');
    const again = await add(' TWICE.example. # once more');
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body).toEqual(first.body);
  });

  test('can be an exception from an entry of a file', async () => {
    expectProblem(await create('https://mistaken.evil.example/'), 403, 'url_blocked');
    await add('-mistaken.evil.example', 'a mistake of the feed');
    expect((await create('https://mistaken.evil.example/')).status).toBe(201);
  });

  test.each(['', 'com', 'co.uk', '*', 'goo', 'two words', '0.0.0.0 a.example b.example', '# comment'])(
    '%j is rejected',
    async entry => {
      expectProblem(await add(entry), 400, 'invalid_request');
    },
  );

  test('needs a moderator, and is in the audit log', async () => {
    for (const [key, status, code] of [
      [undefined, 401, 'unauthorized'],
      [strangerKey, 403, 'forbidden'],
    ] as const) {
      const body = { entry: 'other.example' };
      expectProblem(await call('POST', '/api/v1/blocklist', { key, body }), status, code);
      expectProblem(await call('GET', '/api/v1/blocklist', { key }), status, code);
      expectProblem(await call('DELETE', '/api/v1/blocklist/blk_1', { key }), status, code);
    }
    const { id } = (await add('traced.example', 'because')).body;
    await call('DELETE', `/api/v1/blocklist/${id}`);
    const { entries } = (await call('GET', '/api/v1/audit?subjectKind=domain&subjectId=traced.example')).body;
    expect(entries).toMatchObject([
      { action: 'blocklist.removed', before: { entry: 'traced.example' }, after: null },
      { action: 'blocklist.added', after: { entry: 'traced.example' }, reason: 'because' },
    ]);
  });

  test('is listed page by page, from the oldest or from the newest', async () => {
    for (let index = 0; index < 5; index += 1) await add(`paged${index}.example`);
    const newest = (await call('GET', '/api/v1/blocklist?sort=-addedAt&limit=2')).body;
    const next = (await call('GET', `/api/v1/blocklist?sort=-addedAt&limit=2&cursor=${newest.nextCursor}`))
      .body;
    expect([...newest.entries, ...next.entries].map(({ entry }) => entry)).toEqual(
      [4, 3, 2, 1].map(index => `paged${index}.example`),
    );
    const seen: string[] = [];
    let cursor: string | null = '';
    for (let page = 0; cursor !== null && page < 20; page += 1) {
      const query: string = cursor === '' ? 'limit=2' : `limit=2&cursor=${cursor}`;
      const { body } = await call('GET', `/api/v1/blocklist?${query}`);
      seen.push(...body.entries.map(({ entry }: { entry: string }) => entry));
      cursor = body.nextCursor;
    }
    expect(seen.filter(entry => entry.startsWith('paged'))).toHaveLength(5);
    expect(new Set(seen).size).toBe(seen.length);
    expectProblem(await call('GET', '/api/v1/blocklist?cursor=nothing'), 400, 'invalid_request');
  });
});
