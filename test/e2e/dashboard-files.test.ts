/** The dashboard as a browser loads it: one page for every path, and files that never change under their names. */
import { afterAll, describe, expect, test } from 'bun:test';
import { elementsOf } from '../../src/web/page.conformance.ts';
import { startTerseHere } from '../kit/terse-here.ts';

const terse = await startTerseHere();
afterAll(() => terse.stop());
const get = (path: string, init: RequestInit = {}): Promise<Response> => fetch(terse.url + path, init);
const page = await (await get('/dashboard')).text();
const elements = await elementsOf(page);
const files = elements.flatMap(({ attributes }) =>
  [attributes.get('src'), attributes.get('href'), attributes.get('content')].filter(path =>
    path?.startsWith('/assets/'),
  ),
) as string[];
const ours = files.filter(path => !path.includes('favicon'));

/** All compressed scripts of a first visit. */
const scriptBytesMax = 150 * 1024;

describe('the page', () => {
  test('is the same for every path below /dashboard, and only read', async () => {
    expect(await (await get('/dashboard/links/abc?range=7d')).text()).toBe(page);
    expect((await get('/dashboard', { method: 'POST' })).status).toBe(405);
  });

  test('allows neither inline scripts nor inline styles, and has none', async () => {
    const policy = (await get('/dashboard')).headers.get('content-security-policy')!;
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("style-src 'self'");
    expect(policy).not.toContain('unsafe');
    expect(elements.some(({ name }) => name === 'style')).toBe(false);
    for (const { name, attributes } of elements) {
      if (name === 'script') expect(attributes.has('src')).toBe(true);
      expect([...attributes.keys()].filter(key => key === 'style' || key.startsWith('on'))).toEqual([]);
    }
  });

  test('takes no code away from short links, and no alias can take its path', async () => {
    expect((await get('/dashboards', { redirect: 'manual' })).status).toBe(404);
  });
});

describe('its files', () => {
  test('are a script, its texts in German, a theme, a style sheet and a map', () => {
    expect(ours.map(path => path.replace(/\.[0-9a-f]{12}\./, '.')).sort()).toEqual([
      '/assets/dashboard.css',
      '/assets/dashboard.js',
      '/assets/german.js',
      '/assets/theme.js',
      '/assets/world.json',
    ]);
  });

  test('are immutable, compressed on request, and the same either way', async () => {
    for (const path of ours) {
      const plain = await get(path, { headers: { 'Accept-Encoding': 'identity' } });
      const packed = await get(path, { headers: { 'Accept-Encoding': 'gzip' } });
      expect(plain.headers.get('cache-control')).toContain('immutable');
      const text = await plain.text();
      expect([plain.headers.get('content-encoding'), packed.headers.get('content-encoding')]).toEqual([
        null,
        text.length < 1_024 ? null : 'gzip',
      ]);
      expect(await packed.text()).toBe(text);
    }
  });

  test('stay within the budget of a first visit', async () => {
    const sizes = await Promise.all(
      ours
        .filter(path => path.endsWith('.js'))
        .map(async path => Bun.gzipSync(await (await get(path)).text()).length),
    );
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(scriptBytesMax);
  });

  test('of another version are not found', async () => {
    expect((await get('/assets/dashboard.000000000000.js')).status).toBe(404);
  });
});
