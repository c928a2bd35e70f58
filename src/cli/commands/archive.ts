/** Looking at the archive of clicks, and taking days back from it. */
import { type Command, exitCodes, UsageError } from '../command.ts';
import { harmless, printLine } from '../output.ts';

export const archive: Command = {
  name: 'archive',
  summary: 'List the days of clicks in the archive, or bring days back from there',
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
    return exitCodes.ok;
  },
};
