import { expect, test } from 'bun:test';
import { readAnswer } from './answer.ts';

const read = (text: string) => readAnswer(Buffer.from(text, 'latin1'));

test('an answer is complete when its head and the promised body are there', () => {
  const head = 'HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 4\r\n\r\n';
  expect(read(head.slice(0, -1))).toBeUndefined();
  expect(read(`${head}bod`)).toBeUndefined();
  expect(read(`${head}body`)).toEqual({
    status: 302,
    length: head.length + 4,
    isLast: false,
    saysWhen: false,
  });
  expect(read(`${head}bodyHTTP/1.1 200`)).toMatchObject({ length: head.length + 4 });
});

test('a server that will close the connection is believed', () => {
  expect(read('HTTP/1.1 503 Busy\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')).toMatchObject({
    status: 503,
    isLast: true,
  });
});

test('it is told whether a refusal says when to come again', () => {
  expect(read('HTTP/1.1 503 Busy\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n')!.saysWhen).toBe(true);
});

test('noise is no status, and what cannot be read is not guessed at', () => {
  expect(read('SSH-2.0-server\r\n\r\n')!.status).toBeNaN();
  expect(() => read('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')).toThrow('chunked');
});
