/** What an operator reads when the server is ready. */
export function welcome(baseUrl: string, adminKey: string | undefined): string {
  const lines = ['', `  Terse is ready at ${baseUrl}`, `  API reference at  ${baseUrl}/docs`, ''];
  return `${[...lines, ...keyLines(adminKey)].join('\n')}\n`;
}

/** The first key alone, from a worker: its supervisor says the rest. */
export function keyNotice(adminKey: string): string {
  return `${['', ...keyLines(adminKey)].join('\n')}\n`;
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
