/** What a followed link takes in the memory of a process; measured in one of its own, which starts with nothing. */
import { join } from 'node:path';

export interface LinkMemory {
  readonly heapBytes: number;
  readonly residentBytes: number;
}

export async function linkMemory(urlBytes: number, links: number): Promise<LinkMemory> {
  const program = join(import.meta.dir, 'link-memory-process.ts');
  const child = Bun.spawn([process.execPath, program, String(urlBytes), String(links)], {
    stderr: 'inherit',
  });
  return JSON.parse(await new Response(child.stdout).text());
}
