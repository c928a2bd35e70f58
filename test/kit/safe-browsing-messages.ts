/** What a Safe Browsing server writes and reads on the wire, in version 5 and version 4. */
import { bytesOf, fieldsOf, MessageWriter, numberOf } from '../../src/abuse/safe-browsing/protobuf.ts';
import type { RiceDeltas } from '../../src/abuse/safe-browsing/rice.ts';
import { encodeRice, fittingParameter } from './rice-encoder.ts';

/** What one list must become, for a client that has some version of it or none. */
export interface ListAnswer {
  readonly name: string;
  readonly isPartial: boolean;
  readonly removals: readonly number[];
  /** Hash prefixes of four bytes or more. */
  readonly additions: readonly Buffer[];
  readonly version: Uint8Array;
  readonly checksum: Uint8Array;
  readonly isUnchanged: boolean;
}

export interface Match {
  readonly hash: Uint8Array;
  readonly threat: number;
  readonly attributes: readonly number[];
}

/** A list's name in version 4, and what it is in numbers. */
export const v4Lists: Readonly<Record<string, readonly [threat: number, platform: number]>> = {
  social_engineering: [2, 6],
  malware: [1, 6],
  unwanted_software: [3, 6],
  potentially_harmful_application: [4, 3],
};

const writeDuration = (seconds: number) => (writer: MessageWriter) =>
  void writer.number(1, Math.floor(seconds)).number(2, Math.round((seconds % 1) * 1e9));

const writeRice =
  ({ firstValue, riceParameter, entriesCount, encodedData }: RiceDeltas) =>
  (writer: MessageWriter) =>
    void writer.number(1, firstValue).number(2, riceParameter).number(3, entriesCount).bytes(4, encodedData);

const riceOf = (ascending: readonly number[]): RiceDeltas =>
  encodeRice(ascending, fittingParameter(ascending, 3, 28));

export function hashListsV5(answers: readonly ListAnswer[], waitS: number | undefined): Uint8Array {
  const message = new MessageWriter();
  for (const { name, isPartial, removals, additions, version, checksum, isUnchanged } of answers) {
    message.message(1, list => {
      list
        .text(1, name)
        .bytes(2, version)
        .number(3, isPartial ? 1 : 0);
      if (additions.length > 0)
        list.message(4, writeRice(riceOf(additions.map(bytes => bytes.readUInt32BE()))));
      if (removals.length > 0) list.message(5, writeRice(riceOf(removals)));
      if (waitS !== undefined) list.message(6, writeDuration(waitS));
      // Nothing new has no checksum of its own.
      if (!isUnchanged) list.bytes(7, checksum);
      list.message(8, metadata => metadata.number(1, 1).text(4, 'a list').number(6, 2));
    });
  }
  return message.finish();
}

export function listUpdatesV4(
  answers: readonly ListAnswer[],
  waitS: number | undefined,
  raw: boolean,
): Uint8Array {
  const message = new MessageWriter();
  for (const { name, isPartial, removals, additions, version, checksum } of answers) {
    const [threat, platform] = v4Lists[name]!;
    message.message(1, list => {
      list
        .number(1, threat)
        .number(2, 1)
        .number(3, platform)
        .number(4, isPartial ? 1 : 2);
      for (const [size, prefixes] of Map.groupBy(additions, prefix => prefix.length)) {
        if (size > 4 || raw) {
          const bytes = Buffer.concat(prefixes);
          list.message(5, set =>
            set.number(1, 1).message(2, hashes => hashes.number(1, size).bytes(2, bytes)),
          );
        } else {
          const numbers = prefixes.map(prefix => prefix.readUInt32LE()).sort((left, right) => left - right);
          list.message(5, set => set.number(1, 2).message(4, writeRice(riceOf(numbers))));
        }
      }
      if (removals.length > 0 && raw) {
        const packed = new MessageWriter();
        for (const index of removals) packed.number(1, index);
        // An index of zero is a number like any other in a repeated field, yet this writer leaves zeros out.
        const zero = removals[0] === 0 ? Uint8Array.of(0x08, 0) : new Uint8Array();
        list.message(6, set => set.number(1, 1).bytes(3, Buffer.concat([zero, packed.finish()])));
      } else if (removals.length > 0) {
        list.message(6, set => set.number(1, 2).message(5, writeRice(riceOf(removals))));
      }
      list.bytes(7, version).message(8, sum => sum.bytes(1, checksum));
    });
  }
  if (waitS !== undefined) message.message(2, writeDuration(waitS));
  return message.finish();
}

export function foundHashesV5(matches: readonly Match[], cacheS: number): Uint8Array {
  const message = new MessageWriter();
  for (const { hash, threat, attributes } of matches) {
    message.message(1, full =>
      full.bytes(1, hash).message(2, detail => {
        detail.number(1, threat).bytes(2, Uint8Array.from(attributes));
      }),
    );
  }
  return message.message(2, writeDuration(cacheS)).finish();
}

export function matchesV4(
  matches: readonly Match[],
  { cacheS, negativeCacheS, hashWaitS }: { cacheS: number; negativeCacheS: number; hashWaitS: number },
): Uint8Array {
  const message = new MessageWriter();
  for (const { hash, threat } of matches) {
    message.message(1, match =>
      match
        .number(1, threat)
        .number(2, 6)
        .message(3, entry => entry.bytes(1, hash))
        .message(5, writeDuration(cacheS))
        .number(6, 1),
    );
  }
  if (hashWaitS > 0) message.message(2, writeDuration(hashWaitS));
  return message.message(3, writeDuration(negativeCacheS)).finish();
}

/** The lists that a version 4 request asks for, by name, with the state that the client holds. */
export function listsAskedV4(request: Uint8Array): { name: string; version: Uint8Array }[] {
  return partsOf(request, 3).map(list => {
    const numberAt = (field: number) =>
      [...fieldsOf(list)].filter(each => each.number === field).map(numberOf)[0];
    const isMeant = ([, [threat, platform]]: [string, readonly [number, number]]): boolean =>
      threat === numberAt(1) && platform === numberAt(2);
    const [name = 'unknown'] = Object.entries(v4Lists).find(isMeant) ?? [];
    return { name, version: partsOf(list, 3)[0] ?? new Uint8Array() };
  });
}

export function prefixesAskedV4(request: Uint8Array): Uint8Array[] {
  const [info = new Uint8Array()] = partsOf(request, 3);
  return partsOf(info, 3).flatMap(entry => partsOf(entry, 1));
}

function partsOf(message: Uint8Array, field: number): Uint8Array[] {
  return [...fieldsOf(message)].filter(each => each.number === field).map(bytesOf);
}
