/** What an operator reads when the server is ready. */
import type { NewAdminKey } from '../accounts/api-key.ts';
import { describeFailure, type Log } from '../ops/log.ts';

export function welcome(baseUrl: string, adminKey: string | undefined): string {
  const lines = [
    '',
    `  Terse is ready at ${baseUrl}`,
    `  Dashboard at      ${baseUrl}/dashboard`,
    `  API reference at  ${baseUrl}/docs`,
    '',
  ];
  return `${[...lines, ...keyLines(adminKey)].join('\n')}\n`;
}

/** The first key alone, from a worker: its supervisor says the rest. */
export function keyNotice(adminKey: string): string {
  return `${['', ...keyLines(adminKey)].join('\n')}\n`;
}

/** Without a note that it was shown, the next start makes another key: one that nobody saw is not the end. */
export async function show(text: string, key: NewAdminKey | undefined, log: Log): Promise<void> {
  if (!(await print(text))) return;
  await key
    ?.noteShown()
    .catch(error => log.error('the printed key was not noted', { failure: describeFailure(error) }));
}

/** Whether the text left this process. */
function print(text: string): Promise<boolean> {
  return new Promise(resolve => {
    process.stdout.write(text, error => resolve(error === undefined || error === null));
  });
}

function keyLines(adminKey: string | undefined): string[] {
  if (adminKey === undefined) return [];
  return [
    '  Your admin key, shown this once:',
    '',
    `    ${adminKey}`,
    '',
    `  Try: TERSE_KEY=${adminKey} npx terse shorten https://example.com/`,
    '',
  ];
}
