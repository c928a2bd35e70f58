import { expect, test } from 'bun:test';
import { allowEveryUrl } from '../abuse/judge.ts';
import { createUrlPolicy } from '../abuse/url-policy.ts';
import { fakeActor } from '../accounts/fake-actors.ts';
import { createCodes } from '../app/generators.ts';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { aliasAvailability } from './alias-availability.ts';
import { createAliasPolicy } from './alias-policy.ts';
import type { LinkContext } from './context.ts';
import { createLink } from './create.ts';
import type { LeasedSpan } from './store.ts';
import { createMemoryStore } from './stores/memory.ts';

const length = 7;
const store = createMemoryStore();
const codes = createCodes({
  secret: new Uint8Array(32).fill(7),
  strategy: 'range',
  length,
  rangeSize: 1_000,
  machineId: 1,
  source: store,
  isAllowed: () => true,
  clock: systemClock,
  random: systemRandom,
});
const context: LinkContext = {
  store,
  generator: codes.generator,
  urlPolicy: createUrlPolicy({ ownHosts: ['sho.rt'] }),
  judgeUrl: allowEveryUrl,
  aliasPolicy: createAliasPolicy({ reserved: ['admin'], offensive: [] }),
  claimOf: codes.claimOf,
  anonymousAllowed: true,
  clock: systemClock,
};

test('a code that was leased to a process is taken before anyone has it, and creating agrees', async () => {
  await createLink(context, fakeActor('acc_1'), { longUrl: 'https://example.com/' });
  const [{ mark }] = (await store.spans(length)) as [LeasedSpan];
  const [leased, beyond] = [codes.space.encode(mark - 1), codes.space.encode(mark + 10_000)];
  expect(await aliasAvailability(context, leased)).toMatchObject({ isFree: false, code: 'alias_taken' });
  expect(await aliasAvailability(context, beyond)).toEqual({ isFree: true });
  const claim = (customAlias: string) =>
    createLink(context, fakeActor('acc_1'), { longUrl: 'https://example.com/', customAlias });
  expect(claim(leased)).rejects.toMatchObject({ code: 'alias_taken' });
  expect((await claim(beyond)).link.code).toBe(beyond);
});

test('what is reserved or malformed is told apart', async () => {
  expect(await aliasAvailability(context, 'Admin')).toMatchObject({ isFree: false, code: 'alias_reserved' });
  expect(await aliasAvailability(context, 'a b')).toMatchObject({ isFree: false, code: 'invalid_alias' });
});
