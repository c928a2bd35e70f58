import { beforeEach, describe, expect, test } from 'bun:test';
import type { JudgeUrl, UrlJudgement, UrlToJudge } from '../abuse/judge.ts';
import { createUrlPolicy } from '../abuse/url-policy.ts';
import { fakeActor } from '../accounts/fake-actors.ts';
import { ManualClock, sleep, systemClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { createAliasPolicy } from './alias-policy.ts';
import type { LinkContext } from './context.ts';
import { createLink, createLinks } from './create.ts';
import { createMemoryStore } from './stores/memory.ts';
import { updateLink } from './update.ts';

const owner = fakeActor('acc_1');
const address = '203.0.113.9';

let judged: UrlToJudge[];
let context: LinkContext;
let minted = 0;

/** The outcome that a destination's first label asks for. */
const byName: JudgeUrl = ({ url }): UrlJudgement => {
  const verdict = /^https:\/\/(quarantine|block|refuse)\./.exec(url)?.[1] as
    | UrlJudgement['verdict']
    | undefined;
  if (verdict === undefined) return { verdict: 'allow', score: 0, reasons: [] };
  const refusal = { type: 'blocklist', detail: 'It is listed.' };
  if (verdict === 'refuse') return { verdict, score: 0, reasons: [], refusal };
  return { verdict, score: 90, reasons: [{ signal: 'manyDots', weight: 90, detail: '9 dots' }] };
};

function contextWith(judgeUrl: JudgeUrl): LinkContext {
  return {
    store: createMemoryStore(),
    generator: {
      mint: async () => {
        minted += 1;
        return { code: `c${minted}`, leased: true };
      },
      available: () => 1,
      close: async () => undefined,
    } as unknown as LinkContext['generator'],
    urlPolicy: createUrlPolicy({ ownHosts: ['sho.rt'] }),
    judgeUrl(input) {
      judged.push(input);
      return judgeUrl(input);
    },
    aliasPolicy: createAliasPolicy({ reserved: [], offensive: [] }),
    claimOf: () => undefined,
    anonymousAllowed: true,
    clock: new ManualClock(),
  };
}

beforeEach(() => {
  judged = [];
  context = contextWith(byName);
});

describe('creating', () => {
  test('judges the URL as it is stored, with the owner and the number of links', async () => {
    await createLink(context, owner, { longUrl: 'HTTPS://Example.com' }, undefined, address);
    expect(judged).toEqual([{ url: 'https://example.com/', maker: { actor: owner, address, items: 1 } }]);
    await createLinks(context, owner, [
      { longUrl: 'https://a.example/' },
      { longUrl: 'nonsense' },
      { longUrl: 'https://b.example/' },
    ]);
    expect(judged.slice(1).map(({ maker }) => maker.items)).toEqual([2, 2]);
  });

  test('gives each item its outcome, in order, however long the judge takes for each', async () => {
    let turn = 0;
    context = contextWith(async input => {
      turn += 1;
      await sleep(systemClock, turn % 2 === 0 ? 0 : 5);
      return byName(input);
    });
    const names = ['good', 'refuse', 'quarantine', 'block', 'fine'];
    const results = await createLinks(
      context,
      owner,
      names.map(name => ({ longUrl: `https://${name}.example/` })),
    );
    expect(
      results.map(result =>
        result instanceof Problem ? result.code : [result.link.longUrl, result.link.status],
      ),
    ).toEqual([
      ['https://good.example/', 'active'],
      'url_blocked',
      ['https://quarantine.example/', 'quarantined'],
      ['https://block.example/', 'blocked'],
      ['https://fine.example/', 'active'],
    ]);
  });

  test('stores score and reasons with the link, and rejects with the judge’s message', async () => {
    const { link } = await createLink(context, owner, { longUrl: 'https://block.example/' });
    expect((await context.store.find(link.code))?.risk).toEqual({
      score: 90,
      reasons: ['manyDots (+90): 9 dots'],
    });
    const refused = createLink(context, owner, { longUrl: 'https://refuse.example/' });
    await expect(refused).rejects.toMatchObject({
      code: 'url_blocked',
      detail: 'It is listed.',
      fields: { field: 'longUrl', reason: 'blocklist' },
    });
  });

  test('does not return an existing link for a destination that is rejected by now', async () => {
    let isListed = false;
    context = contextWith(() => ({ verdict: isListed ? 'refuse' : 'allow', score: 0, reasons: [] }));
    const input = { longUrl: 'https://example.com/', findExisting: true };
    const { link } = await createLink(context, owner, input);
    expect((await createLink(context, owner, input)).link.code).toBe(link.code);
    isListed = true;
    await expect(createLink(context, owner, input)).rejects.toMatchObject({ code: 'url_blocked' });
  });
});

describe('editing', () => {
  const create = async (longUrl: string): Promise<string> =>
    (await createLink(context, owner, { longUrl })).link.code;

  test('judges only when the destination changes', async () => {
    const code = await create('https://quarantine.example/');
    judged = [];
    await updateLink(context, owner, code, { title: 'A title' }, address);
    await updateLink(context, owner, code, { longUrl: 'https://quarantine.example' }, address);
    expect(judged).toEqual([]);
    await updateLink(context, owner, code, { longUrl: 'https://good.example/' }, address);
    expect(judged).toEqual([
      { url: 'https://good.example/', maker: { actor: owner, address, items: 1, isChange: true } },
    ]);
  });

  test('can bring a hold or a stricter one, even to a disabled link, and lifts none', async () => {
    const code = await create('https://good.example/');
    const editTo = async (longUrl: string) => (await updateLink(context, owner, code, { longUrl })).status;
    await updateLink(context, owner, code, { status: 'disabled' });
    expect(await editTo('https://fine.example/')).toBe('disabled');
    expect(await editTo('https://quarantine.example/')).toBe('quarantined');
    expect(await editTo('https://good.example/')).toBe('quarantined');
    expect(await editTo('https://block.example/')).toBe('blocked');
    expect(await editTo('https://quarantine.example/')).toBe('blocked');
  });

  test('that is rejected changes nothing', async () => {
    const code = await create('https://good.example/');
    const change = { longUrl: 'https://refuse.example/', title: 'new' };
    await expect(updateLink(context, owner, code, change)).rejects.toMatchObject({ code: 'url_blocked' });
    expect(await context.store.find(code)).toMatchObject({
      longUrl: 'https://good.example/',
      title: null,
      version: 1,
    });
  });

  test('of a link that is not the caller’s is rejected before anything is judged', async () => {
    const code = await create('https://good.example/');
    judged = [];
    const edit = updateLink(context, fakeActor('acc_2'), code, { longUrl: 'https://refuse.example/' });
    await expect(edit).rejects.toMatchObject({ code: 'not_found' });
    expect(judged).toEqual([]);
  });
});
