/**
 * A store with any number of links, written through the store's own port, and kept between runs, because ten million
 * links take a while. A folder with another schema or other links is rebuilt.
 */
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createCredentials } from '../../src/accounts/api-key.ts';
import { createAccountStore } from '../../src/accounts/store.ts';
import { createAuditLog } from '../../src/audit/audit-log.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { createCodeSpace } from '../../src/codes/code-space.ts';
import { unstated } from '../../src/links/fields.ts';
import type { Link } from '../../src/links/link.ts';
import type { InsertItem } from '../../src/links/store.ts';
import { linkMigrations } from '../../src/links/stores/sqlite/schema.ts';
import { createSqliteStore } from '../../src/links/stores/sqlite/store.ts';
import { createSqliteRecords } from '../../src/records/drivers/sqlite.ts';
import { openEmbedded } from '../../src/stores/embedded.ts';
import { adminKey } from '../../test/kit/terse-process.ts';

export interface FilledStore {
  readonly dataFolder: string;
  readonly links: number;
  /** How long the links took to write; undefined when an earlier run wrote them. */
  readonly filledInS: number | undefined;
  /** The code of the n-th link. */
  codeAt(index: number): string;
}

interface Certificate {
  /** Distinguishes the schema and the links from those of another version of this file. */
  readonly recipe: string;
  readonly firstId: number;
  readonly secret: string;
}

const codeLength = 7;
/** As many rows as the writer takes into one transaction. */
const batchLinks = 20_000;
/** The writer works on one batch while the next ones are prepared. */
const batchesInFlight = 3;
const notesEvery = 1_000_000;

/** Every n-th link has this tag. */
export const commonTag = { name: 'newsletter', every: 10 };
export const rareTag = { name: 'campaign-2026', every: 10_000 };
/** Every n-th link has this in its title. */
export const commonWord = { name: 'article', every: 2 };
export const rareWord = { name: 'annual report', every: 1_000 };

export async function filledStore(
  cacheFolder: string,
  links: number,
  note: (text: string) => void,
): Promise<FilledStore> {
  const dataFolder = join(cacheFolder, `links-${links}`);
  const certificateFile = Bun.file(join(dataFolder, 'filled.json'));
  const recipe = recipeName();
  let certificate: Certificate | undefined = existsSync(certificateFile.name!)
    ? await certificateFile.json()
    : undefined;
  let filledInS: number | undefined;
  if (certificate?.recipe !== recipe) {
    rmSync(dataFolder, { recursive: true, force: true });
    mkdirSync(dataFolder, { recursive: true });
    const startedNs = Bun.nanoseconds();
    certificate = { recipe, ...(await fill(dataFolder, links, note)) };
    filledInS = (Bun.nanoseconds() - startedNs) / 1e9;
    await Bun.write(certificateFile, JSON.stringify(certificate));
  }
  const space = createCodeSpace(Buffer.from(certificate.secret, 'hex'), codeLength);
  const { firstId } = certificate;
  return { dataFolder, links, filledInS, codeAt: index => space.encode(firstId + index) };
}

/** Reads the file into the page cache, so that a long run does not begin by measuring the disk. */
export async function readOnce({ dataFolder }: FilledStore): Promise<void> {
  for await (const _ of Bun.file(join(dataFolder, 'terse.db')).stream());
}

/**
 * A data folder with these links and separate clicks, so that the filled store stays unchanged otherwise. The database
 * is a symbolic link to the same file, which SQLite resolves.
 */
export function lendLinks({ dataFolder }: FilledStore, folder: string): string {
  mkdirSync(folder, { recursive: true });
  symlinkSync(join(dataFolder, 'terse.db'), join(folder, 'terse.db'));
  return folder;
}

async function fill(
  dataFolder: string,
  links: number,
  note: (text: string) => void,
): Promise<Omit<Certificate, 'recipe'>> {
  const { reader, writer } = await openEmbedded(dataFolder);
  const store = createSqliteStore(reader, writer);
  const [clock, random] = [systemClock, systemRandom];
  const records = createSqliteRecords(reader, writer, clock);
  const audit = createAuditLog({ records, random });
  const accounts = createAccountStore({ records, audit, clock, random });
  const { account } = await createCredentials(accounts, systemClock, systemRandom).setUpAdmin(adminKey);
  const secret = await store.installationSecret(systemRandom.bytes(32));
  const space = createCodeSpace(secret, codeLength);
  const { from: firstId } = await store.leaseRange(codeLength, links, space.size);
  const inFlight: Promise<void>[] = [];
  for (let first = 0; first < links; first += batchLinks) {
    const length = Math.min(batchLinks, links - first);
    const items = Array.from({ length }, (_, position) =>
      itemOf(space.encode(firstId + first + position), first + position, account.id),
    );
    inFlight.push(store.insert(items).then(requireAllInserted));
    if (inFlight.length >= batchesInFlight) await inFlight.shift();
    if ((first + length) % notesEvery === 0) note(`${(first + length) / 1e6} million links written`);
  }
  await Promise.all(inFlight);
  await store.close();
  return { firstId, secret: Buffer.from(secret).toString('hex') };
}

function requireAllInserted(outcomes: readonly { kind: string }[]): void {
  if (outcomes.some(({ kind }) => kind !== 'inserted')) throw new Error('a code was taken while filling');
}

function itemOf(code: string, index: number, ownerId: string): InsertItem {
  const link: Link = {
    ...unstated,
    code,
    longUrl: longUrlAt(index),
    ownerId,
    origin: 'generated',
    status: 'active',
    title: titleAt(index),
    tags: [commonTag, rareTag].filter(({ every }) => index % every === 0).map(({ name }) => name),
    createdAt: firstCreatedAt + index,
    updatedAt: firstCreatedAt + index,
    usedClicks: 0,
    risk: null,
    version: 1,
  };
  return { link, leased: true, claim: undefined, existing: 'ignored', idempotency: undefined };
}

function titleAt(index: number): string | null {
  if (index % rareWord.every === 0) return `The ${rareWord.name} and the ${commonWord.name} about it`;
  return index % commonWord.every === 0 ? `An ${commonWord.name} worth reading` : null;
}

function recipeName(): string {
  const ingredients = [linkMigrations, commonTag, rareTag, commonWord, rareWord];
  return Bun.hash(JSON.stringify(ingredients) + itemOf + titleAt + longUrlAt).toString(36);
}

const firstCreatedAt = Date.UTC(2026, 0, 1);

/** The URL of the n-th link: all different, about as long as those that people shorten. */
export function longUrlAt(index: number): string {
  const scattered = Math.imul(index + 1, 0x9e3779b1) >>> 0;
  return `https://www.example.com/pages/${scattered.toString(36)}/a-title-in-words?utm_source=mail&id=${index}`;
}
