/** Two processes on one data folder: an entry added to one of them is blocked by both; and a long list reaches both. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { callerOf } from '../kit/client.ts';
import { metricOf } from '../kit/follow.ts';
import { startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

setDefaultTimeout(60_000);

const folder = temporaryFolder();
const listPath = join(folder, 'long.txt');
/** Long enough to be read on a thread of its own. */
const listed = 20_000;
function writeLongList(...more: string[]): void {
  const names = Array.from({ length: listed }, (_, index) => `evil${index}.example`);
  writeFileSync(`${listPath}.new`, `${[...names, ...more].join('\n')}\n`);
  renameSync(`${listPath}.new`, listPath);
}
writeLongList();

const env = { TERSE_BLOCKLISTS: listPath };
const one = await startTerseProcess({ dataFolder: join(folder, 'data'), env });
const other = await startTerseProcess({ dataFolder: join(folder, 'data'), env });
afterAll(async () => {
  await Promise.all([one.stop(), other.stop()]);
  rmSync(folder, { recursive: true, force: true });
});
const [callOne, callOther] = [callerOf(one.url), callerOf(other.url)];
const both = [callOne, callOther];

const isRefused = async (call: typeof callOne, longUrl: string): Promise<boolean> =>
  (await call('POST', '/api/v1/links', { body: { longUrl } })).status === 403;

test('a long list is whole in both, and a change of it reaches both', async () => {
  for (const { url } of [one, other]) {
    expect(await metricOf(url, 'terse_blocklist_entries{list="long.txt"}')).toBe(listed);
  }
  for (const call of both) {
    expect(await isRefused(call, 'https://a.evil0.example/')).toBe(true);
    expect(await isRefused(call, `https://evil${listed - 1}.example/`)).toBe(true);
    expect(await isRefused(call, `https://evil${listed}.example/`)).toBe(false);
  }
  writeLongList('late.example');
  for (const call of both)
    await until('the new entry to apply', () => isRefused(call, 'https://late.example/'));
});

test('an entry added to one takes effect in the other, for links that it has in memory too', async () => {
  const { shortCode } = (
    await callOne('POST', '/api/v1/links', { body: { longUrl: 'https://nasty.example/' } })
  ).body;
  for (const call of both) expect((await call('GET', `/${shortCode}`)).status).toBe(302);
  const { id } = (await callOne('POST', '/api/v1/blocklist', { body: { entry: 'nasty.example' } })).body;
  expect((await callOne('GET', `/${shortCode}`)).status).toBe(410);
  await until(
    'the link to be held at the other process',
    async () => (await callOther('GET', `/${shortCode}`)).status === 410,
  );
  await until('the entry to apply at the other process', () =>
    isRefused(callOther, 'https://nasty.example/'),
  );
  expect((await callOther('DELETE', `/api/v1/blocklist/${id}`)).status).toBe(204);
  expect((await callOther('GET', `/${shortCode}`)).status).toBe(302);
  await until('the link to be released', async () => (await callOne('GET', `/${shortCode}`)).status === 302);
});
