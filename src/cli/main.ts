/**
 * The command line: finds the command, reads its settings and options, runs it, and turns failures
 * into a message and an exit code. 0 is success, 1 is a rejection by the server, 2 is a wrong command line.
 */
import { systemClock } from '../base/clock.ts';
import { closestName } from '../base/did-you-mean.ts';
import type { SettingHelp } from '../config/report.ts';
import {
  type CliWorld,
  type Command,
  exitCodes,
  type GivenWorld,
  type Output,
  parseArguments,
  RequestError,
  UsageError,
} from './command.ts';
import { accounts } from './commands/accounts.ts';
import { archive, clicks, reconcile } from './commands/clicks.ts';
import { keys } from './commands/keys.ts';
import { edit, list, qr, remove, show } from './commands/links.ts';
import { config, doctor, serve, setup, version } from './commands/local.ts';
import { moderate } from './commands/moderate.ts';
import { shorten } from './commands/shorten.ts';
import { stats } from './commands/stats.ts';
import { backup, marks, migrate, restore } from './commands/stores.ts';
import { harmless, paint, printLine } from './output.ts';

const help: Command = {
  name: 'help',
  summary: 'Explain a command',
  usage: '[COMMAND]',
  options: [],
  operands: { min: 0, max: 1 },
  audiences: [],
  async run(context, given) {
    const [topic] = given.operands;
    if (topic === undefined) printOverview(context.stdout);
    else printCommandHelp(context.stdout, commandNamed(topic), context.settings.help());
  },
};

export const commands: readonly Command[] = [
  serve,
  shorten,
  list,
  show,
  edit,
  remove,
  qr,
  stats,
  reconcile,
  keys,
  accounts,
  moderate,
  setup,
  migrate,
  archive,
  clicks,
  backup,
  restore,
  marks,
  doctor,
  config,
  version,
  help,
];

/** Resolves to the exit code. A problem with the configuration is thrown on to main.ts. */
export async function runCli(argv: readonly string[], world: GivenWorld): Promise<number> {
  try {
    return await dispatch(argv, { clock: systemClock, ...world });
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof RequestError)) throw error;
    const [line = '', ...advice] = error.message.split('\n');
    printLine(world.stderr, `${paint(world.stderr, 'red', 'terse:')} ${harmless(line)}`);
    for (const more of advice) printLine(world.stderr, `  ${harmless(more)}`);
    return error instanceof UsageError ? exitCodes.usage : exitCodes.refused;
  }
}

async function dispatch(argv: readonly string[], world: CliWorld): Promise<number> {
  const [name = 'help', ...rest] = argv;
  const command = commandNamed(customaryFlags.get(name) ?? name);
  if (command.run === undefined || asksForHelp(rest)) {
    printCommandHelp(world.stdout, command, world.settings.help());
    return exitCodes.ok;
  }
  const loaded = world.settings.load(rest, command.audiences);
  const given = parseArguments(command, loaded.rest);
  return (await command.run({ ...world, config: loaded.config }, given)) ?? exitCodes.ok;
}

const customaryFlags = new Map([
  ['--help', 'help'],
  ['-h', 'help'],
  ['--version', 'version'],
  ['-v', 'version'],
]);

/** True when help is asked for anywhere before `--`. */
export function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end === -1 ? argv.length : end).some(argument => /^(?:-h|--help)$/.test(argument));
}

function commandNamed(name: string): Command {
  const command = commands.find(candidate => candidate.name === name);
  if (command !== undefined) return command;
  if (name.startsWith('-')) {
    throw new UsageError(`the command comes first, and ${name.split('=')[0]} is none; see \`terse help\``);
  }
  const close = closestName(
    name,
    commands.map(candidate => candidate.name),
  );
  const advice = close === undefined ? '`terse help` lists them' : `did you mean ${close}?`;
  throw new UsageError(`${name} is not a command: ${advice}`);
}

/** Help comes from the command table and the settings table, so it cannot drift. */
function printOverview(output: Output): void {
  const width = Math.max(...commands.map(command => command.name.length));
  printLine(output, 'Terse makes short links.\n');
  printLine(output, `${paint(output, 'bold', 'Usage:')} terse COMMAND [options]\n`);
  for (const { name, summary } of commands) printLine(output, `  ${name.padEnd(width)}  ${summary}`);
  printLine(output, '\n`terse help COMMAND` explains a command.');
}

function printCommandHelp(output: Output, command: Command, settings: readonly SettingHelp[]): void {
  const { name, summary, usage, options, audiences } = command;
  printLine(output, `${paint(output, 'bold', 'Usage:')} terse ${name} ${usage}`.trimEnd());
  printLine(output, `\n${summary}.`);
  if (options.length > 0) {
    const labels = options.map(({ flag, value }) => (value === undefined ? flag : `${flag} ${value}`));
    const width = Math.max(...labels.map(label => label.length));
    printLine(output, `\n${paint(output, 'bold', 'Options')}`);
    for (const [index, { doc }] of options.entries()) {
      printLine(output, `  ${labels[index]!.padEnd(width)}  ${doc.replaceAll('`', '')}`);
    }
  }
  const accepted = settings.filter(({ audience }) => audiences.includes(audience));
  if (accepted.length === 0) return;
  printLine(
    output,
    `\n${paint(output, 'bold', 'Settings')}, as a flag, an environment variable or a line of the file`,
  );
  for (const { flag, env, doc, values, default: initial } of accepted) {
    printLine(output, `  ${flag}, ${env}`);
    printLine(output, `      ${doc} Values: ${values}. Default: ${initial}.`);
  }
}
