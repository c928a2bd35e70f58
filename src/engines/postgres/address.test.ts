import { describe, expect, test } from 'bun:test';
import { parseAddress } from './address.ts';

const address = 'postgres://terse:secret@db.example:5432/links';

describe('an address', () => {
  test('names the server, and twenty connections where it does not say how many', () => {
    expect(parseAddress(address)).toEqual({
      connectionString: address,
      replicaConnectionString: undefined,
      connectionsMax: 20,
      aloneMaxMs: 600_000,
      place: 'db.example:5432/links',
    });
  });

  test('keeps what is for the client library and takes out what is for us', () => {
    const parsed = parseAddress(`${address}?pool=7&sslmode=verify-full&replica=near.example:6543`);
    expect(parsed.connectionsMax).toBe(7);
    expect(parsed.connectionString).toBe(`${address}?sslmode=verify-full`);
    expect(parsed.replicaConnectionString).toBe(
      'postgres://terse:secret@near.example:6543/links?sslmode=verify-full',
    );
  });

  test('says how long a replica answers without its primary', () => {
    const { aloneMaxMs, connectionString } = parseAddress(`${address}?replica=near&replicaAloneS=0`);
    expect(aloneMaxMs).toBe(0);
    expect(connectionString).toBe(address);
  });

  test('of a replica without a port means the usual one, not the primary’s', () => {
    const { replicaConnectionString } = parseAddress('postgres://h:6000/links?replica=near.example');
    expect(replicaConnectionString).toBe('postgres://near.example/links');
  });

  test.each([
    ['postgres://', 'looks like'],
    ['mysql://host/links', 'looks like'],
    ['host:5432', 'looks like'],
    [`${address}?pool=0`, 'pool in a Postgres address'],
    [`${address}?pool=1001`, 'pool in a Postgres address'],
    [`${address}?pool=many`, 'pool in a Postgres address'],
    [`${address}?replicaAloneS=-1`, 'replicaAloneS in a Postgres address'],
    [`${address}?replicaAloneS=86401`, 'replicaAloneS in a Postgres address'],
    [`${address}?replica=`, 'replica in a Postgres address'],
    [`${address}?replica=user:pw@host:1`, 'replica in a Postgres address'],
    [`${address}?replica=host:1/other`, 'replica in a Postgres address'],
  ])('like %s is refused in words that say what is wrong', (wrong, words) => {
    expect(() => parseAddress(wrong)).toThrow(words);
  });

  test('is never repeated with its password', () => {
    expect(parseAddress(address).place).not.toContain('secret');
    expect(() => parseAddress(`${address}?pool=0`)).not.toThrow('secret');
  });
});
