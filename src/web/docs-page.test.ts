import { describe, expect, test } from 'bun:test';
import { problemTable } from '../base/errors.ts';
import { docsFileHandlers, docsPage } from './docs-page.ts';
import { describePage } from './page.conformance.ts';

describePage('docs page', docsPage);

test('every problem has a row that its type leads to', () => {
  for (const code of Object.keys(problemTable)) expect(docsPage()).toContain(`<tr id="problem-${code}">`);
});

describe.each(Object.entries(docsFileHandlers()))('the file %s of the renderer', (path, answer) => {
  const get = (headers: Record<string, string>): Promise<Response> =>
    answer(new Request(`http://localhost${path}`, { headers }));

  test('is what the page loads, by an address that changes with its version', () => {
    expect(docsPage()).toMatch(new RegExp(`"${path}\\?v=[0-9a-f]{12}"`));
  });

  test('is not sent again to a browser that has it', async () => {
    const etag = (await get({})).headers.get('etag')!;
    const again = await get({ 'If-None-Match': etag });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });
});
