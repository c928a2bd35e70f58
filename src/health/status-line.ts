/**
 * The status out of the first bytes of an answer, which is all that a check wants to know. What comes before the final
 * answer (100 Continue, 103 Early Hints) is passed over.
 */
export type Reading =
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'more' }
  | { readonly kind: 'nonsense' };

const statusLine = /^HTTP\/1\.[01] ([1-5]\d\d)(?: [^\r\n]*)?\r?\n/;
/** A status line that is this long is none. */
const lineCharactersMax = 8_192;

/** Looks at all that has come so far, one character per byte. */
export function readStatus(text: string): Reading {
  const line = statusLine.exec(text);
  if (line === null) {
    const couldBe = 'HTTP/1.'.startsWith(text.slice(0, 7)) && !text.includes('\n');
    return { kind: couldBe && text.length < lineCharactersMax ? 'more' : 'nonsense' };
  }
  const status = Number(line[1]);
  if (status >= 200) return { kind: 'status', status };
  // Another protocol takes over after this one.
  if (status === 101) return { kind: 'nonsense' };
  const end = /\r?\n\r?\n/.exec(text);
  return end === null ? { kind: 'more' } : readStatus(text.slice(end.index + end[0].length));
}
