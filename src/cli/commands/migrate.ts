/** Migrates an installation from one store to another, while the source keeps serving. */
import { type Command, UsageError } from '../command.ts';
import { paint, printLine, printTable } from '../output.ts';

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
