import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type AgentTraits, deviceKinds } from '../click.ts';
import { createAgentDescriber, describeAgent } from './agent.ts';
import { agentSamples } from './agent-samples.ts';
import { agentLengthMax } from './visit.ts';

describe('a user agent becomes what the table says', () => {
  test.each(agentSamples.map(sample => [sample.what, sample] as const))('%s', (_what, sample) => {
    const { userAgent, browser, os, device, kind } = sample;
    expect(describeAgent(userAgent)).toEqual({ userAgent, browser, os, device, kind });
  });
});

describe('the table', () => {
  test('has more than 150 different strings, of every kind and device', () => {
    expect(new Set(agentSamples.map(sample => sample.userAgent)).size).toBe(agentSamples.length);
    expect(agentSamples.length).toBeGreaterThan(150);
    expect(new Set(agentSamples.map(sample => sample.kind))).toEqual(new Set(['human', 'bot', 'preview']));
    expect(new Set(agentSamples.map(sample => sample.device))).toEqual(new Set(deviceKinds));
  });
});

const knownBrowsers = new Set(agentSamples.map(sample => sample.browser));
const words = agentSamples.flatMap(sample => sample.userAgent.split(/(?<=[ ;()/])/));
const patchwork = fc
  .array(fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 8 })), { maxLength: 120 })
  .map(parts => parts.join(''));

function expectSound(traits: AgentTraits): void {
  expect(traits.userAgent.length).toBeLessThanOrEqual(agentLengthMax);
  expect(deviceKinds).toContain(traits.device);
  expect(traits.kind === 'human').toBe(traits.device !== 'bot');
  expect(traits.browser.length).toBeLessThan(32);
  expect(traits.os.length).toBeLessThan(32);
}

describe('whatever is sent', () => {
  test('is described without an error and within bounds', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary', maxLength: 700 }), patchwork), text =>
        expectSound(describeAgent(text)),
      ),
      { numRuns: 2_000 },
    );
  });

  test.each(['1', 'a', ' ', '/', '1.', 'Version/1', 'Mac OS X 1_', 'Mozilla/5.0 (', 'opt/1', '\u0000', '👋'])(
    'is cut before it is read: %j, 64 KB of it',
    part => {
      const text = `Mozilla/5.0 (Macintosh; ${part.repeat(65_536 / part.length)}`;
      expectSound(describeAgent(text));
      expect(describeAgent(text)).toEqual(describeAgent(text.slice(0, agentLengthMax)));
    },
  );

  test('cannot add a name to our tables', () => {
    for (const name of ['Invented', 'constructor', '__proto__', '<b>']) {
      const { browser, kind } = describeAgent(`Mozilla/5.0 (X11; Linux x86_64) ${name}/1.0 x`);
      if (kind === 'human') expect(knownBrowsers).toContain(browser);
      expect(browser).toBe('');
    }
  });
});

describe('a describer', () => {
  test('gives the same object for the same string', () => {
    const describeOnce = createAgentDescriber({ entriesMax: 10 });
    const { userAgent } = agentSamples[0]!;
    expect(describeOnce(userAgent)).toBe(describeOnce(userAgent));
    expect(describeOnce(userAgent)).toEqual(describeAgent(userAgent));
  });

  test('remembers a long string by its beginning', () => {
    const describeOnce = createAgentDescriber({ entriesMax: 10 });
    const beginning = 'Mozilla/5.0 (X11; Linux x86_64) '.padEnd(agentLengthMax, 'x');
    expect(describeOnce(`${beginning}a`)).toBe(describeOnce(`${beginning}b`));
  });
});
