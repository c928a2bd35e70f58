/** The commands that need no server: what the configuration is, and which version this is. */
import { type Command, exitCodes, jsonOption } from '../command.ts';
import { printJson, printLine, printTable } from '../output.ts';

/** Prints the configuration even when this version could not start with it, and then says why not. */
export const config: Command = {
  name: 'config',
  summary: 'Print the effective settings and where each comes from',
  usage: '[settings] [options]',
  options: [jsonOption],
  operands: { min: 0, max: 0 },
  audiences: ['server', 'client'],
  async run(context, given) {
    const effective = context.settings.describe(context.config);
    if (given.has('--json')) {
      const entries = effective.map(({ name, value, source }) => [name, { value, source }] as const);
      printJson(context.stdout, Object.fromEntries(entries));
    } else {
      const rows = effective.map(({ name, env, shown, source }) => [name, env, source, shown]);
      printTable(context.stdout, ['SETTING', 'VARIABLE', 'SOURCE', 'VALUE'], rows, (_cell, column) => {
        return column === 0 ? 'bold' : undefined;
      });
    }
    context.settings.requireSupported(context.config);
    return exitCodes.ok;
  },
};

export const version: Command = {
  name: 'version',
  summary: 'Print the version',
  usage: '',
  options: [],
  operands: { min: 0, max: 0 },
  audiences: [],
  async run(context) {
    printLine(context.stdout, context.version);
    return exitCodes.ok;
  },
};

/** Only described here; see `Command.run`. */
export const serve: Command = {
  name: 'serve',
  summary: 'Start the server',
  usage: '[settings]',
  options: [],
  operands: { min: 0, max: 0 },
  audiences: ['server'],
};
