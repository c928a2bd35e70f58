import { expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { createSignedTokens } from './signed-tokens.ts';

const clock = new ManualClock(1_800_000_000_000);
const secret = new Uint8Array(32).fill(7);
const tokens = createSignedTokens({ secret, label: 'a', clock });
const minuteMs = 60_000;

test('a token is for its subject, its purpose and its installation, until it ends', () => {
  const token = tokens.issue('link 1', clock.now() + minuteMs);
  expect(tokens.accepts(token, 'link 1')).toBe(true);
  expect(tokens.accepts(token, 'link 2')).toBe(false);
  expect(createSignedTokens({ secret, label: 'b', clock }).accepts(token, 'link 1')).toBe(false);
  const elsewhere = createSignedTokens({ secret: new Uint8Array(32), label: 'a', clock });
  expect(elsewhere.accepts(token, 'link 1')).toBe(false);
  clock.advance(minuteMs);
  expect(tokens.accepts(token, 'link 1')).toBe(false);
});

test('its end cannot be changed, nor lie further away than tokens last', () => {
  const token = tokens.issue('x', clock.now() + minuteMs);
  const [end, signature] = token.split('.');
  const later = (Number.parseInt(end!, 36) + 60).toString(36);
  expect(tokens.accepts(`${later}.${signature}`, 'x')).toBe(false);
  const short = createSignedTokens({ secret, label: 'a', clock, lifeMaxMs: minuteMs / 2 });
  expect(short.accepts(token, 'x')).toBe(false);
});
