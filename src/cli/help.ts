/** The help texts, made from the command table and the settings table so that they cannot drift. */
import type { SettingHelp } from '../app/config-report.ts';
import type { Command, Output } from './command.ts';
import { paint, printLine } from './output.ts';

export function printOverview(output: Output, commands: readonly Command[]): void {
  const width = Math.max(...commands.map(command => command.name.length));
  printLine(output, 'Terse makes long URLs short.\n');
  printLine(output, `${paint(output, 'bold', 'Usage:')} terse COMMAND [options]\n`);
  for (const { name, summary } of commands) printLine(output, `  ${name.padEnd(width)}  ${summary}`);
  printLine(output, '\n`terse help COMMAND` tells more about one of them.');
}

export function printCommandHelp(output: Output, command: Command, settings: readonly SettingHelp[]): void {
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
  printLine(output, `\n${paint(output, 'bold', 'Settings')}, as a flag, a variable or a line of the file`);
  for (const { flag, env, doc, values, default: initial } of accepted) {
    printLine(output, `  ${flag}, ${env}`);
    printLine(output, `      ${doc} Values: ${values}. Default: ${initial}.`);
  }
}
