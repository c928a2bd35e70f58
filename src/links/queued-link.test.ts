import { describe, expect, test } from 'bun:test';
import { linkFields } from './fields.ts';
import type { Link } from './link.ts';
import { decodeQueuedLink, encodeQueuedLink, isSameCreation, queuedItem } from './queued-link.ts';
import { isPlain } from './store.ts';
import { allFlags, insertItem, sampleLink } from './store-samples.ts';

const whole = sampleLink('abc1234', {
  ownerId: null,
  title: 'Tücke “und” 🐙',
  tags: ['a', 'b'],
  expiresAt: 1,
  maxClicks: 3,
  risk: { score: 40, reasons: ['manyDots (+40)'] },
  redirectType: 308,
  ...allFlags,
});

describe('what may go through the queue', () => {
  test('a plain link with a leased code, and nothing that has to be found, remembered or stored beside it', () => {
    const idempotency = { ownerId: 'a', key: 'k', fingerprint: 'f', createdAt: 1, validAfter: 0 };
    const audit = {} as never;
    expect(isPlain(insertItem(whole))).toBe(true);
    expect(isPlain(queuedItem(whole))).toBe(true);
    expect(isPlain(insertItem(whole, { leased: false }))).toBe(false);
    expect(isPlain(insertItem(whole, { claim: { length: 7, id: 1 }, leased: true }))).toBe(false);
    expect(isPlain(insertItem(whole, { existing: 'same-url' }))).toBe(false);
    expect(isPlain(insertItem(whole, { existing: 'same-code' }))).toBe(false);
    expect(isPlain(insertItem(whole, { idempotency }))).toBe(false);
    expect(isPlain(insertItem(whole, { trace: { audit } }))).toBe(false);
  });
});

describe('the text of a queued link', () => {
  test('decodes to the link, and unknown fields are left out', () => {
    expect(decodeQueuedLink(encodeQueuedLink(whole))).toEqual(whole);
    expect(decodeQueuedLink(encodeQueuedLink({ ...whole, color: 'red' } as Link))).toEqual(whole);
  });

  test.each([
    ['', 'not JSON'],
    ['[]', 'the message is not an object'],
    ['null', 'the message is not an object'],
    ['{}', 'the format undefined is not known'],
    [JSON.stringify({ v: 2, link: whole }), 'the format 2 is not known'],
    [JSON.stringify({ v: 1 }), 'the link is not an object'],
  ])('%s is refused, with the reason', (text, reason) => {
    expect(() => decodeQueuedLink(text)).toThrow(reason);
  });

  test.each(Object.keys(whole))('is rejected when its %s is missing or of another type', field => {
    const broken = [undefined, {}, 'a b', -1, Number.NaN, [1], field === 'longUrl' ? '' : 1.5];
    const refused = broken.filter(value => {
      try {
        decodeQueuedLink(encodeQueuedLink({ ...whole, [field]: value } as Link));
        return false;
      } catch {
        return true;
      }
    });
    // Free text may be any text, and NaN is encoded as null.
    const isFreeText = ['longUrl', 'ownerId', 'title'].includes(field);
    const mayBeNull = ['ownerId', 'title', 'expiresAt', 'maxClicks', 'risk', 'statsTokensFrom'].includes(
      field,
    );
    const accepted = broken.filter(value => !refused.includes(value));
    const isLater = linkFields[field as keyof Link].since > 1;
    expect(accepted).toStrictEqual([
      ...(isLater ? [undefined] : []),
      ...(isFreeText ? ['a b'] : []),
      ...(mayBeNull ? [Number.NaN] : []),
    ]);
  });
});

test('a link that was edited or deleted since is still the queued one, another under its code is not', () => {
  const queued = sampleLink('abc1234');
  expect(isSameCreation({ ...queued, longUrl: '', status: 'deleted', version: 3 }, queued)).toBe(true);
  expect(isSameCreation({ ...queued, createdAt: queued.createdAt + 1 }, queued)).toBe(false);
  expect(isSameCreation({ ...queued, origin: 'custom' }, queued)).toBe(false);
});
