import { expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { sharedS3 } from '../../../test/kit/engines/s3.ts';
import { systemClock } from '../../base/clock.ts';
import { openArchive } from '../../clicks/open-archive.ts';
import { examineArchive } from './sqlite.ts';

const keys = { accessKeyId: 'nobody', secretAccessKey: 'secret' };

test('an archive without keys, and one that is down, fail', async () => {
  expect(
    await examineArchive({ address: 's3://terse', stream: 'embedded' }, undefined, systemClock),
  ).toMatchObject([{ verdict: 'fail', detail: 'there are none in the environment' }]);
  const unreachable = { address: 's3://terse?endpoint=http://127.0.0.1:1', stream: 'embedded' };
  expect(await examineArchive(unreachable, keys, systemClock)).toMatchObject([
    { verdict: 'fail', detail: 'the storage is down: ConnectionRefused' },
  ]);
});

describeWithEngine('s3', 'an archive that is there', () => {
  test('is ok with its newest day, and fails for keys that it does not know', async () => {
    const engine = await sharedS3();
    const address = engine.freshAddress();
    expect(await examineArchive({ address, stream: 'embedded' }, engine.keys, systemClock)).toMatchObject([
      { verdict: 'ok', detail: '0 are archived' },
    ]);
    const archive = openArchive({ address, keys: engine.keys, stream: 'embedded' }, systemClock);
    await archive.put('days/2026-06-01.json', Uint8Array.of(1));
    expect(await examineArchive({ address, stream: 'embedded' }, engine.keys, systemClock)).toMatchObject([
      { verdict: 'ok', detail: '1 are archived, the newest is 2026-06-01' },
    ]);
    expect(await examineArchive({ address, stream: 'embedded' }, keys, systemClock)).toMatchObject([
      { verdict: 'fail' },
    ]);
  });
});
