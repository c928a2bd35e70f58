import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { seededRandom } from '../base/random.ts';
import { randomClicks, sampleBatch, samplesStart } from './batch-samples.ts';
import { type ClickBatch, clickCount, noVisitTraits } from './click.ts';
import { type FramePayload, forgedEarlierFrame, forgedFrame, openedFrame } from './fake-frames.ts';
import { clickTimeMax, clickTimeMin, decodeFrame, encodeFrame, frameLength, validateFrame } from './frame.ts';

const dayMs = 24 * 60 * 60_000;

const batchAt = (...times: number[]): ClickBatch =>
  sampleBatch(
    1,
    times.map((at, visitor) => ({ at, visitor })),
  );
const readBack = (batch: ClickBatch): ClickBatch =>
  decodeFrame(Buffer.from(encodeFrame('one', batch)), 0)!.batch;
/** The width of the column of times. */
const widthOfTimes = (frame: Uint8Array): number => openedFrame(frame).head.widths[0];

describe('a frame', () => {
  test('decodes to the same times in any order, also around the limits of a column', () => {
    const around = (limit: number) => fc.integer({ min: Math.max(0, limit - 3), max: limit + 3 });
    const offset = fc.oneof(
      around(0),
      around(2 ** 7),
      around(2 ** 15),
      around(2 ** 31),
      fc.integer({ min: 0, max: 400 * dayMs }),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: clickTimeMin, max: clickTimeMax - 400 * dayMs - 1 }),
        fc.array(offset, { minLength: 1, maxLength: 20 }),
        (start, offsets) => {
          const batch = batchAt(...offsets.map(each => start + each));
          expect(readBack(batch)).toEqual(batch);
        },
      ),
      { numRuns: 500 },
    );
  });

  test.each([
    [0, 0],
    [127, 1],
    [-128, 1],
    [128, 2],
    [-32_768, 2],
    [32_768, 4],
    [2 ** 31 - 1, 4],
    [-(2 ** 31), 4],
    [2 ** 31, 8],
    [-(2 ** 31) - 1, 8],
  ])('with clicks %d ms apart has times of %d bytes', (differenceMs, width) => {
    const batch = batchAt(samplesStart, samplesStart + differenceMs);
    const frame = encodeFrame('one', batch);
    expect(widthOfTimes(frame)).toBe(width);
    expect(decodeFrame(Buffer.from(frame), 0)!.batch).toEqual(batch);
  });

  test('decodes to everything that a batch may have', () => {
    for (const count of [1, 300, 3_000]) {
      const batch = {
        ...sampleBatch(7, randomClicks(seededRandom(count), count)),
        givenBefore: [4, 2],
      };
      const frame = encodeFrame('one', batch);
      expect(decodeFrame(Buffer.from(frame), 0)).toEqual({ producer: 'one', batch, bytes: frame.length });
    }
  });

  test('decodes to the same positions in any order, also with list entries that no click needs', () => {
    const clicks = fc.array(fc.tuple(fc.nat(300), fc.nat(3)), { minLength: 1, maxLength: 50 });
    const links = Array.from({ length: 301 }, (_, index) => ({
      code: `c${index}`,
      ownerId: index % 3 === 0 ? null : `acc_${index % 5}`,
      tags: index % 7 === 0 ? ['a', `t${index}`] : [],
    }));
    fc.assert(
      fc.property(clicks, given => {
        const batch = {
          ...batchAt(...given.map((_, index) => samplesStart + index)),
          link: Uint32Array.from(given, ([link]) => link),
          visitorHigh: Uint32Array.from(given, ([, visitor]) => visitor),
          links,
        };
        expect(readBack(batch)).toEqual(batch);
      }),
    );
  });

  test.each([
    ['é', 'acc_1', []],
    ['\u{D800}', null, []],
    ['x'.repeat(256), 'acc_1', ['a']],
    ['', '', ['']],
    ['\n', '\0', ['a', 'b', '\u{DC00}']],
    ['x', '\u{D800}é', ['a,b']],
  ])('gives back the link %j of %j with the tags %j', (code, ownerId, tags) => {
    const links = [
      { code: 'plain', ownerId: null, tags: [] },
      { code, ownerId, tags },
      { code: 'other', ownerId: 'acc_2', tags: ['a', 'b'] },
    ];
    const batch = {
      ...batchAt(samplesStart, samplesStart, samplesStart),
      link: Uint32Array.of(2, 0, 1),
      links,
    };
    expect(readBack(batch)).toEqual(batch);
  });

  test('takes few bytes for clicks of many links, and for those of few visitors', () => {
    const [random, count] = [seededRandom(1), 8_192];
    const thin = (visitors: number) =>
      sampleBatch(
        1,
        Array.from({ length: count }, (_, index) => ({
          at: samplesStart + Math.floor(index / 20),
          code: Buffer.from(random.bytes(5)).toString('base64url'),
          visitor: index % visitors,
        })),
      );
    // The random code alone takes five.
    expect(encodeFrame('one', thin(count)).length / count).toBeLessThan(14.5);
    expect(encodeFrame('one', thin(100)).length / count).toBeLessThan(7.5);
  });

  test('that an earlier version wrote is read: its visits are unknown, and so are its regions', () => {
    const batch = {
      ...sampleBatch(7, [
        { at: samplesStart + 5, visitor: 3 },
        {
          at: samplesStart,
          code: 'other',
          ownerId: null,
          tags: ['a'],
          kind: 'bot' as const,
          signal: 'agent' as const,
        },
        { at: samplesStart + 2 ** 32 - 1, country: '', referrer: 'news.example' },
      ]),
      givenBefore: [4, 2],
    };
    expect(batch.visits).toEqual([noVisitTraits]);
    const earlier = Buffer.from(earlierFrame, 'base64');
    expect(frameLength(earlier, 0)).toBe(earlier.length);
    expect(decodeFrame(earlier, 0)).toEqual({ producer: 'one', batch, bytes: earlier.length });
    expect(validateFrame(earlier)?.batch).toEqual(batch);
  });

  const whole = batchAt(samplesStart, samplesStart + 1);
  test.each<[string, Partial<ClickBatch>]>([
    ['a time that is none', { at: Float64Array.of(Number.NaN, samplesStart) }],
    ['a time without end', { at: Float64Array.of(Number.POSITIVE_INFINITY, samplesStart) }],
    ['a part of a millisecond', { at: Float64Array.of(samplesStart + 0.5, samplesStart) }],
    ['a time of a clock that was never set', { at: Float64Array.of(0, samplesStart) }],
    ['a time of a later century', { at: Float64Array.of(clickTimeMax, samplesStart) }],
    ['more times than clicks', { at: Float64Array.of(samplesStart, samplesStart, samplesStart) }],
    ['a column that is too short', { visitorLow: Uint32Array.of(1) }],
    ['a column that is too long', { kind: new Uint8Array(3) }],
    ['positions that are too few', { place: Uint32Array.of(0) }],
    ['a click of no link', { link: Uint32Array.of(0, 1) }],
    ['a click of no place', { places: [] }],
    ['a signal that does not exist', { signal: Uint8Array.of(0, 250) }],
    ['a kind that does not exist', { kind: Uint8Array.of(0, 250) }],
    ['a first number of zero', { firstSequence: 0 }],
    ['numbers beyond what is exact', { firstSequence: Number.MAX_SAFE_INTEGER - 1 }],
    ['numbers by partition that are none', { givenBefore: [Number.NaN] }],
    ['a link without a code', { links: [{ ownerId: null, tags: [] } as never] }],
    ['a link without tags', { links: [{ ...whole.links[0]!, tags: '' as never }] }],
    ['a link with half of its tags', { links: [{ ...whole.links[0]!, tags: ['a', undefined] as never }] }],
    ['a click of no visit', { visits: [] }],
    ['a place without a region', { places: [{ country: 'DE', city: '' } as never] }],
    ['a visit without a language', { visits: [{ ...noVisitTraits, language: undefined as never }] }],
    ['a campaign that is no text', { visits: [{ ...noVisitTraits, utmTerm: 7 as never }] }],
  ])('is never made of %s', (_, changes) => {
    expect(() => encodeFrame('one', { ...whole, ...changes })).toThrow(RangeError);
  });

  test('has a bounded number of clicks, although equal ones take no bytes', () => {
    const columns = [
      'kind',
      'signal',
      'visitorHigh',
      'visitorLow',
      'link',
      'agent',
      'referrer',
      'place',
      'visit',
    ];
    const alike = (count: number): ClickBatch => ({
      ...batchAt(samplesStart),
      at: new Float64Array(count).fill(samplesStart),
      ...Object.fromEntries(
        columns.map((name, index) => [name, index < 2 ? new Uint8Array(count) : new Uint32Array(count)]),
      ),
    });
    expect(clickCount(readBack(alike(2_000_000)))).toBe(2_000_000);
    expect(() => encodeFrame('one', alike(2_000_001))).toThrow(RangeError);
  });

  test('is never made without the name of its producer', () => {
    for (const producer of ['', 'x'.repeat(201)])
      expect(() => encodeFrame(producer, whole)).toThrow(RangeError);
  });
});

/** Made by the code before there were wide frames. */
const earlierFrame =
  'MUtMQ20BAABbpY3vKLUv/WAxAR0LAMaWSjZwNUoHfPAMAq+CUfhDp//xQyqVdu3/ZO+tye5+2o0QyW3r9MYuBIjIEaVNAv3viHhGqNDNl+w7' +
  'ADkAOABv4s5vSb5vJHxaibD6MhwJjQdDAdLgV6hOV+n3wa/xku8L4feLfQVoiEonnL7vKM+f/S5JTuub1h4DAedTSTFyTr7PyKkndFBMUgFF' +
  'nF9jU9BsetXYlPtGWHT3qrribEqVi0USPqVc/b4B4D13vhSZHTHy+/1cZX0jrCvL4jJ9QDEdF/v5ETqLlL4/f/acPfX8Rtijs1yU86UIK99b' +
  'slZoS+f3g5eWvs9cET4E7WmcziLB6SwSCAQcKNAGJCBg0Fp72tOe1lrLsixrBdihCASdTysXKUi/kWMRJPyecuqF2BdIfSNNhe/7BobzNTMV' +
  'ACAfsGFgUXBY8eTms4MOSbnoAg8Pt/MAS3HJzxMxxKaMB9xsCPTbYwb8myoIVFyXUwVFAM4=';

const sound = sampleBatch(1, [{ at: samplesStart }, { at: samplesStart + 1, code: 'other', visitor: 1 }]);
const encoded = Buffer.from(encodeFrame('p/1', sound));
const wide = Buffer.from(
  encodeFrame('p/1', { ...sound, at: Float64Array.of(samplesStart, samplesStart + 100 * dayMs) }),
);
/** Every kind of column has a width here: the second click points back to entries of the first. */
const full = Buffer.from(
  encodeFrame('p/1', {
    ...sound,
    kind: Uint8Array.of(0, 1),
    signal: Uint8Array.of(1, 2),
    link: Uint32Array.of(1, 0),
  }),
);

/** A valid frame with another head. */
const withHead = (changes: object, frame = encoded): Buffer => {
  const opened = openedFrame(frame);
  return forgedFrame({ ...opened, head: { ...opened.head, ...changes } });
};
const withColumns = (change: (columns: Buffer) => FramePayload['columns'], frame = encoded): Buffer => {
  const opened = openedFrame(frame);
  return forgedFrame({ ...opened, columns: change(Buffer.from(opened.columns)) });
};
const withWidth = (column: number, width: number, frame = encoded): Buffer =>
  withHead({ widths: openedFrame(frame).head.widths.with(column, width) }, frame);
/** Where times, kinds, signals and positions of links begin in the frame with all columns, behind the codes. */
const codeBytes = 'abcother'.length;
const [timesAt, kindsAt, signalsAt, linksAt] = [0, 2, 4, 6].map(at => codeBytes + at) as [
  number,
  number,
  number,
  number,
];
const byteAt = (value: number, at: number) => (columns: Buffer) => {
  columns[at] = value;
  return columns;
};
const doubleAt = (value: number) => (columns: Buffer) => {
  columns.writeDoubleLE(value, codeBytes + 8);
  return columns;
};

describe('a frame from outside', () => {
  test('is accepted when it is valid', () => {
    for (const frame of [encoded, wide, full, withHead({})])
      expect(clickCount(validateFrame(frame)!.batch)).toBe(2);
    expect(validateFrame(wide)!.batch.at[1]).toBe(samplesStart + 100 * dayMs);
    expect([...validateFrame(withColumns(byteAt(2, linksAt + 1), full))!.batch.link]).toEqual([1, 1]);
    expect(validateFrame(withColumns(byteAt(6, timesAt + 1), full))!.batch.at[1]).toBe(samplesStart + 3);
  });

  test('of a later version is accepted without what only that version knows', () => {
    const [language, via] = ['de', 'qr'];
    const visits = [[language, 'source', 'medium', 'campaign', 'term', 'content', via, 'new']];
    expect(validateFrame(withHead({ visits }))!.batch.visits).toEqual([
      {
        language,
        utmSource: 'source',
        utmMedium: 'medium',
        utmCampaign: 'campaign',
        utmTerm: 'term',
        utmContent: 'content',
        via,
      },
    ]);
    const changed = withColumns(columns => byteAt(250, kindsAt)(byteAt(250, signalsAt)(columns)), full);
    const { kind, signal } = validateFrame(changed)!.batch;
    expect([[...kind], [...signal]]).toEqual([
      [1, 1],
      [0, 2],
    ]);
  });

  const { head, columns, visitors } = openedFrame(encoded);
  test.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('hello, I am not a frame')],
    ['half a frame', encoded.subarray(0, 60)],
    ['a frame and more', Buffer.concat([encoded, Buffer.from('x')])],
    ['a frame without a producer', withHead({ producer: '' })],
    ['clicks that point beyond the links', withColumns(byteAt(3, linksAt), full)],
    ['clicks that point beyond the agents', withHead({ agents: [] })],
    ['clicks that point beyond the visits', withHead({ visits: [] })],
    [
      'clicks without visitors',
      forgedFrame({ head: { ...head, visitors: 0 }, columns, visitors: Buffer.alloc(0) }),
    ],
    ['fewer visitors than it says', forgedFrame({ head, columns, visitors: visitors.subarray(8) })],
    ['more visitors than it says', withHead({ visitors: 1 })],
    ['a column that is too short', withColumns(all => all.subarray(0, -1))],
    ['more columns than it says', withColumns(all => Buffer.concat([all, Buffer.alloc(1)]))],
    ['more clicks than its columns have', withHead({ count: 3 })],
    ['fewer clicks than its columns have', withHead({ count: 1 }, full)],
    ['a part of a click', withHead({ count: 1.5 })],
    ['clicks without end, which take no bytes', withHead({ count: 1e9, widths: head.widths.map(() => 0) })],
    ['a number that is none', withHead({ firstSequence: 0.5 })],
    ['a time before all clicks', withHead({ startAt: -5 })],
    ['a time that is none', withHead({ startAt: null })],
    ['a wide time that is none', withColumns(doubleAt(Number.NaN), wide)],
    ['a wide time within a millisecond', withColumns(doubleAt(0.25), wide)],
    ['a wide time without end', withColumns(doubleAt(Number.POSITIVE_INFINITY), wide)],
    ['narrow times that it calls wide', withWidth(0, 8)],
    ['wide times that it calls narrow', withWidth(0, 4, wide)],
    ['times of a width that nobody knows', withWidth(0, 16)],
    ['positions of a width that nobody knows', withWidth(3, 8, full)],
    ['columns without widths', withHead({ widths: [] })],
    ['more widths than columns', withHead({ widths: [...head.widths, 0] })],
    ['a link without a code', withHead({ links: [{}, {}] })],
    ['codes that are longer than it says', withHead({ links: { ...head.links, codeBytes: 7 } })],
    ['codes beyond its end', withHead({ links: { ...head.links, codeBytes: 1_000 } })],
    ['more links than it has', withHead({ links: { ...head.links, count: 3 } })],
    [
      'links without end, which take no bytes',
      withHead({ links: { count: 1e9, codeBytes: 0 }, widths: head.widths.map(() => 0) }),
    ],
    ['links of no owner', withHead({ owners: [] })],
    ['links without tags', withHead({ tagSets: [] })],
    ['tags that are none', withHead({ tagSets: ['abc'] })],
    ['tags that are an empty text', withHead({ tagSets: [''] })],
    ['a visit of something else than texts', withHead({ visits: [['de', '', 1]] })],
    ['a frame before ours that is cut', forgedEarlierFrame(Buffer.of(1, 0, 0, 0, 0x7b))],
    ['a frame of a version that nobody knows', byteAt(0x33, 0)(Buffer.from(encoded))],
  ])('is none when it is %s', (_, bytes) => {
    expect(validateFrame(bytes)).toBeUndefined();
  });

  test('is rejected when it decompresses to more than any batch has, even if it is valid otherwise', () => {
    const padded = (bytes: number): Buffer => {
      const text = Buffer.alloc(bytes, ' ');
      text.write(JSON.stringify(head));
      const lengths = [visitors.length, bytes].map(length => Buffer.from(Uint32Array.of(length).buffer));
      return forgedFrame(Buffer.concat([lengths[0]!, visitors, lengths[1]!, text, columns]));
    };
    expect(clickCount(validateFrame(padded(1024 ** 2))!.batch)).toBe(2);
    expect(validateFrame(padded(64 * 1024 ** 2))).toBeUndefined();
  });
});
