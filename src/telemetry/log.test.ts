import { describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { createLog, describeFailure, type LogLevel, switchLog } from './log.ts';

function logAt(level: LogLevel) {
  const clock = new ManualClock();
  const writes: string[] = [];
  return { clock, writes, log: createLog({ level, clock, write: text => writes.push(text) }) };
}

describe('log', () => {
  test('a line is one JSON object with its time, level, event and fields, whatever is in them', () => {
    const { log, writes } = logAt('info');
    log.info('request', { path: 'a\n"b"', status: 200 });
    log.flush();
    expect(writes.join('').split('\n')).toHaveLength(2);
    expect(JSON.parse(writes[0]!)).toEqual({
      at: '2026-01-01T00:00:00.000Z',
      level: 'info',
      event: 'request',
      path: 'a\n"b"',
      status: 200,
    });
  });

  test('what is to be said in every line is', () => {
    const writes: string[] = [];
    const write = (text: string) => writes.push(text);
    const log = createLog({ level: 'info', clock: new ManualClock(), write, fields: { worker: 2 } });
    log.error('a', { path: 'b' });
    expect(JSON.parse(writes[0]!)).toMatchObject({ event: 'a', worker: 2, path: 'b' });
  });

  test('lines below the level are not written', () => {
    const { log, writes } = logAt('warn');
    log.debug('a');
    log.info('b');
    log.warn('c');
    log.error('d');
    log.flush();
    expect(writes.join('').match(/"event":"."/g)).toEqual(['"event":"c"', '"event":"d"']);
  });

  test('the level can be changed while it is in use', () => {
    const { log, writes } = logAt('warn');
    log.info('a');
    log.setLevel('debug');
    log.debug('b');
    log.setLevel('warn');
    log.debug('c');
    log.flush();
    expect(log.level).toBe('warn');
    expect(writes.join('').match(/"event":"."/g)).toEqual(['"event":"b"']);
  });

  test('what is written is counted by level, and what is not is not', () => {
    const { log } = logAt('info');
    log.debug('a');
    log.info('b');
    log.info('c');
    log.error('d');
    expect(log.lines.samples('level')).toEqual([
      { labels: { level: 'info' }, value: 2 },
      { labels: { level: 'error' }, value: 1 },
    ]);
  });

  test('lines are gathered for a moment and written together; an error goes out at once', () => {
    const { log, writes, clock } = logAt('info');
    log.info('a');
    log.info('b');
    expect(writes).toEqual([]);
    clock.advance(50);
    expect(writes).toHaveLength(1);
    log.info('c');
    log.error('d');
    expect(writes).toHaveLength(2);
  });

  test('a failure is described with its causes, to a depth', () => {
    const error = new Error('outer', { cause: new Error('inner', { cause: 'text' }) });
    expect(describeFailure(error)).toMatchObject({
      message: 'outer',
      cause: { message: 'inner', cause: { message: 'text' } },
    });
    const endless = new Error('loop');
    endless.cause = endless;
    expect(JSON.stringify(describeFailure(endless)).split('loop').length).toBeLessThan(20);
  });
});

describe('log switch', () => {
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

    test('makes a log at the lowest level less verbose', () => {
      const { log } = logAt('debug');
      expect(switchLog(log, 'debug')).toBe('info');
      expect(switchLog(log, 'debug')).toBe('debug');
    });

    test('logs both changes, even where nothing else is logged', () => {
      const { log, lines } = logAt('silent');
      switchLog(log, 'silent');
      switchLog(log, 'silent');
      expect(lines()).toHaveLength(2);
    });
  });
});
