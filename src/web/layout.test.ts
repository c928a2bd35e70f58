import { describe, expect, test } from 'bun:test';
import { pageHeaders, statusPageHeaders } from './layout.ts';

describe('page headers', () => {
  test('allow scripts, styles and requests of this server only, and no framing', () => {
    const policy = pageHeaders['Content-Security-Policy']?.split('; ') ?? [];
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("style-src 'self'");
    expect(policy).toContain("connect-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("base-uri 'none'");
    expect(policy.join()).not.toMatch(/unsafe|\*|https?:/);
  });

  test('send no referrer', () => {
    expect(pageHeaders['Referrer-Policy']).toBe('no-referrer');
  });

  test('keep a page about the state of a link out of every cache', () => {
    expect(statusPageHeaders['Cache-Control']).toBe('no-store');
    expect(statusPageHeaders['Content-Security-Policy']).toBe(pageHeaders['Content-Security-Policy']!);
  });
});
