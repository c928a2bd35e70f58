/**
 * The load client in a separate process, so that it does not share a thread with what it measures. It prints a line
 * of JSON for each interval, and one for all of it at the end.
 */
import { writeSync } from 'node:fs';
import type { ClientPlan } from './client-plan.ts';
import { compileClient, runCompiledClient } from './compiled-client.ts';

const plan = JSON.parse(process.argv[2]!) as ClientPlan;
const print = (line: object): number => writeSync(process.stdout.fd, `${JSON.stringify(line)}\n`);
const report = await runCompiledClient(compileClient(), plan, moment => print({ moment }));
print({ report });
