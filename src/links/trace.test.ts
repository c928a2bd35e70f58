import { describe, expect, test } from 'bun:test';
import { type Actor, anonymous } from '../accounts/account.ts';
import { fakeActor } from '../accounts/fake-actors.ts';
import type { Link } from './link.ts';
import { sampleLink } from './store-samples.ts';
import { changeTrace, closedReview, creationTrace } from './trace.ts';

const actor = fakeActor('acc_1');
const link = sampleLink('abc');
const after = (overrides: Parameters<typeof sampleLink>[1]) =>
  sampleLink('abc', { updatedAt: link.updatedAt + 5, version: 2, ...overrides });

describe('the trace of a creation', () => {
  test('is empty when there is no objection to the link', () => {
    expect(creationTrace(actor, sampleLink('abc', { risk: { score: 20, reasons: ['x'] } }))).toBeUndefined();
  });

  test('requests a decision about a link that is held', () => {
    const risk = { score: 90, reasons: ['newDomain'] };
    const { audit, review } = creationTrace(actor, sampleLink('abc', { status: 'blocked', risk }))!;
    expect(review).toMatchObject({ kind: 'open', code: 'abc', score: 90, heldFrom: 'active' });
    expect(audit).toMatchObject({ action: 'link.created', before: null, after: { status: 'blocked', risk } });
  });
});

describe('the trace of a change', () => {
  test('says who, when, and what differs, and nothing that does not', () => {
    const { audit, review } = changeTrace(actor, link, after({ title: 'T', tags: ['a'], usedClicks: 3 }));
    expect(audit).toEqual({
      at: link.updatedAt + 5,
      actor: { kind: 'account', accountId: 'acc_1', keyId: 'key of acc_1' },
      action: 'link.updated',
      subject: { kind: 'link', id: 'abc' },
      before: { title: null, tags: [] },
      after: { title: 'T', tags: ['a'] },
      reason: null,
      isRoutine: true,
    });
    expect(review).toBeUndefined();
  });

  test('is routine when the owner made the change, and only then', () => {
    const mine = sampleLink('abc', { ownerId: 'acc_1' });
    const isRoutine = (by: Actor, of: Link) => changeTrace(by, of, { ...of, title: 'T' }).audit.isRoutine;
    expect(isRoutine(actor, mine)).toBe(true);
    expect(isRoutine(fakeActor('acc_2', { role: 'admin' }), mine)).toBe(false);
    expect(isRoutine(anonymous, { ...mine, ownerId: null })).toBe(false);
  });

  test('keeps the whole of a long old text, and the start of the new one', () => {
    const [long, longer] = [
      `https://example.com/${'a'.repeat(1_900)}`,
      `https://example.com/${'😀'.repeat(500)}`,
    ];
    const before = sampleLink('abc', { longUrl: long });
    const { audit } = changeTrace(actor, before, after({ longUrl: longer }));
    expect(audit.before).toEqual({ longUrl: long });
    const shown = (audit.after as { longUrl: string }).longUrl;
    expect(shown.length).toBeLessThanOrEqual(200);
    expect(shown.isWellFormed()).toBe(true);
    expect(longer.startsWith(shown.slice(0, -1))).toBe(true);
    expect(shown.at(-1)).toBe('…');
    const tags = Array.from({ length: 20 }, (_, n) => `${n}`.padEnd(50, 'x'));
    const tagged = changeTrace(actor, sampleLink('abc', { tags }), after({ tags: tags.toReversed() }));
    expect(tagged.audit.before).toEqual({ tags });
    expect(tagged.audit.after).toEqual({ tags: [...tags.toReversed().slice(0, 3), '…'] });
  });

  test('keeps the destination of a deleted link, and leaves nothing to decide', () => {
    const { audit, review } = changeTrace(actor, link, after({ status: 'deleted', longUrl: '' }));
    expect(audit).toMatchObject({
      action: 'link.deleted',
      before: { status: 'active', longUrl: 'https://example.com/abc' },
      after: { status: 'deleted', longUrl: '' },
    });
    expect(review).toMatchObject({ kind: 'close', isHeld: false });
  });

  test('requests a decision when a link is held, or gets another destination while it is', () => {
    const held = sampleLink('abc', { status: 'quarantined' });
    expect(changeTrace(actor, link, after({ status: 'quarantined' })).review).toMatchObject({
      kind: 'open',
      heldFrom: 'active',
    });
    const off = sampleLink('abc', { status: 'disabled' });
    expect(changeTrace(actor, off, after({ status: 'blocked' })).review).toMatchObject({
      heldFrom: 'disabled',
    });
    const moved = after({ status: 'quarantined', longUrl: 'https://example.org/' });
    expect(changeTrace(actor, held, moved).review).toMatchObject({ kind: 'open', heldFrom: undefined });
    expect(changeTrace(actor, held, after({ status: 'quarantined', title: 'T' })).review).toBeUndefined();
  });
});

test('a decision keeps the status of a link from before it was held', () => {
  const blocked = after({ status: 'blocked' });
  expect(closedReview(sampleLink('abc', { status: 'disabled' }), blocked)).toMatchObject({
    isHeld: true,
    heldFrom: 'disabled',
  });
  expect(closedReview(sampleLink('abc', { status: 'quarantined' }), blocked)).toMatchObject({
    isHeld: true,
    heldFrom: undefined,
  });
  expect(closedReview(blocked, after({}))).toMatchObject({ isHeld: false, heldFrom: undefined });
});
