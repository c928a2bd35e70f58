/**
 * The command line: finds the command, reads its settings and options, runs it, and turns what goes wrong
 * into a message and an exit code. 0 is success, 1 is a server that said no, 2 is a wrong command line.
 */
import { systemClock } from '../base/clock.ts';
import { closestName } from '../base/did-you-mean.ts';
import { parseArguments } from './arguments.ts';
import {
  type CliWorld,
  type Command,
  exitCodes,
  type GivenWorld,
  RequestError,
  UsageError,
} from './command.ts';
import { accounts } from './commands/accounts.ts';
import { archive } from './commands/archive.ts';
import { backup, marks, restore } from './commands/backup.ts';
import { clicks } from './commands/clicks.ts';
import { doctor } from './commands/doctor.ts';
import { keys } from './commands/keys.ts';
import { edit, list, qr, remove, show } from './commands/links.ts';
import { config, serve, version } from './commands/local.ts';
import { migrate } from './commands/migrate.ts';
import { moderate } from './commands/moderate.ts';
import { reconcile } from './commands/reconcile.ts';
import { setup } from './commands/setup.ts';
import { shorten } from './commands/shorten.ts';
import { stats } from './commands/stats.ts';
import { printCommandHelp, printOverview } from './help.ts';
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
    if (topic === undefined) printOverview(context.stdout, commands);
    else printCommandHelp(context.stdout, commandNamed(topic), context.settings.help());
    return exitCodes.ok;
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
  return command.run({ ...world, config: loaded.config }, given);
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
