import { describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { createLog, type LogLevel } from '../ops/log.ts';
import { switchLog } from './log-switch.ts';

function logAt(level: LogLevel) {
  let written = '';
  const log = createLog({ level, clock: new ManualClock(), write: text => (written += text) });
  const lines = (): { event: string; level: string }[] => {
    log.flush();
    return written
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line));
  };
  return { log, lines };
}

describe('the switch of the log', () => {
  test.each(['info', 'warn', 'error', 'silent'] as const)('goes from %s to everything and back', usual => {
    const { log } = logAt(usual);
    expect(switchLog(log, usual)).toBe('debug');
    expect(log.level).toBe('debug');
    expect(switchLog(log, usual)).toBe(usual);
    expect(log.level).toBe(usual);
  });

  test('makes a log that tells everything tell less', () => {
    const { log } = logAt('debug');
    expect(switchLog(log, 'debug')).toBe('info');
    expect(switchLog(log, 'debug')).toBe('debug');
  });

  test('tells of both changes, also where nothing else is told', () => {
    const { log, lines } = logAt('silent');
    switchLog(log, 'silent');
    switchLog(log, 'silent');
    expect(lines()).toHaveLength(2);
  });
});
