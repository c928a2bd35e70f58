import { describe, expect, test } from 'bun:test';
import { parseAddress } from './address.ts';

describe('an address', () => {
  test('names the server, the database and who asks', () => {
    expect(parseAddress('clickhouse://terse:se%3Acret@stats.example:8124/clicks')).toEqual({
      origin: 'http://stats.example:8124',
      database: 'clicks',
      username: 'terse',
      password: 'se:cret',
      place: 'stats.example:8124/clicks',
    });
  });

  test('means the usual port and user where it names none', () => {
    const { origin, username, password } = parseAddress('clickhouse://stats.example/clicks');
    expect([origin, username, password]).toEqual(['http://stats.example:8123', 'default', '']);
    expect(parseAddress('clickhouse://stats.example/clicks?secure=true').origin).toBe(
      'https://stats.example:8443',
    );
  });

  test.each([
    ['clickhouse://', 'looks like'],
    ['http://host:8123/clicks', 'looks like'],
    ['host:8123/clicks', 'looks like'],
    ['clickhouse://host', 'ends with a database'],
    ['clickhouse://host/', 'ends with a database'],
    ['clickhouse://host/two words', 'ends with a database'],
    ['clickhouse://host/clicks/more', 'ends with a database'],
    ["clickhouse://host/it's", 'ends with a database'],
    ['clickhouse://host/clicks?secure=yes', 'secure in a ClickHouse address'],
    ['clickhouse://host/clicks?sslmode=on', 'no option “sslmode”'],
    ['clickhouse://%ff@host/clicks', 'percent-encoded'],
  ])('like %s is refused in words that say what is wrong', (wrong, words) => {
    expect(() => parseAddress(wrong)).toThrow(words);
  });
});
