/** What a Safe Browsing server writes on the wire. */
import { Writer } from 'protobufjs/minimal';
import type { RiceDeltas } from '../../src/abuse/safe-browsing/rice.ts';
import { encodeRice, fittingParameter } from './rice-encoder.ts';

/** What one list must become, for a client that has some version of it or none. */
export interface ListAnswer {
  readonly name: string;
  readonly isPartial: boolean;
  readonly removals: readonly number[];
  /** Hash prefixes of four bytes. */
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

/** Field number and wire type, as they precede a field. */
const varint = (field: number): number => field * 8;
const bytes = (field: number): number => field * 8 + 2;

function duration(seconds: number): Uint8Array {
  const nanos = Math.round((seconds % 1) * 1e9);
  return new Writer().uint32(varint(1)).int64(Math.floor(seconds)).uint32(varint(2)).int32(nanos).finish();
}

function rice(ascending: readonly number[]): Uint8Array {
  const deltas: RiceDeltas = encodeRice(ascending, fittingParameter(ascending, 3, 28));
  return new Writer()
    .uint32(varint(1))
    .uint32(deltas.firstValue)
    .uint32(varint(2))
    .int32(deltas.riceParameter)
    .uint32(varint(3))
    .int32(deltas.entriesCount)
    .uint32(bytes(4))
    .bytes(deltas.encodedData)
    .finish();
}

/** BatchGetHashListsResponse. */
export function hashLists(answers: readonly ListAnswer[], waitS: number | undefined): Uint8Array {
  const message = new Writer();
  for (const { name, isPartial, removals, additions, version, checksum, isUnchanged } of answers) {
    const list = new Writer().uint32(bytes(1)).string(name).uint32(bytes(2)).bytes(version);
    list.uint32(varint(3)).bool(isPartial);
    if (additions.length > 0) list.uint32(bytes(4)).bytes(rice(additions.map(each => each.readUInt32BE())));
    if (removals.length > 0) list.uint32(bytes(5)).bytes(rice(removals));
    if (waitS !== undefined) list.uint32(bytes(6)).bytes(duration(waitS));
    // Nothing new has no checksum of its own.
    if (!isUnchanged) list.uint32(bytes(7)).bytes(checksum);
    const metadata = new Writer().uint32(varint(1)).int32(1).uint32(bytes(4)).string('a list');
    list.uint32(bytes(8)).bytes(metadata.finish());
    message.uint32(bytes(1)).bytes(list.finish());
  }
  return message.finish();
}

/** SearchHashesResponse. */
export function foundHashes(matches: readonly Match[], cacheS: number): Uint8Array {
  const message = new Writer();
  for (const { hash, threat, attributes } of matches) {
    const detail = new Writer().uint32(varint(1)).int32(threat);
    detail.uint32(bytes(2)).bytes(Uint8Array.from(attributes));
    const full = new Writer().uint32(bytes(1)).bytes(hash).uint32(bytes(2)).bytes(detail.finish());
    message.uint32(bytes(1)).bytes(full.finish());
  }
  return message.uint32(bytes(2)).bytes(duration(cacheS)).finish();
}
