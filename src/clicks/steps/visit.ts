/**
 * What a visit says beside its agent and its referrer: the language of the browser, the campaign that the link was
 * published in, and whether a QR code was scanned. Anyone can send anything here, so all of it is bounded and cleaned;
 * statistics keep the most frequent values.
 */
import type { VisitTraits } from '../click.ts';
import { queryLengthMax } from '../new-links.ts';
import { boundedText } from './bounded-text.ts';

/** What a query says. */
export type QueryTraits = Omit<VisitTraits, 'language'>;

export const noQueryTraits: QueryTraits = Object.freeze({
  utmSource: '',
  utmMedium: '',
  utmCampaign: '',
  utmTerm: '',
  utmContent: '',
  via: '',
});

const valueLengthMax = 100;
/** The parameter that our QR codes add to the short URL; decide.ts removes it from what is passed on. */
const qrParameter = 'qr';
const utmParameters: ReadonlyMap<string, keyof QueryTraits> = new Map([
  ['utm_source', 'utmSource'],
  ['utm_medium', 'utmMedium'],
  ['utm_campaign', 'utmCampaign'],
  ['utm_term', 'utmTerm'],
  ['utm_content', 'utmContent'],
]);

const firstLanguage = /^\s*([a-z]{2,3})(?:[-_;,\s]|$)/i;

/** Of the header Accept-Language: browsers send the preferred language first. */
export function languageOf(header: string): string {
  return firstLanguage.exec(header)?.[1]?.toLowerCase() ?? '';
}

/** Takes a query without its question mark. Of several values the first one counts that is not empty. */
export function queryTraitsOf(query: string): QueryTraits {
  if (query === '') return noQueryTraits;
  const traits: { -readonly [Name in keyof QueryTraits]: string } = { ...noQueryTraits };
  for (const part of boundedText(query, queryLengthMax).split('&')) {
    const valueAt = part.indexOf('=');
    const name = valueAt === -1 ? part : part.slice(0, valueAt);
    if (name === qrParameter) traits.via = 'qr';
    const trait = utmParameters.get(name);
    if (trait !== undefined && traits[trait] === '') traits[trait] = valueIn(part.slice(valueAt + 1));
  }
  return traits;
}

/** Each value of the visit itself if it has one, otherwise of the destination. */
export function visitTraitsOf(language: string, visit: QueryTraits, destination: QueryTraits): VisitTraits {
  return {
    language,
    utmSource: visit.utmSource || destination.utmSource,
    utmMedium: visit.utmMedium || destination.utmMedium,
    utmCampaign: visit.utmCampaign || destination.utmCampaign,
    utmTerm: visit.utmTerm || destination.utmTerm,
    utmContent: visit.utmContent || destination.utmContent,
    // A destination may have such a parameter for its own purposes.
    via: visit.via,
  };
}

/** No two visits that differ have the same text, because values have no control characters. */
export const visitKey = (visit: VisitTraits): string =>
  `${visit.language}\n${visit.utmSource}\n${visit.utmMedium}\n${visit.utmCampaign}\n${visit.utmTerm}\n${visit.utmContent}\n${visit.via}`;

const controlCharacters = /\p{Cc}/gu;
/** How statistics call what is not listed. */
const otherValue = '(other)';

function valueIn(encoded: string): string {
  const text = decoded(encoded).replace(controlCharacters, '').trim();
  const value = boundedText(text, valueLengthMax).trimEnd();
  return value === otherValue ? '' : value;
}

function decoded(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    // The platform's parser reads bytes that are no UTF-8, too.
    return new URLSearchParams(`=${text}`).get('') ?? '';
  }
}
