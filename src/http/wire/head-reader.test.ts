import { describe, expect, test } from 'bun:test';
import { Problem } from '../../base/errors.ts';
import { HeadReader, headWindowBytes } from './head-reader.ts';

const host = 'Host: localhost\r\n';

function refusalOf(text: string): number | undefined {
  try {
    new HeadReader().read(text.slice(0, headWindowBytes), 0);
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error.status;
    throw error;
  }
}

describe('a head', () => {
  test('is read once its end is there, and not before', () => {
    const text = `GET /abc HTTP/1.1\r\n${host}\r\n`;
    for (let length = 0; length < text.length; length += 1) {
      expect(new HeadReader().read(text.slice(0, length), 0)).toBeUndefined();
    }
    const reader = new HeadReader();
    expect(reader.read(`${text}GET`, 0)).toMatchObject({ method: 'GET', path: '/abc' });
    expect(reader.end).toBe(text.length);
    expect(reader.fields.get('host')).toBe('localhost');
  });

  test('may come after empty lines, which are passed over for good', () => {
    const reader = new HeadReader();
    expect(reader.read('\r\n\r\n', 0)).toBeUndefined();
    expect(reader.end).toBe(4);
    expect(reader.read(`\r\nGET / HTTP/1.1\r\n${host}\r\n`, 0)).toMatchObject({ path: '/' });
  });

  test('needs a host, except in HTTP/1.0', () => {
    expect(refusalOf('GET / HTTP/1.1\r\nAccept: a\r\n\r\n')).toBe(400);
    expect(refusalOf('GET / HTTP/1.1\r\n\r\n')).toBe(400);
    expect(refusalOf('GET / HTTP/1.0\r\n\r\n')).toBeUndefined();
  });

  test('has no chunks in HTTP/1.0', () => {
    expect(refusalOf('POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n')).toBe(400);
  });
});

describe('headers that are repeated', () => {
  test('are not read again', () => {
    const reader = new HeadReader();
    const two = `GET /a HTTP/1.1\r\n${host}\r\nGET /b HTTP/1.1\r\n${host}\r\n`;
    expect(reader.read(two, 0)).toMatchObject({ path: '/a' });
    const { fields } = reader;
    expect(reader.read(two, reader.end)).toMatchObject({ path: '/b' });
    expect(reader.fields).toBe(fields);
    expect(reader.end).toBe(two.length);
  });

  test('are those of the new request as soon as one letter differs', () => {
    const reader = new HeadReader();
    reader.read(`GET /a HTTP/1.1\r\n${host}\r\n`, 0);
    for (const lines of [
      `${host}A: b\r\n`,
      `${host}a: b\r\n`,
      host,
      `A: b\r\n${host}`,
      'Host: localhosT\r\n',
    ]) {
      reader.read(`GET /a HTTP/1.1\r\n${lines}\r\n`, 0);
      expect([...reader.fields.toHeaders()]).toEqual([...new Headers(linesOf(lines))]);
    }
  });

  test('are judged by each line they come with', () => {
    const reader = new HeadReader();
    reader.read('GET / HTTP/1.0\r\n\r\n', 0);
    expect(() => reader.read('GET / HTTP/1.1\r\n\r\n', 0)).toThrow(Problem);
    const chunked = `${host}Transfer-Encoding: chunked\r\n\r\n`;
    reader.read(`POST / HTTP/1.1\r\n${chunked}`, 0);
    expect(() => reader.read(`POST / HTTP/1.0\r\n${chunked}`, 0)).toThrow(Problem);
  });

  test('are forgotten on demand', () => {
    const reader = new HeadReader();
    const text = `GET /a HTTP/1.1\r\n${host}\r\n`;
    reader.read(text, 0);
    const { fields } = reader;
    reader.forget();
    expect(reader.read(text, 0)).toMatchObject({ path: '/a' });
    expect(reader.fields).not.toBe(fields);
  });

  const linesOf = (lines: string): [string, string][] =>
    lines
      .split('\r\n')
      .slice(0, -1)
      .map(line => line.split(': ') as [string, string]);
});

describe('a head of 16 KB', () => {
  const start = `GET / HTTP/1.1\r\n${host}X-A: `;
  const ofLength = (length: number) => start + 'a'.repeat(length - start.length);

  test('is taken, and a byte more is refused, in however many pieces they come', () => {
    const largest = ofLength(16 * 1024);
    const tooLarge = ofLength(16 * 1024 + 1);
    expect(refusalOf(`${largest}\r\n\r\n`)).toBeUndefined();
    expect(refusalOf(`${tooLarge}\r\n\r\n`)).toBe(431);
    expect(refusalOf(`${largest}\r\n\r`)).toBeUndefined();
    expect(refusalOf(`${largest}aaaa`)).toBe(431);
    expect(refusalOf('a'.repeat(headWindowBytes - 1))).toBeUndefined();
    expect(refusalOf('a'.repeat(headWindowBytes))).toBe(431);
  });
});
