import { expect, test } from 'bun:test';
import { allowEveryUrl } from '../../abuse/judge.ts';
import { type Actor, anonymous } from '../../accounts/account.ts';
import { ManualClock } from '../../base/clock.ts';
import type { LinkContext } from '../../links/context.ts';
import type { InsertItem } from '../../links/store.ts';
import type { Reply } from '../json-reply.ts';
import { RequestSpelling } from '../spellings.ts';
import { bulkRoute } from './bulk.ts';

const itemCount = 10_000;

/** Accepts everything; `onStored` is called when only the answer is left to do. */
function contextWith(onStored: () => void): LinkContext {
  let minted = 0;
  return {
    store: {
      insert: async (items: readonly InsertItem[]) => {
        onStored();
        return items.map(() => ({ kind: 'inserted' }));
      },
    },
    generator: {
      mint: async () => {
        minted += 1;
        return { code: `c${minted}`, leased: true };
      },
    },
    urlPolicy: { judge: (url: string) => ({ ok: true, url }) },
    judgeUrl: allowEveryUrl,
    claimOf: () => undefined,
    anonymousAllowed: true,
    clock: new ManualClock(),
  } as unknown as LinkContext;
}

function bulk(links: LinkContext, items: readonly unknown[], actor: Actor = anonymous): Promise<Reply> {
  const route = bulkRoute({ links, baseUrl: 'https://terse.example', addressOf: () => '203.0.113.9' });
  const request = new Request('http://localhost/api/v1/links/bulk', { method: 'POST' });
  const identifyAgain = async () => actor;
  const spelling = new RequestSpelling('/api/v1/links/bulk');
  const body = { links: items };
  const input = { actor, identifyAgain, request, params: {}, query: undefined, body, spelling };
  return Promise.resolve(route.handle(input));
}

test('other requests get their turn also while ten thousand results are serialized', async () => {
  let turns = 0;
  let answering = false;
  const takeTurns = (): void => {
    turns += 1;
    if (answering) setImmediate(takeTurns);
  };
  const links = contextWith(() => {
    answering = true;
    setImmediate(takeTurns);
  });
  const items = Array.from({ length: itemCount }, (_, n) => ({ longUrl: `https://example.com/${n}` }));
  const response = await bulk(links, items);
  answering = false;
  expect(turns).toBeGreaterThan(itemCount / 1_000);
  const { results } = (await response.json()) as { results: { status: number; link: { longUrl: string } }[] };
  expect(results.map(({ status, link }) => [status, link.longUrl])).toEqual(
    items.map(({ longUrl }) => [201, longUrl]),
  );
});

test('good and bad results stand in the order of their items, whatever their number', async () => {
  for (const count of [1, 2, 199, 200, 201, 400]) {
    const items = Array.from({ length: count }, (_, n) =>
      n % 3 === 1 ? {} : { longUrl: `https://e.com/${n}` },
    );
    const response = await bulk(
      contextWith(() => {}),
      items,
    );
    expect(response.headers.get('content-type')).toBe('application/json');
    const { results } = (await response.json()) as { results: { status: number }[] };
    expect(results.map(({ status }) => status)).toEqual(items.map((_, n) => (n % 3 === 1 ? 400 : 201)));
  }
});
