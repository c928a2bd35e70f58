import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { AccountView } from '../api/types.ts';
import { session } from './session.ts';

/** The parts of a page that keys use. */
const page = {
  location: { pathname: '/dashboard', search: '' },
  document: { querySelector: () => null },
  history: { state: null, replaceState() {} },
  HTMLElement: class {},
};
const before = Object.fromEntries(Object.keys(page).map(name => [name, Reflect.get(globalThis, name)]));
beforeAll(() => {
  Object.assign(globalThis, page);
  session.set({ kind: 'signedIn', account: { id: 'acc_1' } as AccountView });
});
afterAll(() => {
  Object.assign(globalThis, before);
  session.set({ kind: 'unknown' });
});

test('holding a key decides only once, but keeps moving', async () => {
  const { handleKey, onKeys } = await import('./router.ts');
  const done: string[] = [];
  const remove = onKeys({ b: () => done.push('block'), j: () => done.push('next') });
  const press = (key: string, repeat: boolean): void =>
    handleKey({ key, repeat, target: null, preventDefault() {} } as unknown as KeyboardEvent);
  for (const key of ['b', 'j']) for (const repeat of [false, true, true]) press(key, repeat);
  remove();
  expect(done).toEqual(['block', 'next', 'next', 'next']);
});
