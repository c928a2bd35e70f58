/** One line of figures at the end of a heavy test, on stderr, where it does not mix with results that are parsed. */
export function report(line: string): void {
  process.stderr.write(`  ${line}\n`);
}

/** Such as “40000 in 3.4 s (11764/s)”. */
export function rateOf(count: number, elapsedMs: number): string {
  const seconds = elapsedMs / 1_000;
  return `${count} in ${seconds.toFixed(1)} s (${Math.round(count / seconds)}/s)`;
}
