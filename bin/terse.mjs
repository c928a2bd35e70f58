#!/usr/bin/env node
/**
 * Starts Terse from plain Node: finds the Bun that npm installed with the package and hands everything over
 * to it: arguments, standard streams, signals, and back the exit code.
 */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';

const bun = findBun();
const entry = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const child = spawn(bun, [entry, ...process.argv.slice(2)], { stdio: 'inherit' });

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
  process.on(signal, () => {
    // A terminal sends this one to both processes itself; sending it on would deliver it twice.
    if (!(isatty(0) && signal === 'SIGINT')) child.kill(signal);
  });
}

child.on('error', error => fail(`Bun could not be started: ${error.message}`));
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  // Ending by the same signal tells the caller the truth about how the server ended.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});

function findBun() {
  try {
    // The package calls its program so on every platform.
    return createRequire(import.meta.url).resolve('bun/bin/bun.exe');
  } catch {
    return fail('Bun is not installed: run `npm ci` in the folder of Terse');
  }
}

function fail(message) {
  process.stderr.write(`terse: ${message}\n`);
  process.exit(1);
}
