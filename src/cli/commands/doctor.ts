/** Looking at everything that the settings name, before somebody finds out otherwise. */
import type { Finding } from '../../base/finding.ts';
import { type Command, exitCodes, jsonOption } from '../command.ts';
import { type Colour, harmless, paint, printJson, printLine } from '../output.ts';

const colours: Readonly<Record<Finding['verdict'], Colour>> = { ok: 'green', warn: 'yellow', fail: 'red' };

export const doctor: Command = {
  name: 'doctor',
  summary: 'Check every engine and folder that the settings name, and say what to fix',
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
