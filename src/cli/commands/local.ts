/** The commands about the installation itself: settings, engines, version. */
import type { Finding } from '../../base/finding.ts';
import { type Command, exitCodes, jsonOption } from '../command.ts';
import { type Colour, harmless, paint, printJson, printLine, printTable } from '../output.ts';

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

const colours: Readonly<Record<Finding['verdict'], Colour>> = { ok: 'green', warn: 'yellow', fail: 'red' };

export const doctor: Command = {
  name: 'doctor',
  summary: 'Check every configured engine and folder, and say what to fix',
  usage: '[settings] [options]',
  options: [jsonOption],
  operands: { min: 0, max: 0 },
  audiences: ['server'],
  async run({ stdout, config, local }, given) {
    const findings = await local.examine(config);
    const count = (verdict: Finding['verdict']): number =>
      findings.filter(finding => finding.verdict === verdict).length;
    if (given.has('--json')) {
      printJson(stdout, { findings, ok: count('ok'), warn: count('warn'), fail: count('fail') });
    } else {
      for (const { subject, check, verdict, detail, fix } of findings) {
        const mark = paint(stdout, colours[verdict], verdict.padEnd(4));
        printLine(stdout, `${mark}  ${harmless(subject)}: ${harmless(check)}: ${harmless(detail)}`);
        if (fix !== undefined) printLine(stdout, `      → ${harmless(fix)}`);
      }
      printLine(stdout, `${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} to fix`);
    }
    return count('fail') > 0 ? exitCodes.refused : exitCodes.ok;
  },
};

/** Creates what the engines lack, with permissions that the server itself need not have. */
export const setup: Command = {
  name: 'setup',
  summary: 'Create missing tables, indexes and topics',
  usage: '[settings]',
  options: [],
  operands: { min: 0, max: 0 },
  audiences: ['server'],
  async run({ stdout, config, local }) {
    let hasFailed = false;
    for await (const report of local.setUp(config)) {
      const { store, done, found = [], differences = [], failures = [] } = report;
      for (const line of [...done, ...found, ...differences, ...failures]) printLine(stdout, harmless(line));
      if (report.isIncomplete) continue;
      let state = differences.length === 0 ? 'has all that it needs' : 'is not as the settings say';
      if (failures.length > 0) {
        state = 'must be corrected before Terse can use it';
        hasFailed = true;
      }
      printLine(stdout, `${harmless(store)} ${state}`);
    }
    return hasFailed ? exitCodes.refused : exitCodes.ok;
  },
};
