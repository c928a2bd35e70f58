import { describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { fakeApi, link, problem } from './fake-api.ts';

const api = fakeApi();

describe('failures', () => {
  test('a refusal is shown by title and detail', async () => {
    api.answer = () => problem(409, 'This alias is already taken', 'mine belongs to another link');
    expect(await api.terse(['shorten', 'https://a.b', '--alias=mine'])).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: 'terse: This alias is already taken: mine belongs to another link\n',
    });
  });

  test('a missing key is answered with how to give one', async () => {
    api.answer = () => problem(401, 'A valid API key is needed', 'A valid API key is needed');
    const { exitCode, stderr } = await api.terse(['list']);
    expect(exitCode).toBe(1);
    expect(stderr).toStartWith('terse: A valid API key is needed\n  Give a key with --key or TERSE_KEY.');
  });

  test('an unreachable server is named, with how to start one', async () => {
    const { exitCode, stderr } = await api.terse(['list', '--server=http://127.0.0.1:1']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('cannot reach http://127.0.0.1:1 (');
    expect(stderr).toContain('Start a server with `terse serve`');
  });

  test('a server that never answers times out', async () => {
    const clock = new ManualClock();
    const asked = Promise.withResolvers<void>();
    api.answer = () => {
      asked.resolve();
      return new Promise(() => {});
    };
    const outcome = api.terse(['list'], { clock });
    await asked.promise;
    clock.advance(120_000);
    expect((await outcome).stderr).toContain(`cannot reach ${api.address} (no answer in time)`);
  });

  test.each([
    ['a page', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
    ['an error page', () => new Response('Bad gateway', { status: 502 })],
    ['an error in JSON', () => Response.json({ message: 'no' }, { status: 500 })],
    ['other JSON', () => Response.json({ hello: 'world' })],
    ['a JSON null', () => Response.json(null)],
  ])('%s from another server does not crash the command', async (_name, other) => {
    api.answer = other;
    const { exitCode, stderr } = await api.terse(['show', 'abc1234']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('is it a Terse server?');
  });

  test("a stranger's control characters are shown, not obeyed", async () => {
    const hostile = 'a\u001b]0;owned\u0007\u009b31m\u202eb\nc';
    api.answer = () => Response.json({ ...link, title: hostile });
    const pattern = /[^\P{Cc}\n]|\u202e/u;
    const shown = await api.terse(['show', 'abc1234']);
    expect(shown.stdout).not.toMatch(pattern);
    expect(shown.stdout).toContain('a\\u001b]0;owned\\u0007\\u009b31m\\u202eb\\u000ac\n');
    const json = await api.terse(['show', 'abc1234', '--json']);
    expect(json.stdout).not.toMatch(pattern);
    expect(JSON.parse(json.stdout).title).toBe(hostile);
    api.answer = () => problem(400, 'No', hostile);
    const { stderr } = await api.terse(['show', 'abc1234']);
    expect(stderr).toBe('terse: No: a\\u001b]0;owned\\u0007\\u009b31m\\u202eb\\u000ac\n');
  });

  test.each([
    [['shroten', 'x'], 'shroten is not a command: did you mean shorten?'],
    [['xyzzy'], 'xyzzy is not a command: `terse help` lists them'],
    [['--port=1'], 'the command comes first, and --port is none; see `terse help`'],
    [['help', 'lst'], 'lst is not a command: did you mean list?'],
    [['shorten'], 'something is missing; usage: terse shorten URL|- [options]'],
    [['show', 'a', 'b'], 'there is too much; usage: terse show CODE [options]'],
    [['show', 'a/../b'], 'a/../b is not a code or a short URL'],
    [['show', 'a', '--jsn'], '--jsn is not an option of show: did you mean --json?'],
    [['show', 'a', '--sever=x'], '--sever is not an option of show: did you mean --server?'],
    [['show', 'a', '--port=1'], '--port is not an option of show: `terse help show` lists them'],
    [['show', 'a', '--json=yes'], '--json takes no value'],
    [['show', 'a', '--json', '--json'], '--json is set twice'],
    [['shorten', 'x', '--title'], '--title needs a value: --title=TEXT'],
    [['shorten', 'x', '--title', '--json'], '--title needs a value: --title=TEXT'],
    [['shorten', 'x', '--redirect=303'], '--redirect must be one of 301, 302, 307, 308'],
    [['list', '--limit=many'], '--limit must be a whole number'],
    [['edit', 'a'], 'say what to change; `terse help edit` lists the options'],
    [
      ['show', 'a', '--server=nowhere'],
      '--server=nowhere is not allowed: use an http or https origin without a path',
    ],
    [['serve', '--key=hunter2'], '--key is not a flag: did you mean --tls-key?'],
    [['serve', '--prot=1'], '--prot is not a flag: did you mean --port?'],
    [
      ['serve', '--stats=clickhouse://u:p@h/d'],
      '--stats=clickhouse://***@h/d needs TERSE_STREAM=kafka://…, which carries the clicks there',
    ],
    [['version', 'x'], 'there is too much; usage: terse version'],
  ])('%j ends with 2 and one line that helps', async (argv, line) => {
    expect(await api.terse(argv)).toMatchObject({ exitCode: 2, stdout: '', stderr: `terse: ${line}\n` });
    expect(api.requests).toEqual([]);
  });

  test('the value of a mistyped --key is not shown', async () => {
    const { stderr } = await api.terse(['list', '--kye=hunter2']);
    expect(stderr).toContain('did you mean --key?');
    expect(stderr).not.toContain('hunter2');
  });
});
