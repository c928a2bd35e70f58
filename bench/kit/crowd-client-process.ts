/** A crowd in a process of its own, because the connections of one process are limited. */
import { type CrowdPlan, runCrowd } from './crowd-client.ts';

const plan = JSON.parse(await Bun.file(process.argv[2]!).text()) as CrowdPlan;
await runCrowd(plan, what => process.stdout.write(`${JSON.stringify(what)}\n`), Bun.stdin.text());
process.exit(0);
