import { describe, expect, test } from 'bun:test';
import { describePage, hostileText } from './page.conformance.ts';
import { errorPage, type GoneReason, gonePage, missingPage } from './status-pages.ts';

const reasons: readonly GoneReason[] = ['expired', 'deleted', 'disabled', 'exhausted', 'unsafe', 'blocked'];

describePage('missingPage', missingPage);
for (const reason of reasons) describePage(`gonePage (${reason})`, () => gonePage({ reason }));
describePage('errorPage', () => errorPage({ status: 503, title: hostileText, detail: hostileText }));

describe('status pages', () => {
  test('say their status and keep out of search engines', () => {
    expect(missingPage()).toContain('</span>404</p>');
    expect(gonePage({ reason: 'expired' })).toContain('</span>410</p>');
    expect(errorPage({ status: 503, title: 'Busy', detail: 'Wait.' })).toContain('</span>503</p>');
    for (const page of [missingPage(), gonePage({ reason: 'deleted' })]) expect(page).toContain('noindex');
  });

  test('tell the reasons of a gone link apart', () => {
    expect(new Set(reasons.map(reason => gonePage({ reason }))).size).toBe(reasons.length);
    expect(gonePage({ reason: 'expired' })).toContain('This link has expired');
    expect(gonePage({ reason: 'exhausted' })).toContain('This link is used up');
  });

  test('show the words of an error as text', () => {
    const page = errorPage({ status: 400, title: hostileText, detail: 'a < b' });
    expect(page).toContain('a &lt; b');
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  });
});
