import { afterAll, beforeAll, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { type S3Engine, startS3 } from '../../../test/kit/engines/s3.ts';
import { systemClock } from '../../base/clock.ts';
import { parseS3Address } from './address.ts';
import { S3, type S3Options, S3Refusal, S3Unavailable } from './s3.ts';

const keys = { accessKeyId: 'nobody', secretAccessKey: 'secret-of-nobody' };

test('storage that is unreachable counts as down, and no message holds a signature', async () => {
  const s3 = new S3({
    address: parseS3Address('s3://terse?endpoint=http://127.0.0.1:1'),
    keys,
    clock: systemClock,
  });
  for (const call of [() => s3.get('one'), () => s3.put('one', Uint8Array.of(1)), () => s3.list('')]) {
    const error = await call().then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error).toBeInstanceOf(S3Unavailable);
    expect(error?.message).toMatch(/^the storage is down: \w+$/);
  }
});

test('what fails for a moment is tried again, and what goes on failing is given up', async () => {
  let [failures, calls] = [2, 0];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch() {
      calls += 1;
      return new Response('kept', { status: calls > failures ? 200 : 503 });
    },
  });
  try {
    const address = parseS3Address(`s3://terse?endpoint=http://127.0.0.1:${server.port}`);
    const s3 = new S3({ address, keys, clock: systemClock });
    expect(new TextDecoder().decode(await s3.get('one'))).toBe('kept');
    [failures, calls] = [Number.POSITIVE_INFINITY, 0];
    await expect(s3.get('one')).rejects.toThrow('the storage is down: status 503');
    expect(calls).toBe(3);
  } finally {
    await server.stop(true);
  }
});

describeWithEngine(
  's3',
  'a bucket',
  () => {
    let engine: S3Engine;
    beforeAll(async () => {
      engine = await startS3();
    });
    afterAll(() => engine.stop());

    const open = (options: Partial<S3Options> = {}) =>
      new S3({
        address: parseS3Address(engine.freshAddress()),
        keys: engine.keys,
        clock: systemClock,
        ...options,
      });

    test('keys that it does not know are refused at once, whatever is asked', async () => {
      const s3 = open({ keys });
      await expect(s3.put('one', Uint8Array.of(1))).rejects.toThrow(S3Refusal);
      await expect(s3.get('one')).rejects.toThrow('the storage refused: InvalidAccessKeyId');
      await expect(s3.list('')).rejects.toThrow(S3Refusal);
    });

    test('a bucket that does not exist is a refusal and not an empty one', async () => {
      const s3 = open({
        address: { ...parseS3Address(engine.freshAddress()), bucket: 'nobodys-bucket' },
      });
      await expect(s3.get('one')).rejects.toThrow('NoSuchBucket');
      await expect(s3.list('')).rejects.toThrow('NoSuchBucket');
    });

    test('storage that hangs is given up after the deadline, and serves again when it is back', async () => {
      const address = parseS3Address(engine.freshAddress());
      await open({ address }).put('one', Uint8Array.of(1));
      const s3 = open({ address, deadlineMs: 200 });
      engine.pause();
      for (const call of [() => s3.get('one'), () => s3.put('two', Uint8Array.of(2)), () => s3.list('')])
        await expect(call()).rejects.toThrow(S3Unavailable);
      engine.resume();
      expect([...(await open({ address }).get('one'))!]).toEqual([1]);
    });
  },
  { own: true },
);
