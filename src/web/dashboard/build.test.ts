import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildDashboard, embedDashboard } from './build.ts';

test('an executable carries the finished dashboard and serves it without its sources', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-embed-'));
  const entry = join(folder, 'entry.ts');
  await Bun.write(
    entry,
    `import { dashboardHandlers } from ${JSON.stringify(join(import.meta.dir, 'serve.ts'))};
     const handlers = dashboardHandlers({ baseUrl: 'https://terse.example' });
     const page = await (await handlers['/dashboard'](new Request('http://x/dashboard'))).text();
     const path = /\\/assets\\/dashboard\\.\\w+\\.js/.exec(page)[0];
     const file = await handlers['/assets/*'](new Request('http://x' + path));
     process.stdout.write(path + ' ' + (await file.bytes()).length);`,
  );
  const { outputs } = await Bun.build({ entrypoints: [entry], target: 'bun', plugins: [embedDashboard()] });
  const bundle = join(folder, 'bundle.js');
  await Bun.write(bundle, outputs[0]!);
  const run = Bun.spawn([process.execPath, bundle], { cwd: folder, stdout: 'pipe' });
  const { script } = await buildDashboard();
  expect(await new Response(run.stdout).text()).toBe(`${script.path} ${Buffer.byteLength(script.text)}`);
  rmSync(folder, { recursive: true, force: true });
});

test('the script of the first page is at most 100 KB as it is sent', async () => {
  const { script } = await buildDashboard();
  expect(Bun.gzipSync(Buffer.from(script.text)).length).toBeLessThanOrEqual(100 * 1024);
});
