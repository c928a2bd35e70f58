/**
 * One of several processes that compete for a code space of two characters: `generate` creates links until no code is
 * left, `claim` requests random aliases of the same shape. It works like the server, with the real store, generator and
 * verbs, except that leases are small and slow, so that both sides get codes.
 *
 * It sends `ready`, waits for a `WorkerOrder`, and sends a `WorkerReport` at the end.
 */
import { allowEveryUrl } from '../../src/abuse/judge.ts';
import { createUrlPolicy } from '../../src/abuse/url-policy.ts';
import { fakeActor } from '../../src/accounts/fake-actors.ts';
import { systemClock } from '../../src/base/clock.ts';
import { Problem } from '../../src/base/errors.ts';
import { seededRandom, systemRandom } from '../../src/base/random.ts';
import { base62Alphabet } from '../../src/codes/code-space.ts';
import { createCodes } from '../../src/codes/start.ts';
import { createAliasPolicy } from '../../src/links/alias-policy.ts';
import { offensiveTerms, reservedWords } from '../../src/links/alias-words.ts';
import type { LinkContext } from '../../src/links/context.ts';
import { createLink } from '../../src/links/create.ts';
import type { LinkStore } from '../../src/links/store.ts';
import { createSqliteStore } from '../../src/links/stores/sqlite/store.ts';
import { openEmbedded } from '../../src/stores/embedded.ts';

export const codeLength = 2;
export const aliasPolicy = createAliasPolicy({ reserved: reservedWords, offensive: offensiveTerms });

export interface WorkerOrder {
  readonly role: 'generate' | 'claim';
  readonly dataFolder: string;
  readonly seed: number;
  /** After this many links and leases it reports and pauses, to be killed. */
  readonly holdAt: { readonly links: number; readonly leases: number } | undefined;
}

export type WorkerMessage = 'ready' | WorkerReport;

export interface WorkerReport {
  readonly codes: string[];
  readonly leases: number;
  /** Inserts of leased codes that the store rejected; by design there are none. */
  readonly leasedRefused: number;
  /** How often each refusal was given. */
  readonly problems: Record<string, number>;
}

const leaseSizeMax = 40;
const leasePauseMaxMs = 25;
const creatorCount = 8;
const attemptsMax = 100_000;
const never = new Promise<never>(() => {});
const owner = fakeActor('acc_space');

async function work({ role, dataFolder, seed, holdAt }: WorkerOrder): Promise<WorkerReport> {
  const random = seededRandom(seed);
  const codes: string[] = [];
  const problems: Record<string, number> = {};
  let leases = 0;
  let leasedRefused = 0;
  const { reader, writer } = await openEmbedded(dataFolder);
  const real = createSqliteStore(reader, writer);
  const store: LinkStore = {
    ...real,
    async insert(items) {
      const outcomes = await real.insert(items);
      for (const [index, { kind }] of outcomes.entries()) {
        if (items[index]!.leased && kind !== 'inserted') leasedRefused += 1;
      }
      return outcomes;
    },
    async leaseRange(length, _size, limit) {
      await Bun.sleep(random.float() * leasePauseMaxMs);
      if (leases === holdAt?.leases) return never;
      const lease = await real.leaseRange(length, 1 + Math.floor(random.float() * leaseSizeMax), limit);
      leases += 1;
      return lease;
    },
  };
  const { generator, claimOf, space } = createCodes({
    secret: await store.installationSecret(systemRandom.bytes(32)),
    strategy: 'range',
    length: codeLength,
    rangeSize: leaseSizeMax,
    machineId: 0,
    // A process that only claims must not lease: the ids would never be used.
    source: role === 'generate' ? store : { leaseRange: () => never },
    isAllowed: aliasPolicy.isAllowedCode,
    clock: systemClock,
    random,
  });
  const context: LinkContext = {
    store,
    generator,
    judgeUrl: allowEveryUrl,
    urlPolicy: createUrlPolicy({ ownHosts: ['short.example'] }),
    aliasPolicy,
    claimOf,
    anonymousAllowed: false,
    clock: systemClock,
  };
  const isUsedUp = async (): Promise<boolean> =>
    (await store.spans(codeLength)).some(({ mark }) => mark >= space.size);
  const randomAlias = (): string =>
    Array.from({ length: codeLength }, () => base62Alphabet[Math.floor(random.float() * 62)]).join('');

  let attempts = 0;
  const creator = async (): Promise<void> => {
    while (attempts < attemptsMax) {
      attempts += 1;
      const customAlias = role === 'claim' ? randomAlias() : undefined;
      try {
        const longUrl = `https://example.com/space/${seed}/${attempts}`;
        const { link } = await createLink(context, owner, { longUrl, customAlias });
        codes.push(link.code);
        if (codes.length === holdAt?.links) return;
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        problems[error.code] = (problems[error.code] ?? 0) + 1;
        // A rejection is final only when all ids are leased and this process has used up its own.
        if ((await isUsedUp()) && generator.available() === 0) return;
      }
    }
  };
  await Promise.all(Array.from({ length: holdAt === undefined ? creatorCount : 1 }, creator));
  if (holdAt === undefined) {
    generator.close();
    await store.close();
  } else while (leases < holdAt.leases) await Bun.sleep(1);
  return { codes, leases, leasedRefused, problems };
}

if (import.meta.main) {
  process.on('message', async (order: WorkerOrder) => {
    process.send?.((await work(order)) satisfies WorkerMessage);
    if (order.holdAt === undefined) process.disconnect?.();
  });
  // The parent process has ended, so this process must end itself.
  process.on('disconnect', () => process.exit());
  process.send?.('ready' satisfies WorkerMessage);
}
