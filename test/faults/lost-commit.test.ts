/**
 * The answer to a write is lost after the store has carried it out. When the store can be reached again the caller gets
 * the answer that was lost; while it cannot, a 503 that says so, and a repeat leaves what one request would have left.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { type Answer, type Call, type CallOptions, callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedDynamo } from '../kit/engines/dynamodb.ts';
import { sharedPostgres } from '../kit/engines/postgres.ts';
import { expectSafe, expectSafeStatus } from '../kit/expect-safe.ts';
import { type NetworkLink, startNetworkLink } from '../kit/network-link.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';

const links = '/api/v1/links';
const bulk = `${links}/bulk`;
const destination = (name: string): string => `https://example.com/${name}`;

interface Write {
  /** Text in, or before, the request that loses its answer. */
  readonly mark: string;
  readonly method: string;
  readonly path: string;
  readonly options: CallOptions;
  /** The statuses of the answer: of a bulk call, one per item. */
  readonly done: readonly number[];
  /** The statuses of a repeat after the write was executed. */
  readonly again: readonly number[];
  /** URLs that have exactly one link in the end, and codes that are deleted. */
  readonly made?: readonly string[];
  readonly deleted?: readonly string[];
  /** Codes with one entry for this in their history. */
  readonly edited?: readonly string[];
}

/** Each takes a unique name, and creates the link that it changes. */
const writes: Record<string, (call: Call, name: string) => Promise<Write> | Write> = {
  'a create with an alias': (_, name) => ({
    mark: destination(name),
    ...{ method: 'POST', path: links, options: { body: { longUrl: destination(name), customAlias: name } } },
    ...{ done: [201], again: [200], made: [destination(name)] },
  }),
  'a create with an Idempotency-Key': (_, name) => ({
    mark: destination(name),
    ...{ method: 'POST', path: links },
    options: { body: { longUrl: destination(name) }, headers: { 'Idempotency-Key': name } },
    ...{ done: [201], again: [201], made: [destination(name)] },
  }),
  async 'an edit'(call, name) {
    await make(call, [name]);
    const body = { title: `Title of ${name}` };
    return {
      mark: body.title,
      ...{ method: 'PATCH', path: `${links}/${name}`, options: { body } },
      ...{ done: [200], again: [200], made: [destination(name)], edited: [name] },
    };
  },
  async 'a deletion'(call, name) {
    await make(call, [name]);
    return {
      mark: name,
      ...{ method: 'DELETE', path: `${links}/${name}`, options: {} },
      ...{ done: [204], again: [410], deleted: [name] },
    };
  },
  'a bulk create'(_, name) {
    const names = [`${name}-1`, `${name}-2`];
    const items = names.map(each => ({ longUrl: destination(each), customAlias: each }));
    return {
      mark: destination(name),
      ...{ method: 'POST', path: bulk, options: { body: { links: items } } },
      ...{ done: [201, 201], again: [200, 200], made: names.map(destination) },
    };
  },
  async 'a bulk edit'(call, name) {
    const codes = [`${name}-1`, `${name}-2`];
    await make(call, codes);
    const change = { title: `Title of ${name}` };
    return {
      mark: change.title,
      ...{ method: 'PATCH', path: bulk, options: { body: { codes, change } } },
      ...{ done: [200, 200], again: [200, 200], made: codes.map(destination), edited: codes },
    };
  },
  async 'a bulk deletion'(call, name) {
    const codes = [`${name}-1`, `${name}-2`];
    await make(call, codes);
    return {
      mark: name,
      ...{ method: 'DELETE', path: bulk, options: { body: { codes } } },
      ...{ done: [204, 204], again: [410, 410], deleted: codes },
    };
  },
};

async function make(call: Call, names: readonly string[]): Promise<void> {
  const items = names.map(name => ({ longUrl: destination(name), customAlias: name }));
  expect(statusesOf(await call('POST', bulk, { body: { links: items } }))).toEqual(names.map(() => 201));
}

const statusesOf = ({ status, body }: Answer): number[] =>
  status === 200 && Array.isArray(body.results)
    ? body.results.map((result: { status: number }) => result.status)
    : [status];

/** The problems in an answer, its own or those of its items. */
const problemsOf = ({ status, body }: Answer): { status: number; outcome?: string; detail: string }[] =>
  status === 503
    ? [body]
    : (body.results ?? []).flatMap((result: { problem?: unknown }) => result.problem ?? []);

interface Engine {
  /** The address that Terse is given, through the link. */
  readonly url: (link: NetworkLink) => string;
  readonly target: string;
  /** Whether the data sent on a connection ends with the request that commits the marked write. */
  readonly isCommit: (mark: string, sent: string) => boolean;
  /** The same for a link with a leased code and nothing beside it. */
  readonly isInsert: (mark: string, sent: string) => boolean;
}

function suite(open: () => Promise<Engine>): void {
  let engine: Engine;
  let link: NetworkLink;
  let terse: TerseHere;
  let call: Call;
  let number = 0;
  beforeAll(async () => {
    engine = await open();
    link = await startNetworkLink(engine.target);
    terse = await startTerseHere({ env: { TERSE_LINKS: engine.url(link) } });
    call = callerOf(terse.url);
  });
  afterAll(async () => {
    await terse?.stop();
    await link?.stop();
  });
  // Also after a test that failed before it did.
  afterEach(() => link.accept());
  const nextName = (): string => `lost${++number}x${Date.now().toString(36)}`;

  const stored = async ({ made = [], deleted = [], edited = [] }: Write): Promise<void> => {
    for (const longUrl of made) {
      const list = await call('GET', `${links}?longUrl=${encodeURIComponent(longUrl)}`);
      expectSafe(list.body.links).toHaveLength(1);
    }
    for (const code of deleted) expectSafeStatus((await call('GET', `${links}/${code}`)).status).toBe(410);
    for (const code of [...edited, ...deleted]) {
      const { body } = await call('GET', `${links}/${code}/history`);
      const changes = body.entries.filter(({ action }: { action: string }) => action !== 'link.created');
      expectSafe(changes).toHaveLength(1);
    }
  };

  describe.each(Object.keys(writes))('%s whose answer is lost', kind => {
    test('is answered as if it were not, when the store can be reached', async () => {
      const write = await writes[kind]!(call, nextName());
      const lost = link.loseAnswer(sent => engine.isCommit(write.mark, sent));
      expect(statusesOf(await call(write.method, write.path, write.options))).toEqual([...write.done]);
      await lost;
      await stored(write);
    });

    test('has an unknown outcome while it cannot, and a repeat does no harm', async () => {
      const write = await writes[kind]!(call, nextName());
      const lost = link.loseAnswer(sent => engine.isCommit(write.mark, sent), 'refuse');
      const answer = await call(write.method, write.path, write.options);
      await lost;
      const problems = problemsOf(answer);
      expect(new Set(problems.map(({ status }) => status))).toEqual(new Set([503]));
      const unknown = problems.filter(({ outcome }) => outcome === 'unknown');
      expect(unknown.length).toBeGreaterThan(0);
      const advice = write.method === 'POST' ? 'same Idempotency-Key' : 'can be repeated as it is';
      for (const { detail } of unknown) expect(detail).toContain(advice);
      for (const { outcome } of problems) expect(['none', 'unknown']).toContain(outcome!);
      await link.accept();
      const repeat = statusesOf(await call(write.method, write.path, write.options));
      // Items that were not executed before are executed now.
      for (const [index, status] of repeat.entries()) {
        expect([write.again[index], write.done[index]]).toContain(status);
      }
      expect(repeat).toContain(write.again[0]!);
      await stored(write);
    });
  });

  test('a link without alias and key is made once when the store can be reached, and may be there when not', async () => {
    for (const then of [undefined, 'refuse'] as const) {
      const longUrl = destination(nextName());
      const lost = link.loseAnswer(sent => engine.isInsert(longUrl, sent), then);
      const { status, body } = await call('POST', links, { body: { longUrl } });
      await lost;
      expect([status, body.outcome]).toEqual(then === undefined ? [201, undefined] : [503, 'unknown']);
      await link.accept();
      await stored({ made: [longUrl] } as unknown as Write);
    }
  });

  test('a key that is created or rotated has an unknown outcome, and the answer does not advise a retry', async () => {
    const name = nextName();
    const keys = '/api/v1/keys';
    const { id } = (await call('POST', keys, { body: { name: `${name} rotated` } })).body;
    for (const [path, body, mark] of [
      [keys, { name }, name],
      [`${keys}/${id}/rotate`, { overlapSeconds: 60 }, id],
    ]) {
      const lost = link.loseAnswer(sent => engine.isCommit(mark, sent), 'refuse');
      const answer = await call('POST', path, { body, headers: { 'Idempotency-Key': name } });
      await lost;
      await link.accept();
      expect(answer).toMatchObject({ status: 503, body: { outcome: 'unknown' } });
      expect(answer.body.detail).toContain('Read the current state before you repeat it');
      expect(answer.body.detail).not.toMatch(/Idempotency-Key|as it is/);
    }
    const made = (await call('GET', keys)).body.keys.filter((key: { name: string }) =>
      key.name.includes(name),
    );
    expect(made).toHaveLength(2);
    expect(made[0].previousUntil).not.toBeNull();
  });

  test('a write that never reached the store has a known outcome', async () => {
    await link.refuse();
    const body = { longUrl: destination(nextName()) };
    const answer = await call('POST', links, { body });
    expect(answer).toMatchObject({ status: 503, body: { outcome: 'none' } });
    expect(answer.headers.get('retry-after')).not.toBeNull();
    expect((await call('GET', links)).body).not.toHaveProperty('outcome');
    await link.accept();
  });
}

describeWithEngine('postgres', 'on Postgres', () => {
  suite(async () => {
    const direct = new URL(await (await sharedPostgres()).freshDatabase());
    return {
      target: direct.host,
      url(link) {
        const through = new URL(direct);
        through.host = link.address;
        return through.href;
      },
      isCommit: (mark, sent) => sent.includes(mark) && sent.endsWith('COMMIT\0'),
      isInsert: (mark, sent) => sent.includes(mark),
    };
  });
});

describeWithEngine('dynamodb', 'on DynamoDB', () => {
  suite(async () => {
    const direct = new URL((await sharedDynamo()).freshTableUrl());
    const lastRequest = (sent: string): string => sent.slice(sent.lastIndexOf('POST / HTTP'));
    return {
      target: new URL(direct.searchParams.get('endpoint')!).host,
      url(link) {
        const through = new URL(direct);
        through.searchParams.set('endpoint', `http://${link.address}`);
        return through.href;
      },
      isCommit: (mark, sent) =>
        lastRequest(sent).includes(mark) && /\.TransactWriteItems/.test(lastRequest(sent)),
      isInsert: (mark, sent) => lastRequest(sent).includes(mark) && /\.PutItem/.test(lastRequest(sent)),
    };
  });
});
