import { afterAll, beforeAll, expect, test } from 'bun:test';
import { systemClock } from '../../../src/base/clock.ts';
import { parseS3Address } from '../../../src/engines/s3/address.ts';
import { S3 } from '../../../src/engines/s3/s3.ts';
import { describeWithEngine } from './describe-with-engine.ts';
import { type S3Engine, startS3 } from './s3.ts';

describeWithEngine(
  's3',
  'S3-compatible storage of its own',
  () => {
    let engine: S3Engine;
    beforeAll(async () => {
      engine = await startS3();
    });
    afterAll(() => engine.stop());

    const open = (address: string) =>
      new S3({ address: parseS3Address(address), keys: engine.keys, clock: systemClock });

    test('has a new prefix per caller', async () => {
      const [one, other] = [open(engine.freshAddress()), open(engine.freshAddress())];
      await one.put('kept', Uint8Array.of(1));
      expect(await one.list('')).toEqual(['kept']);
      expect(await other.list('')).toEqual([]);
    });

    test('keeps at the same address what it acknowledged when it is killed', async () => {
      const address = engine.freshAddress();
      await open(address).put('kept', Uint8Array.of(7));
      await engine.kill();
      await engine.restart();
      expect([...(await open(address).get('kept'))!]).toEqual([7]);
    });
  },
  { own: true },
);
