/** The configurations of `deploy/`, as an operator would change them: other addresses and folders, and nothing else. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A cache in front of Terse, in a separate process. */
export interface Edge {
  readonly url: string;
  /** The value of `TERSE_EDGE_PURGE` for it. */
  readonly purgeAddress: string;
  /** Its log of requests. */
  readonly logPath: string;
}

const deployFolder = join(import.meta.dir, '../../../deploy');

export function deployedConfiguration(file: string, changes: Readonly<Record<string, string>>): string {
  let text = readFileSync(join(deployFolder, file), 'utf8');
  for (const [from, to] of Object.entries(changes)) {
    if (!text.includes(from)) throw new Error(`${file} has no “${from}” to change`);
    text = text.replaceAll(from, to);
  }
  return text;
}
