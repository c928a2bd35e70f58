/** Commands that work on a store directly: back it up, restore it, raise its marks, migrate it to another engine. */
import { type Command, type MarkReport, UsageError } from '../command.ts';
import { harmless, paint, printLine, printTable } from '../output.ts';

const marginMax = 1_000_000_000_000;

export const backup: Command = {
  name: 'backup',
  summary: 'Back up the data folder into a new folder, while the server runs',
  usage: 'FOLDER [--check] [settings]',
  options: [{ flag: '--check', doc: 'Verify the backup in the folder instead of making one.' }],
  operands: { min: 1, max: 1 },
  audiences: ['server'],
  async run({ stdout, config, local }, given) {
    const folder = given.operands[0]!;
    if (given.has('--check')) {
      const { startedAt, links } = await local.checkBackup(folder);
      printLine(stdout, harmless(`${folder} is whole: ${contentsOf(links)} of ${timeOf(startedAt)}`));
      return;
    }
    const tell = (line: string): void => printLine(stdout, harmless(line));
    const { links } = await local.backUp(config, folder, tell);
    printLine(stdout, harmless(`Verified: ${folder} has ${contentsOf(links)}.`));
  },
};

export const restore: Command = {
  name: 'restore',
  summary: 'Restore a backup into an empty data folder',
  usage: 'FOLDER [--margin N] [settings]',
  options: [
    {
      flag: '--margin',
      value: 'N',
      doc: 'Ids to skip, at least as many as links were made since the backup; default 20,000 for each second since.',
    },
  ],
  operands: { min: 1, max: 1 },
  audiences: ['server'],
  async run({ stdout, config, local }, given) {
    const margin = given.wholeNumber('--margin');
    if (margin !== undefined && margin > marginMax)
      throw new UsageError(`--margin must be from 0 to ${marginMax}`);
    const tell = (line: string): void => printLine(stdout, harmless(line));
    const { startedAt, links, marks } = await local.restore(config, given.operands[0]!, margin, tell);
    if (marks === undefined) {
      printLine(stdout, `A restore into ${harmless(config.data)} that was cut off before is finished now.`);
      return;
    }
    for (const { length, before, after } of marks) {
      const skipped = (after - before).toLocaleString('en');
      printLine(stdout, `codes with ${length} characters: ${skipped} skipped that may have been given since`);
    }
    const what = `${contentsOf(links)} of ${timeOf(startedAt)}`;
    printLine(stdout, harmless(`Restored: ${config.data} has ${what}. Start Terse on it now.`));
  },
};

export const marks: Command = {
  name: 'marks',
  summary: 'Show the high-water marks of ids, or skip ids after a restore',
  usage: '[--raise N] [settings]',
  options: [
    {
      flag: '--raise',
      value: 'N',
      doc: 'Skip so many ids, at least as many as links were made since the moment the store was restored to.',
    },
  ],
  operands: { min: 0, max: 0 },
  audiences: ['server'],
  async run({ stdout, config, local }, given) {
    const by = given.wholeNumber('--raise');
    if (by !== undefined && (by < 1 || by > marginMax))
      throw new UsageError(`--raise must be from 1 to ${marginMax}`);
    const found = await local.marks(config, by);
    if (found.length === 0) printLine(stdout, 'no ids were given yet');
    else printTable(stdout, ['CODE LENGTH', 'FROM', 'MARK'], found.map(rowOf));
  },
};

const rowOf = ({ length, first, after }: MarkReport): string[] => [
  String(length),
  first.toLocaleString('en'),
  after.toLocaleString('en'),
];

const contentsOf = (links: number | undefined): string =>
  links === undefined ? 'what is kept here' : `${links.toLocaleString('en')} links`;

const timeOf = (at: number): string => new Date(at).toISOString();

const rateMax = 10_000_000;

export const migrate: Command = {
  name: 'migrate',
  summary: 'Copy an installation from one store to another while it keeps serving',
  usage: '--from STORE --to STORE [options]',
  options: [
    { flag: '--from', value: 'STORE', doc: '`sqlite:FOLDER`, `postgres://…` or `dynamodb://…`.' },
    { flag: '--to', value: 'STORE', doc: 'The same; it must be empty, or hold what an earlier run copied.' },
    { flag: '--final', doc: 'The source has no more writes: finish, and compare both sides.' },
    { flag: '--rate', value: 'N', doc: 'Handle no more than this many records a second.' },
    { flag: '--dry-run', doc: 'Print what would be copied, and write nothing.' },
  ],
  operands: { min: 0, max: 0 },
  audiences: [],
  async run({ stdout, local }, given) {
    const [from, to] = [given.text('--from'), given.text('--to')];
    if (from === undefined || to === undefined) {
      throw new UsageError('both stores are needed; usage: terse migrate --from STORE --to STORE [options]');
    }
    const recordsPerS = given.wholeNumber('--rate');
    if (recordsPerS !== undefined && (recordsPerS < 1 || recordsPerS > rateMax)) {
      throw new UsageError(`--rate must be from 1 to ${rateMax}`);
    }
    const request = {
      from,
      to,
      isFinal: given.has('--final'),
      isDryRun: given.has('--dry-run'),
      recordsPerS,
    };
    const report = await local.migrate(request, line => printLine(stdout, line));
    if (report.kind === 'following') {
      printLine(
        stdout,
        `The target follows the source; the last round found ${report.differences.toLocaleString('en')} differences. ` +
          'When nobody writes to the source any more, run the same command with --final.',
      );
    }
    if (report.kind === 'finished' && report.parts.length > 0) {
      const side = ({ count, checksum }: { count: number; checksum: string }): string =>
        `${count.toLocaleString('en')} ${checksum}`;
      const rows = report.parts.map(({ part, source, target, isSame }) => [
        part,
        side(source),
        side(target),
        isSame ? 'equal' : 'no lower',
      ]);
      printTable(stdout, ['PART', 'SOURCE', 'TARGET', ''], rows);
      printLine(stdout, `${paint(stdout, 'green', 'Verified:')} start Terse on the target now.`);
    }
  },
};
