/** Text in parts that a pipe takes as a whole, whoever else writes to it: POSIX promises it up to this size. */
const atomicBytesMax = 4_096;

/** As many whole lines at a time as fit; a line that is longer goes alone. */
export function wholeLines(text: string, bytesMax = atomicBytesMax): string[] {
  const parts: string[] = [];
  let part = '';
  let partBytes = 0;
  for (const line of text.split(/(?<=\n)/)) {
    const bytes = Buffer.byteLength(line);
    if (partBytes + bytes > bytesMax && part !== '') {
      parts.push(part);
      part = '';
      partBytes = 0;
    }
    part += line;
    partBytes += bytes;
  }
  return part === '' ? parts : [...parts, part];
}
