import { describe, expect, test } from 'bun:test';
import { assets, assetUrl } from './assets.ts';

const stylesheet = assets.get('/assets/terse.css')?.body ?? '';

/** The colour tokens of the first block after `start`. */
function tokensAfter(start: string): Map<string, string> {
  const from = stylesheet.indexOf(start);
  const block = stylesheet.slice(from, stylesheet.indexOf('}', from));
  return new Map([...block.matchAll(/--([a-z-]+): (#[0-9a-f]{6});/g)].map(([, name, hex]) => [name!, hex!]));
}

/** Relative luminance and contrast as WCAG 2 defines them. */
function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map(start => {
    const share = Number.parseInt(hex.slice(start, start + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light! + 0.05) / (dark! + 0.05);
}

const schemes = { light: tokensAfter(':root'), dark: tokensAfter('(prefers-color-scheme: dark)') };
const textPairs = [
  ['ink', 'paper'],
  ['ink', 'surface'],
  ['ink', 'wash'],
  ['ink-soft', 'paper'],
  ['ink-soft', 'surface'],
  ['pencil', 'paper'],
  ['pencil', 'surface'],
  ['pencil-deep', 'paper'],
  ['on-pencil', 'pencil'],
  ['on-pencil', 'pencil-deep'],
  ['alarm', 'paper'],
  ['alarm', 'alarm-wash'],
] as const;

describe('stylesheet', () => {
  test.each(Object.entries(schemes))('keeps text readable in the %s scheme (AA, 4.5 to 1)', (_, tokens) => {
    for (const [text, ground] of textPairs) {
      const ratio = contrast(tokens.get(text) ?? '', tokens.get(ground) ?? '');
      expect({ text, ground, readable: ratio >= 4.5 }).toEqual({ text, ground, readable: true });
    }
  });

  test.each(Object.entries(schemes))('keeps field borders visible in the %s scheme (3 to 1)', (_, tokens) => {
    for (const ground of ['paper', 'surface']) {
      expect(contrast(tokens.get('edge') ?? '', tokens.get(ground) ?? '')).toBeGreaterThanOrEqual(3);
    }
  });

  test('moves only for visitors who did not ask for less motion', () => {
    const still = stylesheet.replace(/@media \(prefers-reduced-motion: no-preference\) \{[\s\S]*?\n\}/g, '');
    expect(stylesheet).toMatch(/animation:/);
    expect(still).not.toMatch(/(animation|transition):/);
  });

  test('loads nothing', () => {
    expect(stylesheet).not.toMatch(/url\(|@import/);
  });
});

describe('assets', () => {
  test('are text with a content type and a quoted validator', () => {
    for (const [path, asset] of assets) {
      expect(path).toStartWith('/');
      expect(asset.body.length).toBeGreaterThan(100);
      expect(asset.contentType).toMatch(/^(text\/css|text\/javascript|image\/svg\+xml); charset=utf-8$/);
      expect(asset.etag).toMatch(/^"[0-9a-f]{32}"$/);
    }
  });

  test('have a validator and an address that depend on their content', () => {
    const css = assets.get('/assets/terse.css');
    expect(css?.etag).not.toBe(assets.get('/assets/landing.js')?.etag);
    expect(assets.get('/favicon.ico')?.etag).toBe(assets.get('/assets/favicon.svg')!.etag);
    expect(assetUrl('/assets/terse.css')).toBe(`/assets/terse.css?v=${css?.etag.slice(1, 13)}`);
  });

  test('that do not exist cannot be named', () => {
    expect(() => assetUrl('/assets/other.css')).toThrow('no asset');
  });

  test('include a script that is a valid module and never writes markup', () => {
    const script = assets.get('/assets/landing.js')?.body ?? '';
    expect(new Bun.Transpiler({ loader: 'js' }).scan(script).imports).toEqual([]);
    expect(script).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/);
    expect(script).not.toMatch(/localStorage|sessionStorage|document\.cookie/);
  });
});
