import { describe, expect, test } from 'bun:test';
import { reportCategories } from '../moderation/store.ts';
import { assets } from './assets.ts';
import { describePage, elementsOf, hostileText } from './page.conformance.ts';
import { landingPage, reportPage } from './public-pages.ts';

const open = { baseUrl: 'https://terse.example', anonymousAllowed: true };
const closed = { ...open, anonymousAllowed: false };

describePage('landingPage', () => landingPage(open));
describePage('landingPage (keys only)', () => landingPage(closed));
describePage('landingPage (hostile)', () => landingPage({ ...open, baseUrl: `https://${hostileText}` }));

describe('landingPage', () => {
  test.each([open, closed])('has every element that its script looks for (%p)', async view => {
    const script = assets.get('/assets/landing.js')?.body ?? '';
    const wanted = [...script.matchAll(/element\('([^']+)'\)/g)].map(match => match[1]);
    const ids = (await elementsOf(landingPage(view))).map(element => element.attributes.get('id'));
    expect(wanted.length).toBeGreaterThan(8);
    for (const id of wanted) expect(ids).toContain(id);
  });

  test('hides the API key among the options where nobody needs it, and asks for it where everybody does', () => {
    const beforeOptions = (page: string): string => page.slice(0, page.indexOf('<details'));
    expect(beforeOptions(landingPage(open))).not.toContain('id="api-key"');
    expect(beforeOptions(landingPage(closed))).toContain('id="api-key"');
  });

  test('can never put a key into an address: without its script the form does not submit', async () => {
    const elements = await elementsOf(landingPage(closed));
    const form = elements.find(element => element.name === 'form');
    const key = elements.find(element => element.attributes.get('id') === 'api-key');
    const submit = elements.find(element => element.attributes.get('type') === 'submit');
    expect(form?.attributes.get('method')).toBe('post');
    expect(key?.attributes.has('name')).toBe(false);
    expect(submit?.attributes.has('disabled')).toBe(true);
  });

  test('shows the command for a visitor without script, with a key only where one is needed', () => {
    expect(landingPage(open)).toContain('curl https://terse.example/api/v1/links');
    expect(landingPage(open)).not.toContain('Authorization');
    expect(landingPage(closed)).toContain('Authorization: Bearer $TERSE_KEY');
    expect(landingPage(open)).toContain('<noscript>');
  });

  test('may be indexed, unlike the pages about one link', () => {
    expect(landingPage(open)).not.toContain('noindex');
  });
});

describePage('reportPage', () => reportPage({ code: 'spring' }));
describePage('reportPage (hostile)', () => reportPage({ code: hostileText }));

describe('reportPage', () => {
  test('fills in the link it was opened for, as text', async () => {
    const inputs = (await elementsOf(reportPage({ code: '"><script>alert(1)</script>' }))).filter(
      ({ name }) => name === 'input',
    );
    expect(inputs.map(({ attributes }) => attributes.get('value'))).toEqual([
      '&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;',
    ]);
  });

  test('offers every category that the API takes, in its order', async () => {
    const options = (await elementsOf(reportPage({ code: '' }))).filter(({ name }) => name === 'option');
    expect(options.map(({ attributes }) => attributes.get('value') ?? '')).toEqual([...reportCategories]);
  });
});
