/** Browser tests share one Chromium per file; without one they are skipped, and the name says why. */
import { afterAll, beforeAll, describe, setDefaultTimeout } from 'bun:test';
import type { Browser } from 'playwright-core';
import { findChromium, launchChromium } from './chromium.ts';

export async function describeInBrowser(
  name: string,
  define: (browser: () => Browser) => void,
): Promise<void> {
  const { path, reason } = await findChromium();
  if (path === undefined) {
    describe.skip(`${name} (${reason})`, () => define(noBrowser));
    return;
  }
  setDefaultTimeout(120_000);
  describe(name, () => {
    let browser: Browser | undefined;
    beforeAll(async () => {
      browser = await launchChromium(path);
    });
    afterAll(async () => {
      await browser?.close();
    });
    define(() => browser!);
  });
}

function noBrowser(): Browser {
  throw new Error('there is no browser');
}
