import { expect, test } from 'bun:test';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../terse-process.ts';
import { until } from '../until.ts';
import { describeWithEngine } from './describe-with-engine.ts';

describeWithEngine(
  'redis',
  'a shared engine',
  () => {
    test('runs again, with its data, after a test that timed out, and leaves nothing behind', async () => {
      const folder = temporaryFolder();
      const kit = (name: string) => JSON.stringify(join(import.meta.dir, name));
      writeFileSync(
        join(folder, 'sample.test.ts'),
        `import { expect, test } from 'bun:test';
         import { sharedRedis } from ${kit('redis.ts')};
         import { askRedis } from ${kit('redis-question.ts')};
         test('takes too long', async () => {
           const { url } = await sharedRedis();
           process.stderr.write(await askRedis(url, 'CONFIG GET dir'));
           await askRedis(url, 'SET kept 1');
           await Bun.sleep(60_000);
         }, 3_000);
         test('comes after it', async () => {
           await Bun.sleep(1_000);
           expect(await askRedis((await sharedRedis()).url, 'GET kept')).toContain('1');
         }, 60_000);`,
      );
      const { stderr } = Bun.spawnSync([process.execPath, 'test'], { cwd: folder });
      const said = stderr.toString();
      rmSync(folder, { recursive: true, force: true });
      expect(said).toContain('(fail) takes too long');
      expect(said).toContain('(pass) comes after it');
      const engineFolder = /\S*terse-engine-redis-\S*/.exec(said)![0];
      await until('its folder is gone', () => !existsSync(engineFolder));
    });
  },
  { own: true },
);
