/**
 * A load client in a process of its own, so that it does not share a thread with what it measures. It says a line of
 * JSON for each stretch of time, and one for all of it at the end.
 */
import { writeSync } from 'node:fs';
import type { ClientPlan } from './client-plan.ts';
import { compileClient, runCompiledClient } from './compiled-client.ts';
import { runOwnClient } from './own-client.ts';
import type { Moment } from './visit-record.ts';

const plan = JSON.parse(process.argv[2]!) as ClientPlan;
const say = (line: object): number => writeSync(process.stdout.fd, `${JSON.stringify(line)}\n`);
const onMoment = (moment: Moment): unknown => say({ moment });
const { perSecond } = plan;
const load = plan.mayBeCompiled && perSecond !== null ? compileClient() : undefined;
const report =
  load === undefined || perSecond === null
    ? await runOwnClient(plan, onMoment)
    : await runCompiledClient(load, { ...plan, perSecond }, onMoment);
say({ report });
