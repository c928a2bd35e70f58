import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { CheckerPanel, type CheckResult, checkLimitMs, type UrlChecker } from './checker-panel.ts';

const url = 'https://example.com/';
const never = new Promise<CheckResult>(() => undefined);

let clock: ManualClock;
let asked: string[];
beforeEach(() => {
  clock = new ManualClock();
  asked = [];
});

function checker(name: string, check: () => Promise<CheckResult>): UrlChecker {
  return {
    name,
    check(checked) {
      asked.push(`${name} ${checked}`);
      return check();
    },
  };
}

const panelOf = (...checkers: UrlChecker[]): CheckerPanel => new CheckerPanel(checkers, clock);
const failuresOf = (panel: CheckerPanel) =>
  panel.failureSamples().map(({ labels, value }) => [labels?.checker, labels?.reason, value]);

async function askSlowly(panel: CheckerPanel) {
  const answer = panel.ask(url);
  await yieldToEventLoop();
  clock.advance(checkLimitMs);
  return answer;
}

describe('a panel of checkers', () => {
  test('asks all of them, and believes the first that knows the URL', async () => {
    const panel = panelOf(
      checker('one', async () => ({ listed: false })),
      checker('two', async () => ({ listed: true, threat: 'malware' })),
      checker('three', async () => ({ listed: true })),
    );
    expect(await panel.ask(url)).toEqual({ checker: 'two', threat: 'malware' });
    expect(asked).toEqual([`one ${url}`, `two ${url}`, `three ${url}`]);
  });

  test('has no result when none of them has', async () => {
    expect(await panelOf(checker('one', async () => ({ listed: false }))).ask(url)).toBeUndefined();
    expect(panelOf().isEmpty).toBe(true);
  });

  test('treats any failure as no result, and counts it', async () => {
    const panel = panelOf(
      checker('rejects', () => Promise.reject(new Error('down'))),
      checker('throws', () => {
        throw new Error('broken');
      }),
      checker('knows', async () => ({ listed: true })),
    );
    expect(await panel.ask(url)).toMatchObject({ checker: 'knows' });
    expect(failuresOf(panel).sort()).toEqual([
      ['rejects', 'failed', 1],
      ['throws', 'failed', 1],
    ]);
  });

  test('waits for a slow one no longer than its timeout', async () => {
    const panel = panelOf(checker('slow', () => never));
    expect(await askSlowly(panel)).toBeUndefined();
    expect(failuresOf(panel)).toEqual([['slow', 'slow', 1]]);
  });

  test('pauses one that keeps failing, and then retries', async () => {
    let works = false;
    const panel = panelOf(
      checker('moody', () => (works ? Promise.resolve({ listed: true }) : Promise.reject())),
    );
    for (let time = 0; time < 8; time += 1) await panel.ask(url);
    expect(asked).toHaveLength(5);
    expect(failuresOf(panel)).toEqual([
      ['moody', 'failed', 5],
      ['moody', 'resting', 3],
    ]);
    works = true;
    clock.advance(10_000);
    expect(await panel.ask(url)).toMatchObject({ checker: 'moody' });
  });

  test('ignores failures that are not in a row', async () => {
    let turn = 0;
    const panel = panelOf(
      checker('half', () => (turn++ % 2 === 0 ? Promise.reject() : Promise.resolve({ listed: false }))),
    );
    for (let time = 0; time < 20; time += 1) await panel.ask(url);
    expect(asked).toHaveLength(20);
  });
});
