/**
 * Finding out who is signed in when a page begins. Only the server's refusal says that nobody is: a page that is being
 * left while the answer comes in, or a server in trouble, says nothing about it, and must not sign anybody out.
 */
import { browserClock } from '../../../base/browser-clock.ts';
import { ApiProblem } from './api/problem.ts';
import { readAccount } from './api/session.ts';
import { mayBeSignedIn, noteSignedIn, noteSignedOut } from './state/session.ts';

const pausesMs = [500, 1_000, 2_000, 4_000, 10_000];
const refusals = [401, 403];

export async function arrive(): Promise<void> {
  if (!mayBeSignedIn()) return noteSignedOut();
  for (let failures = 0; ; failures += 1) {
    try {
      return noteSignedIn(await readAccount());
    } catch (error) {
      if (error instanceof ApiProblem && refusals.includes(error.status)) return noteSignedOut();
    }
    const pauseMs = pausesMs[Math.min(failures, pausesMs.length - 1)]!;
    await new Promise<void>(resolve => browserClock.after(pauseMs, resolve));
  }
}
