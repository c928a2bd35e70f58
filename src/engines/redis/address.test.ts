import { describe, expect, test } from 'bun:test';
import { parseRedisAddress } from './client.ts';

describe('a Redis address', () => {
  test('names one server, with the usual port where it names none', () => {
    expect(parseRedisAddress('redis://cache.internal')).toEqual({
      isCluster: false,
      isEncrypted: false,
      servers: [{ host: 'cache.internal', port: 6379 }],
      username: undefined,
      password: undefined,
      database: 0,
    });
  });

  test('carries login, encryption and the number of a database', () => {
    expect(parseRedisAddress('rediss://terse:p%40ss%3Aword@[::1]:7000/3')).toEqual({
      isCluster: false,
      isEncrypted: true,
      servers: [{ host: '::1', port: 7000 }],
      username: 'terse',
      password: 'p@ss:word',
      database: 3,
    });
    expect(parseRedisAddress('redis://:secret@h').password).toBe('secret');
  });

  test('names several servers of a Cluster', () => {
    const { isCluster, servers } = parseRedisAddress('redis-cluster://a:1,b:2,c');
    expect(isCluster).toBe(true);
    expect(servers).toEqual([
      { host: 'a', port: 1 },
      { host: 'b', port: 2 },
      { host: 'c', port: 6379 },
    ]);
  });

  test.each([
    ['http://a', 'starts with'],
    ['redis://', 'not a host'],
    ['redis://a:99999', 'not a host'],
    ['redis://a:b', 'not a host'],
    ['redis://a,b', 'only redis-cluster'],
    ['redis://a/x', 'number of a database'],
    ['redis-cluster://a/1', 'no numbered databases'],
    ['redis-cluster://a,', 'not a host'],
    ['redis://%zz@a', 'percent-encoded'],
    ['redis://a?x=1', 'starts with'],
  ])('%s is refused in plain words', (text, words) => {
    expect(() => parseRedisAddress(text)).toThrow(words);
  });
});
