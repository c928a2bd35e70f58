/** The headers by which Terse distinguishes visitors. */
export const browser = {
  'User-Agent':
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36',
  Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
} as const;

export const program = { 'User-Agent': 'curl/8.5.0', Accept: '*/*' } as const;
