/**
 * A part of a buffer keeps all of it in memory. What is kept while a client takes its time is therefore copied out
 * once it is the smaller part; as that halves the buffer each time, all copies together cost less than two.
 */
export function compact(bytes: Buffer): Buffer {
  return bytes.length * 2 < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes;
}
