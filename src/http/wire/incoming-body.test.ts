import { describe, expect, test } from 'bun:test';
import { Problem } from '../../base/errors.ts';
import { IncomingBody } from './incoming-body.ts';

const limitBytes = 64 * 1024;

/** A body, and what its socket was told. */
function bodyOf(bytes: number | undefined) {
  const told: string[] = [];
  const waits: boolean[] = [];
  const body = new IncomingBody(bytes, {
    onWanted: () => told.push('wanted'),
    pause: () => told.push('pause'),
    resume: () => told.push('resume'),
    onWaiting: isWaiting => waits.push(isWaiting),
  });
  return { body, told, waits };
}

const text = (content: string): Buffer => Buffer.from(content);

describe('a body of known length', () => {
  test('takes what belongs to it, and nothing of what follows', async () => {
    const { body } = bodyOf(10);
    expect(body.take(text('hello'))).toBe(5);
    expect(body.leftBytes).toBe(5);
    expect(body.take(text(' you!GET /'))).toBe(5);
    expect(body.isDone).toBe(true);
    expect(body.leftBytes).toBe(0);
    expect(await new Response(body.stream).text()).toBe('hello you!');
  });
});

describe('a body in chunks', () => {
  test('has no known length, and hands on its data only', async () => {
    const { body } = bodyOf(undefined);
    expect(body.take(text('3\r\nabc\r\n2\r'))).toBe(10);
    expect(body.leftBytes).toBe(Number.POSITIVE_INFINITY);
    expect(body.take(text('\nde\r\n0\r\n\r\nGET'))).toBe(10);
    expect(body.leftBytes).toBe(0);
    expect(body.receivedBytes).toBe(20);
    expect(await new Response(body.stream).text()).toBe('abcde');
  });

  test('makes no more pieces than the network did', async () => {
    const { body } = bodyOf(undefined);
    body.take(text(`${'1\r\na\r\n'.repeat(1_000)}0\r\n\r\n`));
    expect((await body.stream.getReader().read()).value?.length).toBe(1_000);
  });

  test('does not keep what was around a little data', async () => {
    const { body } = bodyOf(undefined);
    body.take(text(`1;${'x'.repeat(200)}\r\na\r\n`));
    expect((await body.stream.getReader().read()).value?.buffer.byteLength).toBe(1);
  });

  test('says what is wrong with it', () => {
    const { body } = bodyOf(undefined);
    expect(() => body.take(text('zz\r\n'))).toThrow(Problem);
  });
});

describe('a handler sets the pace', () => {
  test('nothing is asked for before it reads, and once it does the client is told so once', async () => {
    const { body, told } = bodyOf(10);
    await Bun.sleep(0);
    expect(told).toEqual([]);
    const reader = body.stream.getReader();
    const first = reader.read();
    await Bun.sleep(0);
    expect(told).toEqual(['wanted', 'resume']);
    body.take(text('hello'));
    await first;
    const second = reader.read();
    await Bun.sleep(0);
    expect(told).toEqual(['wanted', 'resume', 'resume']);
    body.take(text('hello'));
    await second;
  });

  test('the socket rests while more than 64 KB are unread, and goes on when they are read', async () => {
    const { body, told } = bodyOf(1_000_000);
    body.take(Buffer.alloc(limitBytes));
    expect(told).toEqual([]);
    body.take(Buffer.alloc(1));
    expect(told).toEqual(['pause']);
    expect(body.unreadBytes).toBe(limitBytes + 1);
    const reader = body.stream.getReader();
    await reader.read();
    await reader.read();
    expect(body.unreadBytes).toBe(0);
    const third = reader.read();
    await Bun.sleep(0);
    expect(told).toEqual(['pause', 'wanted', 'resume']);
    body.take(Buffer.alloc(1));
    await third;
  });

  test('the platform’s Request does not read ahead of it', async () => {
    const { body, told } = bodyOf(1_000_000);
    new Request('http://localhost/', { method: 'POST', body: body.stream, duplex: 'half' } as RequestInit);
    body.take(Buffer.alloc(limitBytes + 1));
    await Bun.sleep(0);
    expect(told).toEqual(['pause']);
  });

  test.each(['passOver', 'cancel'] as const)(
    'after %s the rest is dropped and the socket goes on',
    async how => {
      const { body, told } = bodyOf(100_000);
      body.take(Buffer.alloc(70_000));
      if (how === 'cancel') await body.stream.cancel();
      else body.passOver();
      expect(told).toEqual(['pause', 'resume']);
      expect(body.take(Buffer.alloc(40_000))).toBe(30_000);
      expect(body.isDone).toBe(true);
      expect(body.unreadBytes).toBe(0);
    },
  );
});

describe('a body that does not come to its end', () => {
  test('tells its reader why, even one that has not begun', async () => {
    const { body } = bodyOf(10);
    body.take(text('hello'));
    body.fail(new Error('the client went away'));
    body.fail(new Error('and again'));
    expect(new Response(body.stream).text()).rejects.toThrow('the client went away');
    expect(body.take(text('more'))).toBe(4);
  });

  test('harms nobody when it is complete, or nobody wants it', async () => {
    const complete = bodyOf(5).body;
    complete.take(text('hello'));
    complete.fail(new Error('late'));
    expect(await new Response(complete.stream).text()).toBe('hello');
    const unwanted = bodyOf(5).body;
    unwanted.passOver();
    unwanted.fail(new Error('late'));
  });
});
