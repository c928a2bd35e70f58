import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { shownHost } from './homograph.ts';
import { partsOf } from './hosts.ts';
import { type Disguise, impersonationIn, isOneEditApart } from './impersonation.ts';

function disguiseOf(host: string) {
  const { hostname } = new URL(`https://${host}/`);
  return impersonationIn(partsOf(hostname), shownHost(hostname).split('.'));
}

describe('a host impersonates:', () => {
  test.each<[string, Disguise, string]>([
    ['paypa1.com', 'lookalike', 'paypal'],
    ['rnicrosoft-login.net', 'lookalike', 'microsoft'],
    ['аррӏе.com', 'lookalike', 'apple'],
    ['www.g00gle.example.net', 'lookalike', 'google'],
    ['paypal.com.example.ru', 'domainInHost', 'paypal'],
    ['www-paypal-com.example.ru', 'domainInHost', 'paypal'],
    ['paypall.com', 'typo', 'paypal'],
    ['gogle.example', 'typo', 'google'],
    ['faecbook.net', 'typo', 'facebook'],
    ['paypal-help.com', 'nameInDomain', 'paypal'],
    ['mypaypal.net', 'nameInDomain', 'paypal'],
    ['amazon.top', 'nameInDomain', 'amazon'],
    ['paypal-login.weebly.com', 'nameInDomain', 'paypal'],
    ['paypal-login.pages.dev', 'nameInDomain', 'paypal'],
    ['paypal.example.net', 'nameInSubdomain', 'paypal'],
    ['secure.chase.example.co.uk', 'nameInSubdomain', 'chase'],
  ])('%s by %s as %s', (host, disguise, brand) => {
    expect(disguiseOf(host)).toMatchObject({ disguise, brand });
  });

  test.each([
    'www.paypal.com',
    'amazon.co.jp',
    'aws.amazon.com',
    'google.github.io',
    'blog.google',
    'outlook.office365.com',
    'login.microsoftonline.com',
    'apple.com',
    'pineapple.com',
    'outlookindia.com',
    'finance.example',
    'discardmail.example',
    'example.com',
    'purchase.example',
    '198.51.100.7',
  ])('not %s', host => {
    expect(disguiseOf(host)).toBeUndefined();
  });
});

test('one edit apart means one insertion, deletion, replacement or swap, and nothing else', () => {
  const letters = fc
    .array(fc.constantFrom('a', 'b', 'c'), { minLength: 3, maxLength: 7 })
    .map(each => each.join(''));
  fc.assert(
    fc.property(letters, letters, (one, other) => {
      expect(isOneEditApart(one, other)).toBe(one !== other && editsOf(one).has(other));
    }),
    { numRuns: 2_000 },
  );
});

function editsOf(text: string): Set<string> {
  const edits = new Set<string>();
  for (let at = 0; at <= text.length; at += 1) {
    const [before, after] = [text.slice(0, at), text.slice(at)];
    edits.add(before + after.slice(1));
    for (const letter of 'abc') edits.add(before + letter + after).add(before + letter + after.slice(1));
    if (after.length > 1) edits.add(before + after[1] + after[0] + after.slice(2));
  }
  return edits;
}
