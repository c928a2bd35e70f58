/**
 * All active lists: the operator's files, each watched for changes, and the entries added through the API. A change
 * replaces one list by another in one assignment, so a lookup sees the old lists or the new ones and never a mixture.
 */
import { basename } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { type BlockMatch, createBlocklist, type MatchUrl, type NamedList } from './blocklist.ts';
import {
  acceptList,
  type CompiledList,
  type CompileFile,
  type Complaints,
  compileList,
  entryCount,
  listBytes,
} from './compiled-list.ts';
import type { OperatorEntryStore } from './operator-entries.ts';
import { type FileStatus, type WatchedFile, watchFile } from './watched-file.ts';

export interface BlocklistsOptions {
  readonly paths: readonly string[];
  readonly compileFile: CompileFile;
  readonly entries: OperatorEntryStore;
  /** The key of the hashes; eight random bytes. */
  readonly key: Uint8Array;
  readonly clock: Clock;
  /** An allowed URL may be blocked from now on, or the other way round. */
  readonly onChanged: () => void;
  readonly onLoaded: (list: string, entries: number, complaints: Complaints) => void;
  readonly onFault: (list: string, fault: string) => void;
}

export interface ListStatus {
  readonly name: string;
  readonly state: FileStatus['state'];
  readonly entries: number;
  readonly bytes: number;
  readonly loadedAt: number | null;
  readonly fault: string | null;
  readonly complaints: Complaints;
}

export interface Blocklists {
  readonly match: MatchUrl;
  /** The operator's own entries first, then the files in the order of their setting. */
  status(): readonly ListStatus[];
  /** Reads the entries at once, for the process that has just changed them. */
  refreshEntries(): Promise<void>;
}

export const operatorListName = 'operator';
const pollMs = 500;
const noComplaints: Complaints = { unreadable: 0, refused: 0, examples: [] };

interface FollowedFile {
  readonly name: string;
  readonly file: WatchedFile;
  compiled: CompiledList | undefined;
}

/** Resolves when every readable list is active; the returned function stops watching. */
export async function startBlocklists(options: BlocklistsOptions): Promise<Blocklists & { stop(): void }> {
  const { paths, compileFile, entries, key, clock, onChanged, onLoaded, onFault } = options;
  let operatorList = compileList('', key);
  let revision: number | undefined;
  let operatorFault: string | null = null;
  let operatorLoadedAt: number | null = null;
  let match: (url: string) => BlockMatch | undefined = () => undefined;
  let isReading = false;

  const names = distinctNames(paths);
  const files: FollowedFile[] = paths.map((path, index) => {
    const name = names[index]!;
    const followed: FollowedFile = {
      name,
      compiled: undefined,
      file: watchFile<CompiledList>({
        path,
        clock,
        load: async (from, current, isInsisted) =>
          acceptList(await compileFile(from, key), current, isInsisted),
        onLoaded(compiled) {
          followed.compiled = compiled;
          renew();
          onLoaded(name, entryCount(compiled), compiled.complaints);
        },
        onFault: fault => onFault(name, fault),
      }),
    };
    return followed;
  });

  function renew(): void {
    const lists: NamedList[] = [
      { name: operatorListName, compiled: operatorList },
      ...files.flatMap(({ name, compiled }) => (compiled === undefined ? [] : [{ name, compiled }])),
    ];
    match = createBlocklist(
      lists.filter(({ compiled }) => entryCount(compiled) > 0),
      key,
    );
    onChanged();
  }

  async function readEntries(): Promise<void> {
    const latest = await entries.revision();
    if (latest === revision) return;
    const lines = (await entries.list()).map(({ entry }) => entry);
    operatorList = compileList(lines.join('\n'), key);
    [revision, operatorLoadedAt] = [latest, clock.now()];
    renew();
  }

  /** An outage of the store leaves the entries as they were. */
  async function pollEntries(): Promise<void> {
    if (isReading) return;
    isReading = true;
    try {
      await readEntries();
      operatorFault = null;
    } catch (error) {
      const fault = error instanceof Error ? error.message : String(error);
      if (operatorFault !== fault) onFault(operatorListName, fault);
      operatorFault = fault;
    } finally {
      isReading = false;
    }
  }

  await pollEntries();
  const stops = await Promise.all(files.map(({ file }) => file.start()));
  stops.push(clock.every(pollMs, () => void pollEntries()));

  return {
    match: url => match(url),
    refreshEntries: readEntries,
    status: () => [
      statusOf(operatorListName, operatorList, {
        state: operatorFault === null ? 'loaded' : 'kept',
        loadedAt: operatorLoadedAt,
        fault: operatorFault,
      }),
      ...files.map(({ name, file, compiled }) => statusOf(name, compiled, file.status())),
    ],
    stop() {
      for (const stop of stops) stop();
    },
  };
}

function statusOf(
  name: string,
  compiled: CompiledList | undefined,
  { state, loadedAt, fault }: Pick<FileStatus, 'state' | 'loadedAt' | 'fault'>,
): ListStatus {
  return {
    name,
    state,
    entries: compiled === undefined ? 0 : entryCount(compiled),
    bytes: compiled === undefined ? 0 : listBytes(compiled),
    loadedAt,
    fault,
    complaints: compiled?.complaints ?? noComplaints,
  };
}

/** File names without their folders, which must not be disclosed; equal names are numbered. */
function distinctNames(paths: readonly string[]): string[] {
  const seen = new Map<string, number>([[operatorListName, 1]]);
  return paths.map(path => {
    const name = basename(path);
    const times = (seen.get(name) ?? 0) + 1;
    seen.set(name, times);
    return times === 1 ? name : `${name} (${times})`;
  });
}
