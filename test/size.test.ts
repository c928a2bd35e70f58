/** `npm run size` on a folder of a few files. */
import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measure } from '../scripts/size.ts';

const root = mkdtempSync(join(tmpdir(), 'terse-size-test-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const files = {
  'src/links/fields.ts': "export const twice = 1;\nexport const field = 'forwardQuery';\n",
  'src/links/create.ts':
    "import { field } from './fields.ts';\n// forwardQuery\nexport const create = field;\n",
  'src/clicks/twice.ts': "import { tmpdir } from 'node:os';\nexport function twice() {}\n",
  'src/clicks/agent.ts': 'export const agent = { os: 1 };\n',
  'src/web/page.css': 'a {\n}\n',
  'src/links/fields.test.ts': "import './fields.ts';\nexport const twice = 'forwardQuery';\n",
  'src/links/fake-store.ts': 'export const twice = 1;\n',
};

test('counts product code only, and finds what the figures name', async () => {
  for (const [path, text] of Object.entries(files)) await Bun.write(join(root, path), text);
  const size = await measure(root);

  expect([size.lines, size.files, size.medianLines]).toEqual([10, 5, 2]);
  expect(size.folders.get('src/links')).toEqual({ lines: 5, files: 2 });
  expect(size.oneImporter).toEqual(['src/links/fields.ts']);
  expect([...size.declaredTwice]).toEqual([['twice', ['src/clicks/twice.ts', 'src/links/fields.ts']]]);
  // A comment is no mention, and `node:os` no click dimension.
  expect(size.touched[0]?.files).toEqual(['src/links/fields.ts']);
  expect(size.touched.find(({ exemplar }) => exemplar === 'os')?.files).toEqual(['src/clicks/agent.ts']);
});
