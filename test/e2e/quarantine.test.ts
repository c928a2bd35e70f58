/** The answers for visitors of a quarantined or blocked link, in a browser and elsewhere. */
import { afterAll, describe, expect, test } from 'bun:test';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { startTerseHere } from '../kit/terse-here.ts';

const terse = await startTerseHere();
afterAll(() => terse.stop());
const call = callerOf(terse.url);
const browser = { Accept: 'text/html,*/*;q=0.8', 'User-Agent': 'Mozilla/5.0 (X11; Linux) Firefox/140.0' };

async function decided(decision: string, link: object = {}): Promise<string> {
  const body = { longUrl: 'https://example.com/path?a=1', ...link };
  const { shortCode } = (await call('POST', '/api/v1/links', { body })).body;
  await decide(shortCode, decision);
  return shortCode;
}
async function decide(code: string, decision: string): Promise<void> {
  const { link } = (await call('GET', `/api/v1/moderation/links/${code}`)).body;
  const body = { decision, reason: 'Looks bad.', version: link.version };
  expect((await call('POST', `/api/v1/moderation/links/${code}/decision`, { body })).status).toBe(200);
}
const visit = (path: string, headers: Record<string, string> = browser) =>
  call('GET', `/${path}`, { key: undefined, headers });
/** The path and query of the page's continue link. */
function continuePath(page: string): string {
  const href = /href="\/([^"]*terse-continue=[^"]*)"/.exec(page)?.[1] ?? '';
  return href.replaceAll('&amp;', '&');
}

describe('a quarantined link', () => {
  test('shows its destination in a browser, and lets the visitor continue', async () => {
    const code = await decided('quarantine');
    const warned = await visit(code);
    expect(warned.status).toBe(200);
    expect(warned.headers.get('location')).toBeNull();
    expect(warned.headers.get('cache-control')).toBe('no-store, no-transform');
    expect(warned.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(warned.headers.get('set-cookie')).toBeNull();
    expect(warned.body).toContain('<strong>example.com</strong>/path?a=1');
    const gone = await visit(continuePath(warned.body), { ...browser, 'Sec-Fetch-Site': 'same-origin' });
    expect(gone.status).toBe(302);
    expect(gone.headers.get('location')).toBe('https://example.com/path?a=1');
    expect(gone.headers.get('cache-control')).toBe('private, no-store');
  });

  test('warns again when a visitor uses a continue link that is not theirs', async () => {
    const code = await decided('quarantine');
    const other = await decided('quarantine');
    const path = continuePath((await visit(code)).body);
    expect((await visit(path, { ...browser, 'Sec-Fetch-Site': 'cross-site' })).status).toBe(200);
    expect((await visit(path.replace(code, other))).status).toBe(200);
    expect((await visit(`${code}?terse-continue=1.AAAAAAAAAAAAAAAAAAAAAA`)).status).toBe(200);
    await call('PATCH', `/api/v1/links/${code}`, { body: { longUrl: 'https://evil.example/' } });
    const again = await visit(path);
    expect(again.status).toBe(200);
    expect(again.body).toContain('<strong>evil.example</strong>');
  });

  test('is a problem that names the destination for all other clients', async () => {
    const answer = await visit(await decided('quarantine'), {});
    expectProblem(answer, 403, 'link_quarantined');
    expect(answer.body.longUrl).toBe('https://example.com/path?a=1');
  });

  test('forwards the visitor’s query unchanged, without our parameter', async () => {
    const code = await decided('quarantine', { forwardQuery: true });
    const warned = await visit(`${code}?q=%20+x`);
    expect(warned.body).toContain('/path?a=1&amp;q=%20+x');
    const gone = await visit(continuePath(warned.body));
    expect(gone.headers.get('location')).toBe('https://example.com/path?a=1&q=%20+x');
    await decide(code, 'allow');
    const free = await visit(continuePath(warned.body));
    expect(free.headers.get('location')).toBe('https://example.com/path?a=1&q=%20+x');
  });

  test('is never cached by a browser, and counts against its limit only when it is followed', async () => {
    const code = await decided('quarantine', { redirectType: 301, maxClicks: 1 });
    for (let time = 0; time < 3; time += 1) expect((await visit(code)).status).toBe(200);
    const path = continuePath((await visit(code)).body);
    expect((await visit(path)).status).toBe(302);
    expect((await visit(path)).status).toBe(410);
  });

  test('can be previewed', async () => {
    const code = await decided('quarantine');
    const page = await visit(`${code}+`);
    expect(page.status).toBe(200);
    expect(page.body).toContain('see a warning first');
    const preview = await visit(`${code}+`, {});
    expect(preview.body).toMatchObject({ longUrl: 'https://example.com/path?a=1', state: 'quarantined' });
  });
});

describe('a blocked link', () => {
  test('is gone, says why, and no token opens it', async () => {
    const code = await decided('quarantine');
    const continued = continuePath((await visit(code)).body);
    await decide(code, 'block');
    for (const path of [code, continued, `${code}+`]) {
      const page = await visit(path);
      expect(page.status).toBe(410);
      expect(page.body).toContain('This link was blocked');
      expectProblem(await visit(path, {}), 410, 'link_blocked');
    }
  });
});
