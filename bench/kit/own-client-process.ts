/** Our own load client in a process of its own, so that it does not share a thread with what it measures. */
import { type ClientPlan, runOwnClient } from './own-client.ts';

const plan = JSON.parse(process.argv[2]!) as ClientPlan;
process.stdout.write(JSON.stringify(await runOwnClient(plan)));
