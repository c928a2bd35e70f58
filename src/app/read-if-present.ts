import { readFileSync } from 'node:fs';

/** The text of a file that a system may not have, or not show. */
export function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
