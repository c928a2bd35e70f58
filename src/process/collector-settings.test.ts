import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { startTerseProcess } from '../../test/kit/terse-process.ts';
import { supervisedVariable } from '../config/sources.ts';
import { collectorSettings, environmentToBeginWith } from './collector-settings.ts';

/** With which environment a process began, where the system shows that. */
const environmentOf = (pid: number): string[] => readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
const [growth, ratio] = Object.entries(collectorSettings).map(each => each.join('='));

test.skipIf(process.platform !== 'linux')(
  'a server begins with the settings of the collector, also where it is started without them',
  async () => {
    // That it answers under this process id is what the kit waits for.
    const terse = await startTerseProcess();
    try {
      expect(environmentOf(terse.pid)).toEqual(expect.arrayContaining([growth, ratio]));
    } finally {
      expect(await terse.stop()).toBe(0);
    }
  },
);

test('what the operator has set is kept', () => {
  const own = { BUN_JSC_heapGrowthMaxIncrease: '2', PATH: '/bin' };
  expect(environmentToBeginWith(own)).toEqual({ ...collectorSettings, ...own });
});

test('a process that has its settings does not begin again', () => {
  expect(environmentToBeginWith({ ...collectorSettings })).toBeUndefined();
});

test('a worker never begins again: it would lose its sockets', () => {
  expect(environmentToBeginWith({ [supervisedVariable]: '0/1' })).toBeUndefined();
});
