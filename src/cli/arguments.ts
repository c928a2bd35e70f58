/**
 * Splits the arguments of a command into options and operands. `--name value` and `--name=value` mean the
 * same; after `--` everything is an operand.
 * Invariant: only options of the command's own table come out, each at most once.
 */
import { closestName } from '../base/did-you-mean.ts';
import { type Command, type Option, UsageError } from './command.ts';

export class Arguments {
  readonly operands: readonly string[];
  readonly #options: ReadonlyMap<string, string>;

  constructor(operands: readonly string[], options: ReadonlyMap<string, string>) {
    this.operands = operands;
    this.#options = options;
  }

  has(flag: Option['flag']): boolean {
    return this.#options.has(flag);
  }

  text(flag: Option['flag']): string | undefined {
    return this.#options.get(flag);
  }

  wholeNumber(flag: Option['flag']): number | undefined {
    const text = this.#options.get(flag);
    if (text === undefined) return undefined;
    if (!/^\d{1,15}$/.test(text)) throw new UsageError(`${flag} must be a whole number`);
    return Number(text);
  }

  oneOf<const Word extends string>(flag: Option['flag'], words: readonly Word[]): Word | undefined {
    const text = this.#options.get(flag);
    if (text === undefined) return undefined;
    const word = words.find(candidate => candidate === text);
    if (word === undefined) throw new UsageError(`${flag} must be one of ${words.join(', ')}`);
    return word;
  }
}

export function parseArguments(command: Command, argv: readonly string[]): Arguments {
  const operands: string[] = [];
  const options = new Map<string, string>();
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index]!;
    if (argument === '--') {
      operands.push(...argv.slice(index + 1));
      break;
    }
    // A lone dash is the customary name of the standard input.
    if (!argument.startsWith('-') || argument === '-') {
      operands.push(argument);
      continue;
    }
    const equals = argument.indexOf('=');
    const flag = equals === -1 ? argument : argument.slice(0, equals);
    const option = command.options.find(candidate => candidate.flag === flag);
    if (option === undefined) throw unknownOption(command, flag);
    if (options.has(flag)) throw new UsageError(`${flag} is given twice`);
    if (option.value === undefined) {
      if (equals !== -1) throw new UsageError(`${flag} takes no value`);
      options.set(flag, '');
      continue;
    }
    const value = equals === -1 ? argv[++index] : argument.slice(equals + 1);
    if (value === undefined || (equals === -1 && value.startsWith('--'))) {
      throw new UsageError(`${flag} needs a value: ${flag}=${option.value}`);
    }
    options.set(flag, value);
  }
  checkOperands(command, operands.length);
  return new Arguments(operands, options);
}

function checkOperands(command: Command, count: number): void {
  const { min, max } = command.operands;
  if (count >= min && count <= max) return;
  const problem = count < min ? 'something is missing' : 'there is too much';
  throw new UsageError(`${problem}; usage: terse ${command.name} ${command.usage}`.trimEnd());
}

function unknownOption(command: Command, flag: string): UsageError {
  const clientFlags = command.audiences.includes('client') ? ['--server', '--key'] : [];
  const known = [...command.options.map(option => option.flag), ...clientFlags, '--config', '--help'];
  const close = closestName(flag, known);
  const advice = close === undefined ? `\`terse help ${command.name}\` lists them` : `did you mean ${close}?`;
  return new UsageError(`${flag} is not an option of ${command.name}: ${advice}`);
}
