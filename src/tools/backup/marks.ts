/**
 * Raises marks. A store restored from a backup does not know which ids were leased after the backup, and would lease
 * them again; a mark higher than any that can have been reached meanwhile makes that impossible. Skipped ids are lost,
 * of which there are trillions.
 */
import type { Transfer } from '../../base/transfer.ts';
import { RequestError } from '../../cli/command.ts';
import { parseRegion, shareOf } from '../../codes/id-share.ts';
import type { Config } from '../../config/config.ts';
import { type MarkCopy, markKey } from '../../links/transfer.ts';

export interface RaisedMark {
  /** The length of the codes. */
  readonly length: number;
  /** Where the mark's share of the ids begins: 0, unless there are regions. */
  readonly first: number;
  readonly before: number;
  readonly after: number;
}

/** As many ids as one machine uses in minutes of bulk calls, and most installations in years. */
export const marginMin = 10_000_000;
/** More than one machine can make with bulk calls alone. */
const idsPerSMax = 20_000;
/** The largest share of the remaining codes that a margin may take if the operator did not choose it. */
const shareMax = 0.1;
const pageRecordsMax = 100;

/** More ids than can have been leased since, on one machine. */
export const marginSince = (startedAt: number, now: number): number =>
  Math.max(marginMin, Math.ceil((now - startedAt) / 1_000) * idsPerSMax);

export interface RaiseOptions {
  readonly by: number;
  /** Whether an operator chose the number. */
  readonly isChosen: boolean;
  /** Where new codes come from, which may have come into use after the backup. */
  readonly inUse: Pick<MarkCopy, 'length' | 'first'>;
}

/** Where a process with these settings leases from. */
export function leasedBy({
  codeLength,
  region,
}: Pick<Config, 'codeLength' | 'region'>): RaiseOptions['inUse'] {
  const share = shareOf(parseRegion(region) ?? { number: 1, count: 1 }, idsOf(codeLength));
  return { length: codeLength, first: share.first };
}

export async function readMarks(marks: Transfer<MarkCopy>): Promise<MarkCopy[]> {
  const found: MarkCopy[] = [];
  let cursor: string | undefined;
  do {
    const page = await marks.page(cursor, pageRecordsMax);
    found.push(...page.records.map(({ value }) => value));
    cursor = page.next;
  } while (cursor !== undefined);
  return found.sort((one, other) => one.length - other.length || one.first - other.first);
}

/** Raises all of them or none. */
export async function raiseMarks(
  marks: Transfer<MarkCopy>,
  { by, isChosen, inUse }: RaiseOptions,
): Promise<RaisedMark[]> {
  const found = await readMarks(marks);
  if (!found.some(({ length, first }) => length === inUse.length && first === inUse.first)) {
    found.push({ ...inUse, mark: inUse.first });
  }
  const raised = found.map(({ length, first, mark }) => {
    const behind = found.filter(other => other.length === length && other.first > first);
    const end = Math.min(idsOf(length), ...behind.map(other => other.first));
    const left = Math.max(0, end - mark);
    if (by > (isChosen ? left : left * shareMax)) {
      const advice = isChosen
        ? 'choose a smaller number'
        : 'say with --margin how many links may have been made since the backup';
      throw new RequestError(
        `of codes with ${length} characters ${count(left)} are left, and ${count(by)} are too many to skip: ${advice}`,
      );
    }
    return { length, first, before: mark, after: mark + by };
  });
  await marks.write(
    raised.map(({ length, first, after }) => ({
      key: markKey({ length, first }),
      value: { length, first, mark: after },
    })),
  );
  return raised;
}

/** Ids beyond what a number can count exactly are never leased. */
const idsOf = (length: number): number => Math.min(62 ** length, 2 ** 53);

const count = (value: number): string => value.toLocaleString('en');
