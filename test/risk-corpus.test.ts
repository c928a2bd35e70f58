/** What the risk score promises for whole populations of URLs; docs/abuse.md has the figures. */
import { describe, expect, test } from 'bun:test';
import { defaultThresholds } from '../src/abuse/judge.ts';
import { riskOf } from '../src/abuse/risk.ts';
import { createUrlPolicy } from '../src/abuse/url-policy.ts';
import { benignUrls } from './corpus/benign-urls.ts';
import { phishingUrls } from './corpus/phishing-urls.ts';
import { corpusFigures, shareAbove } from './kit/risk-report.ts';

const policy = createUrlPolicy({ ownHosts: ['sho.rt'] });
const { quarantine, block } = defaultThresholds;

describe('the corpora', () => {
  test('are large and varied enough to mean something', () => {
    const benign = benignUrls();
    const phishing = phishingUrls();
    expect(new Set(benign).size).toBeGreaterThanOrEqual(1_000);
    expect(new Set(phishing.map(({ url }) => url)).size).toBeGreaterThanOrEqual(500);
    expect(phishing.filter(({ heldOut }) => heldOut).length).toBeGreaterThanOrEqual(200);
    const suffixes = new Set(benign.map(url => new URL(url).hostname.split('.').at(-1)));
    expect(suffixes.size).toBeGreaterThanOrEqual(60);
    expect(benign.filter(url => url.includes('xn--')).length).toBeGreaterThanOrEqual(100);
    expect(benign.filter(url => new URL(url).search.length > 60).length).toBeGreaterThanOrEqual(100);
  });

  test('hold only what can be shortened, in the spelling that is stored', () => {
    for (const url of [...benignUrls(), ...phishingUrls().map(each => each.url)]) {
      expect(policy.judge(url)).toEqual({ ok: true, url });
    }
  });
});

describe('the risk score', () => {
  test('quarantines at most 2 in 100 harmless URLs, and blocks none', () => {
    const { benign } = corpusFigures();
    expect(shareAbove(benign, quarantine)).toBeLessThanOrEqual(0.02);
    expect(shareAbove(benign, block)).toBe(0);
  });

  test('still does when they are made by the thousand, from an unusual country', () => {
    const hurried = { createdLastHour: 10_000, usualCountry: 'DE', country: 'FR' };
    const { benign } = corpusFigures(hurried);
    expect(shareAbove(benign, quarantine)).toBeLessThanOrEqual(0.02);
  });

  test('finds most phishing of recipes it knows, and some of recipes it does not', () => {
    const { known, heldOut } = corpusFigures();
    expect(shareAbove(known, quarantine)).toBeGreaterThan(0.7);
    expect(shareAbove(heldOut, quarantine)).toBeGreaterThan(0.3);
  });

  test('lets the sign-in pages of well-known services pass', () => {
    for (const url of benignUrls().filter(each => /sign-?in|log-?in/i.test(each))) {
      const isSiteOfItsOwn = !/vercel\.app|netlify\.app/.test(url);
      if (isSiteOfItsOwn)
        expect({ url, score: riskOf(url).score <= quarantine }).toEqual({ url, score: true });
    }
  });
});
