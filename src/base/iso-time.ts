/**
 * Times as people write them in ISO 8601: a date alone, which is its midnight in UTC, or a date with a time to the minute,
 * the second or a fraction of it, with `Z` or an offset. A time without a zone is rejected: it would mean another time
 * for every reader.
 */
export const isoTimeLengthMax = 40;

const shape =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?))?$/;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Milliseconds since the epoch, or undefined for text that is no time or does not exist, such as 30 February. */
export function parseIsoTime(text: string): number | undefined {
  const found = text.length <= isoTimeLengthMax ? shape.exec(text) : null;
  if (found === null) return undefined;
  const numberAt = (group: number): number => Number(found[group] ?? 0);
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map(numberAt) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const fractionMs = Math.floor(Number(`0.${found[7] ?? '0'}`) * 1_000);
  const [offsetHours, offsetMinutes] = [numberAt(9), numberAt(10)];
  if (minute > 59 || second > 59 || offsetHours > 23 || offsetMinutes > 59) return undefined;
  // The midnight that ends a day may be written as hour 24.
  if (hour > 24 || (hour === 24 && minute + second + fractionMs > 0)) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const offsetMs = (offsetHours * hourMs + offsetMinutes * minuteMs) * (found[8] === '-' ? -1 : 1);
  return date.getTime() + hour * hourMs + minute * minuteMs + second * 1_000 + fractionMs - offsetMs;
}
