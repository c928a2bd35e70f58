/** Clicks in files: the archive, and the logs of a cache that answered redirects itself. */
import { type Command, UsageError } from '../command.ts';
import { harmless, printLine } from '../output.ts';

const logsMax = 10_000;

export const clicks: Command = {
  name: 'clicks',
  summary: 'Import clicks from the logs of a cache in front of the server',
  usage: 'import LOG… [settings]',
  options: [],
  operands: { min: 2, max: logsMax },
  audiences: ['server'],
  async run({ stdout, config, local, readStdin }, given) {
    const [action, ...logs] = given.operands;
    if (action !== 'import') throw new UsageError(`usage: terse clicks ${clicks.usage}`);
    for (const log of logs) {
      const report = await local.importClicks(config, log === '-' ? readStdin() : log);
      const { imported, known, seen, other, unreadable } = report;
      const counts = Object.entries({
        'clicks imported': imported,
        'known already': known,
        'answered by the server itself': seen,
        'no visits': other,
        'lines unreadable': unreadable,
      });
      const words = counts.map(([what, count]) => `${count.toLocaleString('en')} ${what}`);
      printLine(stdout, harmless(`${log}: ${words.join(', ')}`));
    }
  },
};

export const archive: Command = {
  name: 'archive',
  summary: 'List the archived days of clicks, or restore some',
  usage: '[list | restore --day DAY] [settings]',
  options: [
    {
      flag: '--day',
      value: 'DAY',
      doc: 'The first day to restore, such as 2026-11-01; all archived days after it come back with it.',
    },
  ],
  operands: { min: 0, max: 1 },
  audiences: ['server'],
  async run({ stdout, config, local }, given) {
    const [action = 'list'] = given.operands;
    const day = given.text('--day');
    const isRestore = action === 'restore';
    if (!['list', 'restore'].includes(action) || isRestore !== (day !== undefined))
      throw new UsageError(`usage: terse archive ${archive.usage}`);
    if (day !== undefined && !/^\d{4}-\d{2}-\d{2}$/.test(day))
      throw new UsageError('--day must be a day such as 2026-11-01');
    const days = await local.archive(config, day, line => printLine(stdout, harmless(line)));
    if (!isRestore) for (const archived of days) printLine(stdout, harmless(archived));
  },
};
