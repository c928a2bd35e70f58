/** Counting what an edge cache answered without asking: the clicks in its log. */
import { type Command, exitCodes, UsageError } from '../command.ts';
import { harmless, printLine } from '../output.ts';

const logsMax = 10_000;

export const clicks: Command = {
  name: 'clicks',
  summary: 'Count the clicks that a cache in front of the server answered, from its logs',
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
    return exitCodes.ok;
  },
};
