import { describe, expect, test } from 'bun:test';
import { parseKafkaAddress } from './address.ts';

describe('the address of Kafka', () => {
  test('names brokers and a topic, and leaves the rest to us and to the brokers', () => {
    expect(parseKafkaAddress('kafka://a,b:9093,[::1]:7/clicks')).toEqual({
      servers: ['a:9092', 'b:9093', '[::1]:7'],
      isEncrypted: false,
      login: undefined,
      topic: 'clicks',
      partitions: 12,
      replication: undefined,
      minInsync: undefined,
      retentionHours: 168,
      group: 'clicks-counting',
      since: 'earliest',
    });
  });

  test('says what a topic should be like, who counts, and from where on', () => {
    const text =
      'kafkas://me:p%40ss@h/t?partitions=48&replication=3&minInsync=2&retentionHours=24&group=again&since=2026-01-02T03:04:05Z';
    expect(parseKafkaAddress(text)).toMatchObject({
      isEncrypted: true,
      login: { mechanism: 'SCRAM-SHA-512', username: 'me', password: 'p@ss' },
      partitions: 48,
      replication: 3,
      minInsync: 2,
      retentionHours: 24,
      group: 'again',
      since: { time: Date.UTC(2026, 0, 2, 3, 4, 5) },
    });
    expect(parseKafkaAddress('kafka://me:x@h/t?login=plain&since=17')).toMatchObject({
      login: { mechanism: 'PLAIN' },
      since: { offset: 17 },
    });
  });

  test.each([
    ['http://h/t', 'kafka://HOST'],
    ['kafka://h', 'name of a topic'],
    ['kafka://h/a/b', 'kafka://HOST'],
    ['kafka://h/t%20', 'name of a topic'],
    [`kafka://h/${'t'.repeat(201)}`, 'name of a topic'],
    ['kafka://h:99999/t', '"h:99999" is not a host'],
    ['kafka://h,,i/t', '"" is not a host'],
    ['kafka://h/t?partitions=0', 'partitions of a Kafka address is a number from 1 to 500'],
    ['kafka://h/t?partitions=x', 'partitions'],
    ['kafka://h/t?replication=1&minInsync=2', 'minInsync'],
    ['kafka://h/t?acks=1', 'no option "acks"'],
    ['kafka://h/t?since=yesterday', 'since'],
    ['kafka://h/t?group=a/b', 'group'],
    ['kafka://me@h/t', 'password'],
    ['kafka://me:%ff@h/t', 'percent-encoded'],
    ['kafka://me:x@h/t?login=digest', 'plain, scram-sha-256, scram-sha-512'],
  ])('%s is refused, with the reason', (text, reason) => {
    expect(() => parseKafkaAddress(text)).toThrow(reason);
  });
});
