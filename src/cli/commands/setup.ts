/** Making what the engines lack, with permissions that the server itself need not have. */
import { type Command, exitCodes } from '../command.ts';
import { harmless, printLine } from '../output.ts';

export const setup: Command = {
  name: 'setup',
  summary: 'Make the tables and indexes that the engines of the settings lack',
  usage: '[settings]',
  options: [],
  operands: { min: 0, max: 0 },
  audiences: ['server'],
  async run({ stdout, config, local }) {
    for await (const { store, done } of local.setUp(config)) {
      for (const line of done) printLine(stdout, harmless(line));
      printLine(stdout, `${harmless(store)} has all that it needs`);
    }
    return exitCodes.ok;
  },
};
