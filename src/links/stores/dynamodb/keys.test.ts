import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { seededRandom } from '../../../base/random.ts';
import {
  codeOf,
  codeOfPlace,
  expiryKey,
  expiryPartitions,
  labelPartitions,
  labelPk,
  linkKey,
  ownerKey,
  ownerPartitions,
  Places,
  placePattern,
  siteKey,
  sitePartitions,
  urlKey,
} from './keys.ts';

const code = fc.stringMatching(/^[0-9A-Za-z_-]{1,64}$/);

test('every link is in a partition that readers query', () => {
  fc.assert(
    fc.property(code, fc.option(fc.stringMatching(/^acc_\w{1,9}$/)), fc.string(), (code, owner, label) => {
      expect(ownerPartitions(owner)).toContain(ownerKey(owner, code));
      expect(labelPartitions(owner, label)).toContain(labelPk(owner, label, code));
      expect(expiryPartitions('emptied')).toContain(expiryKey('emptied', code));
      for (const domain of ['evil.example', 'a.evil.example', 'b.a.evil.example'])
        expect(sitePartitions(domain)).toContain(siteKey('https://b.a.evil.example:8443/x', code)!);
    }),
  );
});

test('links spread over all partitions', () => {
  const codes = Array.from({ length: 2_000 }, (_, n) => `code${n}`);
  expect(new Set(codes.map(one => ownerKey('acc_1', one))).size).toBe(ownerPartitions('acc_1').length);
  expect(new Set(codes.map(one => siteKey('https://example.com/', one))).size).toBe(
    sitePartitions('example.com').length,
  );
});

test('places sort by time, then by the order in which one process made the links', () => {
  const places = new Places(seededRandom(1));
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(4_102_444_800_000), code), { minLength: 2 }), made => {
      const inOrder = made.toSorted(([a], [b]) => a - b);
      const taken = inOrder.map(([at, one]) => places.take(at, one));
      expect(taken.toSorted()).toEqual(taken);
      expect(taken.map(codeOfPlace)).toEqual(inOrder.map(([, one]) => one));
      for (const place of taken) expect(place).toMatch(placePattern);
    }),
  );
});

test('a code can be read back from the key of its link', () => {
  fc.assert(fc.property(code, one => expect(codeOf(linkKey(one))).toBe(one)));
});

test('the keys of existing tables do not change', () => {
  expect([
    linkKey('aZ3kQ9x').pk,
    ownerKey('acc_1', 'aZ3kQ9x'),
    ownerKey(null, 'aZ3kQ9x'),
    labelPk('acc_1', 'tspring', 'aZ3kQ9x'),
    urlKey('acc_1', 'https://example.com/'),
    siteKey('https://www.example.com/', 'aZ3kQ9x')!,
    expiryKey('removed', 'aZ3kQ9x'),
  ]).toEqual([
    'l#aZ3kQ9x',
    'o#acc_1#3',
    'o##3',
    'label#acc_1#tspring#3',
    'u#TqcOthSTXrL_bw0jJeBcSUtCeoN',
    's#example.com#3',
    'x#removed#3',
  ]);
});
