import { beforeEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { auditRecord } from '../../audit/audit-log.conformance.ts';
import { Problem } from '../../base/errors.ts';
import { seededRandom } from '../../base/random.ts';
import type { Transfer } from '../../base/transfer.ts';
import { sampleLink } from '../../links/store-samples.ts';
import { linkCopy, markKey } from '../../links/transfer.ts';
import { canonicalText } from './digest.ts';
import { leapingClock } from './fake-clock.ts';
import { expectedRecords, importRecords } from './fake-records.ts';
import { type Installation, memoryInstallation, partsInOrder, type Transfers } from './installation.ts';
import { type Migrated, type MigrateOptions, markDistance, migrate } from './migrate.ts';

let source: Installation;
let target: Installation;
let lines: string[];

const linkCount = 700;
const start = Date.UTC(2026, 5, 1);
const otherSecret = { key: 'secret', value: { name: 'secret', value: 'cd'.repeat(32) } };

async function filled(name: string): Promise<Installation> {
  const installation = memoryInstallation(name);
  for (const [part, records] of Object.entries(expectedRecords)) {
    const transfer = installation.transfers[part as keyof Transfers] as Transfer;
    await transfer.write(Object.entries(records).map(([key, value]) => ({ key, value })));
  }
  await installation.transfers.links.write(
    Array.from({ length: linkCount }, (_, n) => linkRecord(`many${n}`)),
  );
  await installation.transfers.records.write(importRecords(null));
  return installation;
}

const linkRecord = (code: string, overrides = {}) => ({
  key: code,
  value: linkCopy(sampleLink(code, overrides), true),
});

const run = (overrides: Partial<MigrateOptions> = {}): Promise<Migrated> =>
  migrate({
    source,
    target,
    clock: leapingClock(start),
    random: seededRandom(lines.length),
    isFinal: false,
    isDryRun: false,
    tell: line => lines.push(line),
    ...overrides,
  });

async function contents({ transfers }: Installation): Promise<string[]> {
  const texts: string[] = [];
  for (const part of partsInOrder(transfers)) {
    if (part.part === 'marks') continue;
    const { records } = await part.page(undefined, 1_000_000);
    texts.push(...records.map(({ key, value }) => `${part.part} ${key} ${canonicalText(value)}`));
  }
  return texts.sort();
}

/** The same installation, but `onCall` runs before every call of one method of a part. */
function intercepted(
  installation: Installation,
  part: keyof Transfers,
  method: 'page' | 'read' | 'write' | 'remove',
  onCall: () => void | Promise<void>,
): Installation {
  const transfer = installation.transfers[part] as Transfer;
  const original = transfer[method] as (...given: unknown[]) => Promise<unknown>;
  const changed = {
    ...transfer,
    async [method](...given: unknown[]) {
      await onCall();
      return original.apply(transfer, given);
    },
  };
  return { ...installation, transfers: { ...installation.transfers, [part]: changed } as Transfers };
}

beforeEach(async () => {
  lines = [];
  source = await filled('memory one');
  target = memoryInstallation('memory two');
});

const auditCopy = (overrides = {}) => ({ kind: 'audit', value: auditRecord(overrides), expiresAt: null });

describe('a migration', () => {
  test('follows a source in use, and a final run finds both sides equal', async () => {
    expect(await run()).toEqual({ kind: 'following', differences: 0 });
    const finished = await run({ isFinal: true });
    if (finished.kind !== 'finished') throw new Error(finished.kind);
    expect(finished.comparisons.every(({ isEqual }) => isEqual)).toBe(true);
    const links = finished.comparisons.find(({ part }) => part === 'links')!;
    expect(links.source.count).toBe(linkCount + 9);
    expect(links.source.value).toBe(links.target.value);
    expect(await contents(target)).toEqual(await contents(source));
  });

  test('does it all in one final run when the source is not written to', async () => {
    expect(await run({ isFinal: true })).toMatchObject({ kind: 'finished' });
    expect(await contents(target)).toEqual(await contents(source));
  });

  test('copies the links that were created, changed and removed since', async () => {
    await run();
    await source.transfers.links.write([
      linkRecord('new'),
      linkRecord('many1', { title: 'changed', version: 2 }),
      linkRecord('many2', { usedClicks: 7 }),
    ]);
    await source.transfers.links.remove?.(['many3']);
    await source.transfers.claims.remove?.([Object.keys(expectedRecords.claims)[0]!]);
    expect(await run()).toEqual({ kind: 'following', differences: 5 });
    expect(await contents(target)).toEqual(await contents(source));
  });

  test('looks up only what may have changed', async () => {
    await run();
    await source.transfers.links.write([linkRecord('new'), linkRecord('many1', { version: 2 })]);
    const { links } = target.transfers;
    let lookedUp = 0;
    const watched: typeof links = {
      ...links,
      read(keys) {
        lookedUp += keys.length;
        return links.read(keys);
      },
    };
    const counting = { ...target, transfers: { ...target.transfers, links: watched } };
    expect(await run({ target: counting })).toEqual({ kind: 'following', differences: 2 });
    expect(lookedUp).toBeGreaterThanOrEqual(2);
    expect(lookedUp).toBeLessThan(20);
  });

  test('does not look for foreign records in a target that has no more than the source', async () => {
    await run();
    await source.transfers.links.write([linkRecord('later')]);
    const { links } = target.transfers;
    let walks = 0;
    const page: typeof links.page = (cursor, limit) => {
      if (cursor === undefined) walks += 1;
      return links.page(cursor, limit);
    };
    target = { ...target, transfers: { ...target.transfers, links: { ...links, page } } };
    expect((await run({ isFinal: true })).kind).toBe('finished');
    // Once to find that one is missing, and once to find that none is.
    expect(walks).toBe(2);
  });

  test('copies records that change while it copies', async () => {
    let pages = 0;
    const busy = intercepted(source, 'links', 'page', async () => {
      pages += 1;
      if (pages > 3) return;
      await source.transfers.links.write([
        linkRecord('many0', { version: pages + 1 }),
        linkRecord(`a${pages}`),
      ]);
      await source.transfers.links.remove?.([`many${pages + 10}`]);
    });
    expect(await run({ source: busy })).toMatchObject({ kind: 'following' });
    expect(await run({ isFinal: true })).toMatchObject({ kind: 'finished' });
    expect(await contents(target)).toEqual(await contents(source));
  });

  test('killed at any moment, any number of times, resumes and loses nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 60 }), { maxLength: 4 }), async kills => {
        target = memoryInstallation('memory two');
        for (const callsLeft of kills) {
          await run({ target: killedAfter(target, callsLeft) }).catch(error => {
            if (!/killed/.test(error.message)) throw error;
          });
        }
        expect(await run({ isFinal: true })).toMatchObject({ kind: 'finished' });
        expect(await contents(target)).toEqual(await contents(source));
      }),
      { numRuns: 15 },
    );
  });

  test('resumes where it was killed and not before', async () => {
    let pages = 0;
    const dying = intercepted(target, 'links', 'write', () => {
      pages += 1;
      if (pages >= 2) throw new Error('killed');
    });
    await expect(run({ target: dying })).rejects.toThrow('killed');
    const seen: (string | undefined)[] = [];
    const watched: Installation = {
      ...source,
      transfers: {
        ...source.transfers,
        links: {
          ...source.transfers.links,
          page(cursor, limit) {
            seen.push(cursor);
            return source.transfers.links.page(cursor, limit);
          },
        },
      },
    };
    await run({ source: watched });
    expect(seen[0]).toBeDefined();
    expect(lines).toContain('Going on from memory one to memory two.');
  });

  test('sets the marks beyond the ids that a source in use may still lease, but not beyond the code space', async () => {
    const six = { length: 6, first: 0 };
    const seven = { length: 7, first: 0 };
    await source.transfers.marks.write([{ key: markKey(six), value: { ...six, mark: 62 ** 6 - 5 } }]);
    await run();
    const wanted = [markKey(seven), markKey(six)];
    const marks = async () => (await target.transfers.marks.read(wanted)).map(({ value }) => value.mark);
    expect(await marks()).toEqual([1_000 + markDistance, 62 ** 6]);
    await source.transfers.marks.write([{ key: markKey(seven), value: { ...seven, mark: 5_000 } }]);
    await run();
    expect(await marks()).toEqual([5_000 + markDistance, 62 ** 6]);
    expect(await run({ isFinal: true })).toMatchObject({ kind: 'finished' });
    expect(await marks()).toEqual([5_000 + markDistance, 62 ** 6]);
  });

  test('leaves out idempotent answers that have expired', async () => {
    const clock = leapingClock(start + 25 * 60 * 60 * 1_000);
    expect(await run({ isFinal: true, clock })).toMatchObject({ kind: 'finished' });
    expect((await target.transfers.answers.page(undefined, 10)).records).toEqual([]);
  });

  test('once finished is left alone, whatever the source does', async () => {
    await run({ isFinal: true });
    await source.transfers.links.write([linkRecord('late')]);
    await target.transfers.links.write([linkRecord('made-by-the-target')]);
    expect(await run({ isFinal: true })).toEqual({ kind: 'finished', comparisons: [] });
    expect(await target.transfers.links.read(['late', 'made-by-the-target'])).toHaveLength(1);
    expect(lines.at(-1)).toContain('was finished and verified at 2026-06-01');
  });

  test('is not finished while the source is written to', async () => {
    let version = 1;
    const busy = intercepted(source, 'links', 'page', async () => {
      version += 1;
      await source.transfers.links.write([linkRecord('many0', { version })]);
    });
    await expect(run({ source: busy, isFinal: true })).rejects.toThrow('memory one is being written to');
    expect(await run({ isFinal: true })).toMatchObject({ kind: 'finished', comparisons: expect.any(Array) });
  });

  test('is not finished when the target has more than was copied', async () => {
    await run();
    await target.transfers.records.write([{ key: '["audit","of another"]', value: auditCopy() }]);
    await expect(run({ isFinal: true })).rejects.toThrow('the target has more than was copied (records)');
    expect(await run()).toMatchObject({ kind: 'following' });
  });

  test('is finished although the source has deleted a routine entry of the audit log that was copied', async () => {
    const old = start - 31 * 24 * 60 * 60 * 1_000;
    await run();
    const forgotten = { key: '["audit","copied before"]', value: auditCopy({ at: old, isRoutine: true }) };
    await target.transfers.records.write([forgotten]);
    expect(await run({ isFinal: true })).toMatchObject({ kind: 'finished' });
    const { records } = await target.transfers.records.page(undefined, 1_000);
    expect(records.map(({ key }) => key)).toContain('["audit","copied before"]');
  });

  test('stops where another process has taken it over', async () => {
    let taken = false;
    const overtaken = intercepted(target, 'links', 'write', async () => {
      if (!taken) await target.notes.take('another', (await target.notes.load())!);
      taken = true;
    });
    await expect(run({ target: overtaken })).rejects.toThrow('another process has taken this migration over');
  });

  test('as a dry run counts the records and writes nothing', async () => {
    expect(await run({ isDryRun: true })).toEqual({ kind: 'tried' });
    expect(lines).toContain(`links: ${(linkCount + 9).toLocaleString('en')}`);
    expect(await contents(target)).toEqual([]);
    expect(await target.notes.load()).toBeUndefined();
  });
});

describe('a migration is rejected', () => {
  test('into its own source', async () => {
    await expect(run({ target: source })).rejects.toThrow('--from and --to are both memory one');
  });

  test('from a place without an installation', async () => {
    source = memoryInstallation('memory nothing');
    await expect(run()).rejects.toThrow('there is no Terse installation in memory nothing');
  });

  test('into a store that is not empty, which stays as it is', async () => {
    await target.transfers.records.write([{ key: '["audit","one"]', value: auditCopy() }]);
    const before = await contents(target);
    await expect(run()).rejects.toThrow('memory two is not empty (it has records): choose an empty target');
    expect(await contents(target)).toEqual(before);
  });

  test('where it would resume from another source', async () => {
    await run();
    source = await filled('memory three');
    await expect(run()).rejects.toThrow('memory two holds a migration from memory one');
  });

  test('where the source is now another installation', async () => {
    await run();
    await source.transfers.installation.write([otherSecret]);
    await expect(run()).rejects.toThrow('holds a migration from another installation at memory one');
  });

  test('where the target has its own secret meanwhile', async () => {
    await run();
    await target.transfers.installation.write([otherSecret]);
    await expect(run()).rejects.toThrow('memory two has a secret of its own');
  });

  test('from a copy that is not finished', async () => {
    await run();
    await expect(run({ source: target, target: memoryInstallation('memory three') })).rejects.toThrow(
      'memory two is itself an unfinished copy of memory one',
    );
  });
});

describe('an engine', () => {
  test('that is down for a moment is retried', async () => {
    let calls = 0;
    const flapping = intercepted(target, 'links', 'write', () => {
      calls += 1;
      if (calls % 3 !== 0) throw new Problem('store_unavailable');
    });
    const clock = leapingClock(start);
    expect(await run({ target: flapping, isFinal: true, clock })).toMatchObject({ kind: 'finished' });
    expect(clock.sleptMs).toBeGreaterThan(0);
  });

  test('that stays down ends the run, which can be resumed later', async () => {
    const failing = intercepted(target, 'links', 'write', () => {
      throw new Problem('store_unavailable', { cause: new Error('connection refused') });
    });
    const clock = leapingClock(start);
    await expect(run({ target: failing, clock })).rejects.toThrow(Problem);
    expect(clock.sleptMs).toBeGreaterThan(20_000);
    expect(await run({ isFinal: true })).toMatchObject({ kind: 'finished' });
  });

  test('that rejects a record makes the run name it', async () => {
    const { links } = target.transfers;
    const picky: Installation = {
      ...target,
      transfers: {
        ...target.transfers,
        links: {
          ...links,
          async write(records) {
            if (records.some(({ key }) => key === 'many77')) throw new Error('no NUL in text');
            await links.write(records);
          },
        },
      },
    };
    await expect(run({ target: picky })).rejects.toThrow('the target refuses links many77: no NUL in text');
  });

  test('is given no more records a second than allowed', async () => {
    const clock = leapingClock(start);
    await run({ clock, isFinal: true, recordsPerS: 100 });
    // Copied once, then both sides walked once.
    expect(Math.round(clock.sleptMs / 1_000)).toBeGreaterThanOrEqual((3 * linkCount) / 100);
  });
});

/** Counts every call, of any part; the one after the last throws, before or after it was done. */
function killedAfter(installation: Installation, callsLeft: number): Installation {
  let left = callsLeft;
  const dying = <Given extends unknown[], Result>(work: (...given: Given) => Promise<Result>) => {
    return async (...given: Given): Promise<Result> => {
      left -= 1;
      if (left === -1 && callsLeft % 2 === 0) throw new Error('killed before');
      const result = await work(...given);
      if (left === -1) throw new Error('killed after');
      if (left < -1) throw new Error('killed long ago');
      return result;
    };
  };
  const transfers = Object.fromEntries(
    Object.entries(installation.transfers).map(([part, transfer]) => {
      const { remove, ...rest } = transfer as Transfer;
      const methods = { page: dying(rest.page), read: dying(rest.read), write: dying(rest.write) };
      return [part, { ...rest, ...methods, ...(remove && { remove: dying(remove) }) }];
    }),
  );
  const { notes } = installation;
  const dyingNotes = { ...notes, take: dying(notes.take), save: dying(notes.save) };
  return { ...installation, notes: dyingNotes, transfers: transfers as unknown as Transfers };
}
