import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { type FakeRecord, fakeMmdb, ipv4Bits } from './fake-mmdb.ts';
import { createGeo } from './geo.ts';

const shipped = createGeo({ readFile: readFileSync });
const geoOf = (file: Uint8Array) => createGeo({ databasePath: 'given.mmdb', readFile: () => file });

describe('with the database that comes with Terse', () => {
  test.each([
    ['8.8.8.8', 'US'],
    ['193.99.144.80', 'DE'],
    ['133.11.0.1', 'JP'],
    ['194.2.0.20', 'FR'],
    ['200.160.2.3', 'BR'],
    ['::ffff:8.8.8.8', 'US'],
    ['::FFFF:8.8.8.8', 'US'],
    ['::ffff:808:808', 'US'],
    ['2a01:4f8::1', 'DE'],
    ['2001:200::1', 'JP'],
    ['2001:0200:0000:0000:0000:0000:0000:0001', 'JP'],
    ['2A01:4F8::1', 'DE'],
  ])('%s is in %s', (address, country) => {
    expect(shipped.locate(address)).toEqual({ country, region: '', city: '' });
    expect(shipped.fault()).toBeUndefined();
  });

  test.each([
    '10.0.0.1',
    '127.0.0.1',
    '192.168.1.1',
    '172.20.0.1',
    '169.254.1.1',
    '100.64.0.1',
    '224.0.0.1',
    '0.0.0.0',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1%eth0',
    'fd00::1',
    '::ffff:10.0.0.1',
    '2001:db8::1',
    '',
    'localhost',
    '8.8.8',
    '8.8.8.8.8',
    '8.8.8.999',
    ':::',
    '8.8.8.8, 1.1.1.1',
  ])('%j is nowhere', address => {
    expect(shipped.locate(address)).toEqual({ country: '', region: '', city: '' });
  });

  test('an address of 100 KB is nowhere, and not remembered', () => {
    expect(shipped.locate('1'.repeat(100_000))).toEqual({ country: '', region: '', city: '' });
  });

  test('any text is located without a fault', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string({ unit: 'binary' })), text => {
        expect(shipped.locate(text).country).toMatch(/^(?:[A-Z]{2})?$/);
      }),
    );
    expect(shipped.fault()).toBeUndefined();
  });
});

const berlin = {
  country: { iso_code: 'DE' },
  subdivisions: [{ iso_code: 'BE', names: { de: 'Berlin', en: 'Land Berlin' } }, { names: { en: 'Mitte' } }],
  city: { names: { en: 'Berlin', de: 'Berlin' } },
};

describe('with a database of the operator', () => {
  const at = (record: FakeRecord) =>
    geoOf(fakeMmdb(6, [[ipv4Bits('203.0.113.0', 24, 6), record]])).locate('203.0.113.9');

  test('country, region and city are read as MaxMind and DB-IP write them', () => {
    expect(at(berlin)).toEqual({ country: 'DE', region: 'Land Berlin', city: 'Berlin' });
    expect(at({ country: { iso_code: 'FR' } })).toEqual({ country: 'FR', region: '', city: '' });
  });

  test('and as ip-location-db writes them', () => {
    expect(at({ country_code: 'JP', state1: 'Kanto', city: 'Tokyo' })).toEqual({
      country: 'JP',
      region: 'Kanto',
      city: 'Tokyo',
    });
  });

  test.each<FakeRecord>([
    { country_code: 'ZZ' },
    { country_code: 'Germany' },
    { country_code: 'de' },
    { country_code: 7 },
    { country: 'DE' },
    { city: 'Berlin' },
    {},
    'DE',
  ])('a record that names no country is nowhere: %j', record => {
    expect(at(record)).toEqual({ country: '', region: '', city: '' });
  });

  test.each<[FakeRecord]>([
    [[]],
    ['x'],
    [7],
    [{}],
    [[{}]],
    [[{ names: 'x' }]],
    [[{ names: { en: 7 } }]],
    [[{ names: { de: 'Bayern' } }]],
  ])('subdivisions without an English name are no region: %j', subdivisions => {
    expect(at({ country: { iso_code: 'DE' }, subdivisions }).region).toBe('');
  });

  test('a region and a city have a reasonable length', () => {
    const { region, city } = at({ country_code: 'GB', state1: 'y'.repeat(200), city: 'x'.repeat(200) });
    expect([region.length, city.length]).toEqual([100, 100]);
  });

  test('private addresses stay nowhere, whatever it says', () => {
    const geo = geoOf(fakeMmdb(6, [[ipv4Bits('10.0.0.0', 8, 6), berlin]]));
    expect(geo.locate('10.1.2.3').country).toBe('');
  });

  test('one of IPv4 alone does not guess about IPv6', () => {
    // 2a01:4f8:: begins with the bits of 42.1.4.248.
    const geo = geoOf(fakeMmdb(4, [[ipv4Bits('42.1.0.0', 16, 4), berlin]]));
    expect(geo.locate('42.1.4.248').country).toBe('DE');
    expect(geo.locate('::ffff:42.1.4.248').country).toBe('DE');
    expect(geo.locate('2a01:4f8::1').country).toBe('');
  });
});

describe('reading the file', () => {
  const file = fakeMmdb(6, [[ipv4Bits('203.0.113.0', 24, 6), berlin]]);
  const ipv4File = fakeMmdb(4, [[ipv4Bits('203.0.113.9', 32, 4), berlin]]);
  const endOf = (database: Buffer) => database.subarray(database.indexOf('MaxMind.com') - 3);

  test('waits for the first question and happens once', () => {
    const read: string[] = [];
    const readFile = (path: string) => {
      read.push(path);
      return file;
    };
    const geo = createGeo({ databasePath: 'given.mmdb', readFile });
    expect(read).toEqual([]);
    geo.locate('203.0.113.9');
    geo.locate('203.0.113.10');
    geo.fault();
    expect(read).toEqual(['given.mmdb']);
  });

  test('that is missing leaves places empty, says why, and is not tried again', () => {
    let reads = 0;
    const geo = createGeo({
      databasePath: 'missing.mmdb',
      readFile: path => {
        reads += 1;
        return readFileSync(path);
      },
    });
    expect(geo.locate('8.8.8.8')).toEqual({ country: '', region: '', city: '' });
    expect(geo.locate('9.9.9.9')).toEqual({ country: '', region: '', city: '' });
    expect(geo.fault()).toMatch(/^the geography database cannot be used: .*missing\.mmdb/);
    expect(reads).toBe(1);
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('not a database')],
    ['zeros', Buffer.alloc(10_000)],
    ['half of a database', file.subarray(0, file.length / 2)],
    ['only the end of a database', endOf(file)],
    ['a database with a hole', Buffer.concat([ipv4File.subarray(0, 12), endOf(ipv4File)])],
  ])('of %s is noticed at once and leaves places empty', (_what, broken) => {
    const geo = geoOf(broken);
    expect(geo.fault()).toStartWith('the geography database cannot be used: ');
    expect(geo.locate('203.0.113.9')).toEqual({ country: '', region: '', city: '' });
  });

  test('of a damaged database never throws', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(file.length - 1), fc.nat(255)), { minLength: 1 }), damage => {
        const damaged = Buffer.from(file);
        for (const [position, value] of damage) damaged[position] = value;
        expect(geoOf(damaged).locate('203.0.113.9').country).toMatch(/^(?:[A-Z]{2})?$/);
      }),
      { numRuns: 500 },
    );
  });
});
