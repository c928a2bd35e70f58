/** `terse serve`: start, say where to click, and stop well when told to; alone, or as one worker of several. */
import { systemClock } from '../base/clock.ts';
import { createLog, describeFailure, type Log } from '../ops/log.ts';
import { startTerse, type Terse } from './compose.ts';
import type { Config } from './config.ts';
import { onStopSignals } from './stop-signals.ts';
import { beatMs, type SupervisorMessage, type WorkerMessage, type WorkerPlace } from './supervision.ts';
import { keyNotice, welcome } from './welcome.ts';

export async function serve(config: Config, place: WorkerPlace | undefined): Promise<void> {
  const log = createLog({
    level: config.logLevel,
    clock: systemClock,
    write: text => process.stderr.write(text),
  });
  const terse = await startTerse(config, log, { place });
  onStopSignals(log, () => terse.stop()).then(() => process.exit(0));
  if (place !== undefined) obeySupervisor(terse, log);
  // Last, because whoever reads that the server is ready may tell it to stop.
  const { baseUrl, newAdminKey } = terse;
  if (place === undefined) await show(welcome(baseUrl, newAdminKey?.secret), newAdminKey, log);
  else if (newAdminKey !== undefined) await show(keyNotice(newAdminKey.secret), newAdminKey, log);
  if (place !== undefined) tellSupervisor({ kind: 'ready' });
}

function obeySupervisor(terse: Terse, log: Log): void {
  const leave = (stopping: Promise<void>): void => {
    stopping.then(
      () => process.exit(0),
      error => {
        log.error('the worker did not stop well', { failure: describeFailure(error) });
        log.flush();
        process.exit(1);
      },
    );
  };
  process.on('message', (message: SupervisorMessage) => {
    if (message.kind === 'retire') leave(terse.retire());
  });
  // Nobody would replace it, and nobody could stop it: a worker does not outlive its supervisor.
  process.on('disconnect', () => leave(terse.stop()));
  systemClock.every(beatMs, () => tellSupervisor({ kind: 'beat' }));
}

const tellSupervisor = (message: WorkerMessage): void => {
  if (process.connected) process.send?.(message);
};

/** Without a note that it was shown, the next start makes another key: one that nobody saw is not the end. */
async function show(text: string, key: Terse['newAdminKey'], log: Log): Promise<void> {
  if (!(await print(text))) return;
  await key
    ?.noteShown()
    .catch(error => log.error('the printed key was not noted', { failure: describeFailure(error) }));
}

/** Whether the text left this process. */
function print(text: string): Promise<boolean> {
  return new Promise(resolve => {
    process.stdout.write(text, error => resolve(error === undefined || error === null));
  });
}
