import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { defaultRiskPolicy, readRiskFile, riskOf } from './risk.ts';
import {
  type Circumstances,
  type RiskSignal,
  riskSignals,
  type SignalName,
  signalNames,
  subjectOf,
} from './risk-signals.ts';

/** For each signal, inputs that trigger it and inputs that nearly do. */
const cases: Readonly<Record<SignalName, readonly [fires: Case[], stays: Case[]]>> = {
  newDomain: [
    [
      ['https://example.com/', { domainAgeDays: 0 }],
      ['https://example.com/', { domainAgeDays: 6 }],
    ],
    [['https://example.com/', { domainAgeDays: 7 }], ['https://example.com/']],
  ],
  phishingWords: [
    [
      ['https://example.com/login'],
      ['https://example.com/a/Reset-PASSWORD.html'],
      ['https://login.example.com/'],
      ['https://example.com/%6c%6fgin'],
      ['https://example.com/konto/anmelden'],
    ],
    [
      ['https://example.com/accounting'],
      ['https://example.com/?q=login'],
      ['https://example.support/'],
      ['https://example.com/pinball'],
    ],
  ],
  wordyDomain: [
    [['https://secure-login.example/'], ['https://loginverify.example/']],
    [['https://login.gov/'], ['https://secure-login.example.com/'], ['https://blue-garden.example/']],
  ],
  lookalikeName: [[['https://paypa1.com/']], [['https://paypal.com/']]],
  mixedScripts: [
    [['https://xn--pypl-53dc.com/']],
    [['https://xn--bcher-kva.de/'], ['https://xn--80ak6aa92e.com/']],
  ],
  foreignLetters: [
    [['https://xn--80ak6aa92e.com/']],
    [['https://xn--e1afmkfd.xn--p1ai/'], ['https://example.com/']],
  ],
  brandDomainInHost: [[['https://paypal.com.example.net/']], [['https://paypal.example.net/']]],
  brandTypo: [[['https://paypall.com/']], [['https://paypal.com/']]],
  brandInDomain: [
    [['https://paypal-help.example/']],
    [['https://www.paypal.com/'], ['https://paypal.example.com/']],
  ],
  brandInSubdomain: [[['https://paypal.example.com/']], [['https://developer.paypal.com/']]],
  brandInPath: [
    [['https://example.com/paypal/login']],
    [
      ['https://example.com/paypal/'],
      ['https://example.com/apple/login'],
      ['https://www.paypal.com/paypal/login'],
    ],
  ],
  addressHost: [
    [['http://198.51.100.7/'], ['http://[2001:db8::1]/']],
    [['https://example.com/198.51.100.7']],
  ],
  suspiciousSuffix: [
    [['https://example.top/'], ['https://a.b.zip/']],
    [['https://top.example/'], ['https://example.com/a.zip']],
  ],
  manyDots: [[['https://a.b.c.d.example.com/']], [['https://a.b.c.example.com/'], ['http://198.51.100.7/']]],
  manyHyphens: [
    [['https://a-b-c-d.example/']],
    [['https://a-b-c.example/'], ['https://xn--a-b-c-mua.example/']],
  ],
  randomName: [
    [['https://x7k2q9zt1.com/'], ['https://bcdfghjklm.com/']],
    [
      ['https://stackoverflow.com/'],
      ['https://d111111abcdef8.cloudfront.net/'],
      ['https://example.com/x7k2q9zt1'],
    ],
  ],
  freeHosting: [[['https://someone.github.io/'], ['https://someone.weebly.com/']], [['https://github.com/']]],
  shortenerChain: [
    [['https://bit.ly/x'], ['https://www.tinyurl.com/x']],
    [['https://notbit.ly/x'], ['https://example.com/bit.ly']],
  ],
  brokenIntoSite: [
    [['https://example.com/wp-content/x/login.php'], ['https://example.com/.well-known/paypal/']],
    [
      ['https://example.com/wp-content/uploads/menu.pdf'],
      ['https://example.com/.well-known/security.txt'],
      ['https://example.com/login'],
    ],
  ],
  hiddenText: [
    [['https://example.com/%6c%6f%67in']],
    [['https://example.com/%20%20%20'], ['https://example.com/%E3%83%91%E3%82%B9']],
  ],
  unencryptedLogin: [
    [['http://example.com/login']],
    [['https://example.com/login'], ['http://example.com/']],
  ],
  unusualPort: [[['https://example.com:8443/']], [['https://example.com/']]],
  namedRecipient: [
    [['https://example.com/#jane@contoso.com'], ['https://example.com/?e=jane%40contoso.com']],
    [['https://example.com/@jane']],
  ],
  velocity: [
    [['https://example.com/', { createdLastHour: 51 }]],
    [['https://example.com/', { createdLastHour: 50 }]],
  ],
  countryMismatch: [
    [['https://example.com/', { usualCountry: 'DE', country: 'FR' }]],
    [
      ['https://example.com/', { usualCountry: 'DE', country: 'DE' }],
      ['https://example.com/', { usualCountry: 'DE' }],
      ['https://example.com/', { country: 'FR' }],
    ],
  ],
};

type Case = readonly [url: string, circumstances?: Circumstances];

const firedIn = ([url, circumstances]: Case): string[] =>
  riskOf(url, circumstances).reasons.map(({ signal }) => signal);

describe.each(signalNames)('the signal %s', name => {
  const [fires, stays] = cases[name];
  test.each(fires.map(each => [JSON.stringify(each), each] as const))('fires for %s', (_, each) => {
    expect(firedIn(each)).toContain(name);
  });
  test.each(stays.map(each => [JSON.stringify(each), each] as const))('does not fire for %s', (_, each) => {
    expect(firedIn(each)).not.toContain(name);
  });
});

describe('a score', () => {
  test('is the sum of its reasons, at most 100', () => {
    const url = fc.oneof(
      fc.webUrl({ withFragments: true, withQueryParameters: true }),
      fc.ipV4().map(address => `http://${address}/login`),
    );
    const circumstances = fc.record({ createdLastHour: fc.nat(100), domainAgeDays: fc.nat(20) });
    fc.assert(
      fc.property(url, circumstances, (text, given) => {
        const { score, reasons } = riskOf(new URL(text).href, given);
        expect(score).toBe(
          Math.min(
            100,
            reasons.reduce((sum, { weight }) => sum + weight, 0),
          ),
        );
        for (const { detail } of reasons) expect(detail).not.toBe('');
      }),
    );
    expect(riskOf('http://paypal.com.secure-login.top/wp-content/paypal/login.php').score).toBe(100);
  });

  test('has the weights of the requirements', () => {
    const { newDomain, phishingWords, velocity, countryMismatch } = riskSignals;
    expect([newDomain, phishingWords, velocity, countryMismatch].map(({ weight }) => weight)).toEqual([
      30, 20, 15, 10,
    ]);
  });

  test('names what was found', () => {
    expect(riskOf('https://paypal-help.example/verify').reasons).toEqual([
      { signal: 'phishingWords', weight: 20, detail: 'verify' },
      { signal: 'brandInDomain', weight: 45, detail: 'paypal-help for paypal' },
    ]);
  });
});

describe('a risk file', () => {
  test('changes weights, and keeps those it does not name', () => {
    const policy = readRiskFile('{"weights": {"phishingWords": 0, "velocity": 40}}');
    expect(riskOf('https://example.com/login', { createdLastHour: 60 }, policy)).toMatchObject({
      score: 40,
      reasons: [{ signal: 'velocity', weight: 40 }],
    });
    expect(policy.weights.newDomain).toBe(defaultRiskPolicy.weights.newDomain);
  });

  test('trusts domains with all below them, but not a client that makes links too fast', () => {
    const policy = readRiskFile('{"trusted": ["paypal-help.com", "bücher.example"]}');
    expect(riskOf('https://login.paypal-help.com/verify', {}, policy).score).toBe(0);
    expect(riskOf('https://xn--bcher-kva.example/login', {}, policy).score).toBe(0);
    expect(riskOf('https://paypal-help.com/', { createdLastHour: 60 }, policy).score).toBe(15);
    expect(riskOf('https://paypal-help.net/', {}, policy).score).toBeGreaterThan(0);
  });

  test.each([
    ['[]', 'must be a JSON object'],
    ['{"weight": {}}', '"weight" is neither weights nor trusted'],
    ['{"weights": {"newDomian": 1}}', '"newDomian" is no signal; did you mean newDomain?'],
    ['{"weights": {"newDomain": 101}}', 'the weight of newDomain must be a whole number from 0 to 100'],
    ['{"weights": {"newDomain": "30"}}', 'whole number'],
    ['{"trusted": "example.com"}', 'must be a list'],
    ['{"trusted": ["co.uk/"]}', 'is not a registered domain'],
    ['{"trusted": ["www.example.com"]}', 'is not a registered domain'],
    ['{', 'JSON'],
  ])('%s is refused', (text, why) => {
    expect(() => readRiskFile(text)).toThrow(why);
  });
});

test.each([
  'https://example.com/',
  'http://example.com:8080/a//b?c=/d#e',
  'https://[2001:db8::1]/a#b?c',
  'https://[2001:db8::1]:8443/?a#',
  'https://name:word@example.com/a:b@c?d',
  'https://name@example.com/?',
])('%s is taken apart as the parser does', text => {
  const url = new URL(text);
  expect(url.href).toBe(text);
  const { parts, port, rawPath, isEncrypted } = subjectOf(text, {});
  expect([parts.host, port, rawPath]).toEqual([url.hostname, url.port, url.pathname]);
  expect(isEncrypted).toBe(url.protocol === 'https:');
});

test('a signal that is computed once per host reads nothing but the host', () => {
  const ofHost = ['parts', 'shownLabels', 'wordsInHost', 'impersonation'];
  const urls = Object.values(cases).flatMap(([fires, stays]) => [...fires, ...stays].map(([url]) => url));
  const signals = signalNames.map((name): RiskSignal => riskSignals[name]).filter(({ isOfHost }) => isOfHost);
  expect(signals).not.toBeEmpty();
  for (const url of urls) {
    const subject = new Proxy(subjectOf(new URL(url).href, {}), {
      get(target, name) {
        if (!ofHost.includes(String(name))) throw new Error(`it reads ${String(name)}`);
        return Reflect.get(target, name, target);
      },
    });
    for (const { find } of signals) find(subject);
  }
});
