import { beforeEach, describe, expect, test } from 'bun:test';
import { anonymous } from '../accounts/account.ts';
import { fakeActor } from '../accounts/fake-actors.ts';
import { ManualClock } from '../base/clock.ts';
import { CheckerPanel, type UrlChecker } from './checker-panel.ts';
import {
  createJudge,
  defaultThresholds,
  type Judge,
  type JudgeOptions,
  type Maker,
  type UrlToJudge,
  UsualCountries,
  Velocity,
} from './judge.ts';
import { defaultRiskPolicy } from './risk.ts';

let clock: ManualClock;
beforeEach(() => {
  clock = new ManualClock();
});

function judgeWith(overrides: Partial<JudgeOptions> & { checkers?: UrlChecker[] } = {}): Judge {
  const { checkers = [], ...options } = overrides;
  return createJudge({
    matchUrl: () => undefined,
    panel: new CheckerPanel(checkers, clock),
    riskPolicy: () => defaultRiskPolicy,
    thresholds: defaultThresholds,
    domainAge: () => undefined,
    velocity: new Velocity(clock),
    usualCountries: new UsualCountries(),
    countryOf: () => undefined,
    addressGroup: address => address,
    clock,
    ...options,
  });
}

const destination = (url: string, more: Partial<Maker> = {}): UrlToJudge => ({
  url,
  maker: { actor: anonymous, address: '203.0.113.9', items: 1, ...more },
});
const countedBy = ({ attempts }: Judge) =>
  Object.fromEntries(attempts.samples('type').map(({ labels, value }) => [labels?.type, value]));

describe('a destination', () => {
  test('without any signal against it is allowed', async () => {
    const judge = judgeWith();
    expect(await judge.judgeUrl(destination('https://example.com/'))).toEqual({
      verdict: 'allow',
      score: 0,
      reasons: [],
    });
    expect(countedBy(judge)).toEqual({});
  });

  test('on a list is rejected before any checker is asked', async () => {
    const checkers: UrlChecker[] = [{ name: 'spy', check: () => Promise.reject(new Error('asked')) }];
    const judge = judgeWith({ matchUrl: () => ({ list: 'feed.txt', entry: 'evil.example' }), checkers });
    expect(await judge.judgeUrl(destination('https://evil.example/'))).toMatchObject({
      verdict: 'refuse',
      refusal: {
        type: 'blocklist',
        detail: 'The destination is on the blocklist “feed.txt” as evil.example.',
      },
    });
    expect(countedBy(judge)).toEqual({ blocklist: 1 });
  });

  test('that a checker lists is rejected in its name', async () => {
    const checkers: UrlChecker[] = [
      { name: 'safe_browsing', check: async url => ({ listed: url.includes('evil'), threat: 'malware' }) },
    ];
    const judge = judgeWith({ checkers });
    expect(await judge.judgeUrl(destination('https://evil.example/'))).toMatchObject({
      verdict: 'refuse',
      refusal: { type: 'safe_browsing', detail: expect.stringContaining('malware') },
    });
    expect(await judge.judgeUrl(destination('https://good.example/'))).toMatchObject({ verdict: 'allow' });
    expect(countedBy(judge)).toEqual({ safe_browsing: 1 });
  });

  test.each([
    [60, 'allow'],
    [61, 'quarantine'],
    [85, 'quarantine'],
    [86, 'block'],
  ] as const)('with a score of %i: %s', async (score, verdict) => {
    const riskPolicy = () => ({
      ...defaultRiskPolicy,
      weights: { ...defaultRiskPolicy.weights, unusualPort: score },
    });
    const judge = judgeWith({ riskPolicy });
    expect(await judge.judgeUrl(destination('https://example.com:8443/'))).toMatchObject({
      verdict,
      score,
      reasons: [{ signal: 'unusualPort' }],
    });
    const counted = { quarantine: { quarantined: 1 }, block: { blocked: 1 }, allow: {} }[verdict];
    expect(countedBy(judge)).toEqual(counted);
  });

  test('is judged by other thresholds where the operator sets them', async () => {
    const judge = judgeWith({ thresholds: { quarantine: 5, block: 100 } });
    expect(await judge.judgeUrl(destination('https://example.com:8443/'))).toMatchObject({
      verdict: 'quarantine',
    });
    const worst = 'http://paypal.com.secure-login.top/wp-content/paypal/login.php';
    expect(await judge.judgeUrl(destination(worst))).toMatchObject({ score: 100, verdict: 'quarantine' });
  });
});

describe('a client that makes links', () => {
  const signalsOf = async (judge: Judge, more: Partial<Maker>) =>
    (await judge.judgeUrl(destination('https://example.com/', more))).reasons.map(({ signal }) => signal);

  test('is too fast after fifty in an hour from one address, whichever accounts they use', async () => {
    const judge = judgeWith();
    for (let link = 0; link < 50; link += 1) {
      expect(await signalsOf(judge, { actor: fakeActor(`acc_${link}`) })).toEqual([]);
    }
    expect(await signalsOf(judge, { actor: fakeActor('acc_x') })).toEqual(['velocity']);
    expect(await signalsOf(judge, { actor: fakeActor('acc_x'), address: '198.51.100.1' })).toEqual([]);
    clock.advance(61 * 60_000);
    expect(await signalsOf(judge, {})).toEqual([]);
  });

  test('is too fast after fifty in an hour with one account, whichever addresses they use', async () => {
    const judge = judgeWith();
    const actor = fakeActor('acc_1');
    for (let link = 0; link < 50; link += 1) {
      expect(await signalsOf(judge, { actor, address: `198.51.100.${link}` })).toEqual([]);
    }
    expect(await signalsOf(judge, { actor, address: undefined })).toEqual(['velocity']);
  });

  test('is counted once for a call, with all of its links', async () => {
    const judge = judgeWith();
    const { maker } = destination('https://example.com/', { items: 40 });
    const reasonsOf = async (url: string) => (await judge.judgeUrl({ url, maker })).reasons;
    expect(await reasonsOf('https://example.com/1')).toEqual([]);
    expect(await reasonsOf('https://example.com/2')).toEqual([]);
    const [reason] = (await judge.judgeUrl(destination('https://example.com/', { items: 11 }))).reasons;
    expect(reason).toMatchObject({ signal: 'velocity', detail: '51 links within an hour' });
  });

  test('is counted once for a change, however many links it is of', async () => {
    const judge = judgeWith();
    expect(await signalsOf(judge, { items: 60, isChange: true })).toEqual(['velocity']);
    expect(await signalsOf(judge, { items: 1 })).toEqual([]);
  });

  test('is too fast with the first link of a call that makes more than fifty', async () => {
    expect(await signalsOf(judgeWith(), { items: 50 })).toEqual([]);
    expect(await signalsOf(judgeWith(), { items: 51 })).toEqual(['velocity']);
  });

  test('is noticed when its account is suddenly in another country', async () => {
    const countryOf = (address: string) => (address === 'in Berlin' ? 'DE' : 'FR');
    const judge = judgeWith({ countryOf });
    const actor = fakeActor('acc_1');
    for (let link = 0; link < 5; link += 1) await signalsOf(judge, { actor, address: 'in Berlin' });
    expect(await signalsOf(judge, { actor, address: 'in Paris' })).toEqual(['countryMismatch']);
    expect(await signalsOf(judge, { actor: anonymous, address: 'in Paris' })).toEqual([]);
  });
});

test('links that are found alike share their reasons, and others have their own', async () => {
  const { judgeUrl } = judgeWith();
  const reasonsOf = async (url: string) => (await judgeUrl(destination(url))).reasons;
  const first = await reasonsOf('https://example.com:8443/1');
  expect(await reasonsOf('https://example.com:8443/2')).toBe(first);
  expect(await reasonsOf('https://example.com:8444/')).toMatchObject([{ detail: '8444' }]);
  expect(await reasonsOf('https://example.com/')).toEqual([]);
});

test('a domain that is known to be new counts, by its registered name', async () => {
  const domainAge = (domain: string) => (domain === 'fresh.co.uk' ? 1 : undefined);
  const { judgeUrl } = judgeWith({ domainAge: () => domainAge });
  expect(await judgeUrl(destination('https://www.fresh.co.uk/'))).toMatchObject({ score: 30 });
  expect(await judgeUrl(destination('https://www.stale.co.uk/'))).toMatchObject({ score: 0 });
});
