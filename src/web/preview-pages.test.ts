import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { describePage, elementsOf, hostileText } from './page.conformance.ts';
import { type PreviewView, previewPage, type WarningView, warningPage } from './preview-pages.ts';

const view: PreviewView = {
  code: 'spring',
  shortUrl: 'https://terse.example/spring',
  longUrl: 'https://shop.example.com:8443/sale?a=1&b=2#top',
  notice: null,
  createdAt: Date.UTC(2026, 2, 5, 7, 8, 9),
  expiresAt: Date.UTC(2027, 11, 31, 23, 59),
  state: 'active',
};

async function outwardLinks(page: string): Promise<string[]> {
  const anchors = (await elementsOf(page)).filter(element => element.name === 'a');
  return anchors.map(anchor => anchor.attributes.get('href') ?? '').filter(href => !/^[/#]/.test(href));
}

describePage('previewPage', () => previewPage(view));
describePage('previewPage (hostile)', () =>
  previewPage({ ...view, code: hostileText, shortUrl: hostileText, state: hostileText }),
);
describePage('previewPage (hostile URL)', () =>
  previewPage({ ...view, longUrl: `https://example.com/${hostileText}` }),
);

describe('previewPage', () => {
  test('shows the destination whole, with its host and port emphasised', () => {
    expect(previewPage(view)).toContain(
      '<span class="quiet">https://</span><strong>shop.example.com:8443</strong>/sale?a=1&amp;b=2#top',
    );
  });

  test('continues to exactly the URL that is shown', async () => {
    const [href] = await outwardLinks(previewPage(view));
    expect(href).toBe('https://shop.example.com:8443/sale?a=1&amp;b=2#top');
  });

  test('shows an internationalised host in punycode, so that a look-alike looks different', () => {
    const page = previewPage({ ...view, longUrl: 'https://аррӏе.com/login' });
    expect(page).toContain('<strong>xn--80ak6aa92e.com</strong>/login');
    expect(page).not.toContain('аррӏе');
  });

  test('says why it shows no destination, and continues through the short link', async () => {
    const page = previewPage({ ...view, longUrl: null, notice: 'It is a <secret>.' });
    expect(page).toContain('<p class="destination-url">It is a &lt;secret&gt;.</p>');
    expect(page).not.toContain('shop.example.com');
    expect(await outwardLinks(page)).toEqual(['https://terse.example/spring']);
  });

  test.each(['javascript:alert(1)', 'data:text/html,x', 'https://user:pass@example.com/', 'not a url', ''])(
    'shows %p as text and offers no way there',
    async longUrl => expect(await outwardLinks(previewPage({ ...view, longUrl }))).toEqual([]),
  );

  test('never links anywhere but http and https, whatever the URL', async () => {
    const scheme = fc.constantFrom(
      'javascript:',
      'JaVaScRiPt:',
      'java\tscript:',
      'data:',
      'https://',
      'http:',
      '',
    );
    await fc.assert(
      fc.asyncProperty(scheme, fc.webPath(), fc.string(), async (start, path, rest) => {
        const links = await outwardLinks(previewPage({ ...view, longUrl: start + path + rest }));
        for (const href of links) expect(href).toMatch(/^https?:\/\/[^/]/);
      }),
    );
  });

  test.each([
    'disabled',
    'expired',
    'exhausted',
    'deleted',
    'unsafe',
    'quarantined',
    'blocked',
    'constructor',
    'something new',
  ])('warns of a link that is %s and offers no way past that', async state => {
    const page = previewPage({ ...view, state });
    expect(page).toContain('<p class="notice" role="note">This link');
    expect(await outwardLinks(page)).toEqual([]);
  });

  test('does not warn of an active link', () => {
    expect(previewPage(view)).not.toContain('notice');
  });

  test('tells times in words and for machines, in UTC', () => {
    const page = previewPage(view);
    expect(page).toContain('<time datetime="2026-03-05T07:08:09.000Z">5 March 2026, 07:08 UTC</time>');
    expect(page).toContain('31 December 2027, 23:59 UTC');
  });

  test('says that a link without an expiry never expires, and survives a time that is none', () => {
    expect(previewPage({ ...view, expiresAt: null })).toContain('<dd>Never</dd>');
    expect(previewPage({ ...view, createdAt: Number.NaN })).toContain('<dd>Unknown</dd>');
  });
});

const warned: WarningView = {
  code: 'spring',
  shortUrl: 'https://terse.example/spring',
  location: 'https://shop.example.com:8443/sale?a=1&b=2#top',
  continuePath: '/spring?terse-continue=abc',
};

const linksOf = async (page: string): Promise<string[]> =>
  (await elementsOf(page))
    .filter(({ name }) => name === 'a')
    .map(({ attributes }) => attributes.get('href') ?? '');

describePage('warningPage', () => warningPage(warned));
describePage('warningPage (hostile)', () =>
  warningPage({
    ...warned,
    code: hostileText,
    shortUrl: hostileText,
    location: `https://example.com/${hostileText}`,
  }),
);

describe('warningPage', () => {
  test('shows the destination whole and as text, with its host emphasised, and never links there', async () => {
    const page = warningPage(warned);
    expect(page).toContain(
      '<span class="quiet">https://</span><strong>shop.example.com:8443</strong>/sale?a=1&amp;b=2#top',
    );
    for (const href of await linksOf(page)) expect(href).toMatch(/^[/#]/);
  });

  test('lets the visitor turn back, go on or report, in this order', async () => {
    const links = await linksOf(warningPage(warned));
    expect(links.slice(-3)).toEqual(['/', '/spring?terse-continue=abc', '/report?code=spring']);
  });

  test('shows an internationalised host in punycode and in its letters', () => {
    const page = warningPage({ ...warned, location: 'https://аррӏе.com/login' });
    expect(page).toContain('<strong>xn--80ak6aa92e.com</strong>/login');
    expect(page).toContain('<bdi>аррӏе.com</bdi>');
    expect(warningPage(warned)).not.toContain('other alphabets');
  });

  test('keeps a name written from right to left apart from the words around it', () => {
    const page = warningPage({ ...warned, location: 'https://xn--mgbh0fb.example/' });
    expect(page).toContain('<bdi>مثال.example</bdi>');
  });

  test.each(['javascript:alert(1)', 'data:text/html,x', 'https://user:pass@example.com/', 'nonsense', ''])(
    'shows %p as text and offers no way there',
    async location => {
      const links = await linksOf(warningPage({ ...warned, location }));
      expect(links).not.toContain('/spring?terse-continue=abc');
    },
  );

  test('needs no script and keeps out of search engines', async () => {
    const page = warningPage(warned);
    expect((await elementsOf(page)).some(({ name }) => name === 'script' || name === 'form')).toBe(false);
    expect(page).toContain('noindex');
  });
});
