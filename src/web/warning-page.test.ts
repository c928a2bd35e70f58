import { describe, expect, test } from 'bun:test';
import { describePage, elementsOf, hostileText } from './page.conformance.ts';
import { type WarningView, warningPage } from './warning-page.ts';

const view: WarningView = {
  code: 'spring',
  shortUrl: 'https://terse.example/spring',
  location: 'https://shop.example.com:8443/sale?a=1&b=2#top',
  continuePath: '/spring?terse-continue=abc',
};

const linksOf = async (page: string): Promise<string[]> =>
  (await elementsOf(page))
    .filter(({ name }) => name === 'a')
    .map(({ attributes }) => attributes.get('href') ?? '');

describePage('warningPage', () => warningPage(view));
describePage('warningPage (hostile)', () =>
  warningPage({
    ...view,
    code: hostileText,
    shortUrl: hostileText,
    location: `https://example.com/${hostileText}`,
  }),
);

describe('warningPage', () => {
  test('shows the destination whole and as text, with its host emphasised, and never links there', async () => {
    const page = warningPage(view);
    expect(page).toContain(
      '<span class="quiet">https://</span><strong>shop.example.com:8443</strong>/sale?a=1&amp;b=2#top',
    );
    for (const href of await linksOf(page)) expect(href).toMatch(/^[/#]/);
  });

  test('lets the visitor turn back, go on or report, in this order', async () => {
    const links = await linksOf(warningPage(view));
    expect(links.slice(-3)).toEqual(['/', '/spring?terse-continue=abc', '/report?code=spring']);
  });

  test('shows an internationalised host in punycode and in its letters', () => {
    const page = warningPage({ ...view, location: 'https://аррӏе.com/login' });
    expect(page).toContain('<strong>xn--80ak6aa92e.com</strong>/login');
    expect(page).toContain('<bdi>аррӏе.com</bdi>');
    expect(warningPage(view)).not.toContain('other alphabets');
  });

  test('keeps a name written from right to left apart from the words around it', () => {
    const page = warningPage({ ...view, location: 'https://xn--mgbh0fb.example/' });
    expect(page).toContain('<bdi>مثال.example</bdi>');
  });

  test.each(['javascript:alert(1)', 'data:text/html,x', 'https://user:pass@example.com/', 'nonsense', ''])(
    'shows %p as text and offers no way there',
    async location => {
      const links = await linksOf(warningPage({ ...view, location }));
      expect(links).not.toContain('/spring?terse-continue=abc');
    },
  );

  test('needs no script and keeps out of search engines', async () => {
    const page = warningPage(view);
    expect((await elementsOf(page)).some(({ name }) => name === 'script' || name === 'form')).toBe(false);
    expect(page).toContain('noindex');
  });
});
