import { expect, test } from 'bun:test';
import { fakeApi } from '../fake-api.ts';

const api = fakeApi();

test('setup says that an embedded store needs nothing', async () => {
  expect(await api.terse(['setup', '--data', './somewhere'])).toMatchObject({
    exitCode: 0,
    stdout: 'the embedded store in ./somewhere has all that it needs\n',
  });
});

test('setup that fails says why in one line and exits with 1', async () => {
  const outcome = await api.terse(['setup'], {
    env: { TERSE_LINKS: 'dynamodb://terse?region=eu-west-1&endpoint=http://127.0.0.1:1' },
  });
  expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
  expect(outcome.stderr).toMatch(
    /^terse: the DynamoDB table terse at http:\/\/127\.0\.0\.1:1 cannot be used: .+\n$/,
  );
});
