/** The folder `corpus`: inputs that fuzzing has found, one folder for each target, read and added to. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const corpusFolder = join(import.meta.dir, 'corpus');

export interface CorpusEntry {
  readonly name: string;
  readonly bytes: Buffer;
}

export function corpusOf(target: string): CorpusEntry[] {
  const folder = join(corpusFolder, target);
  return (existsSync(folder) ? readdirSync(folder) : [])
    .sort()
    .map(name => ({ name, bytes: readFileSync(join(folder, name)) }));
}

/** Adds an input under the name of its behaviour, unless the corpus has it already; returns its path. */
export function keep(target: string, behaviour: string, bytes: Uint8Array): string {
  const folder = join(corpusFolder, target);
  const known = corpusOf(target).find(entry => entry.bytes.equals(bytes));
  if (known !== undefined) return join(folder, known.name);
  mkdirSync(folder, { recursive: true });
  const slug = behaviour
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 60)
    .replace(/^-|-$/g, '');
  const path = join(folder, `${slug}-${Bun.hash.crc32(bytes).toString(16)}`);
  writeFileSync(path, bytes);
  return path;
}
