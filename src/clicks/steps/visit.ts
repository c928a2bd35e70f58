/**
 * The traits of a visit beside its agent and its referrer: the language of the browser, the campaign that the link was
 * published in, and whether a QR code was scanned. Anyone can send anything here, so all of it is bounded and cleaned;
 * statistics keep the most frequent values.
 */

import { isbot } from 'isbot';
import type { AgentTraits, VisitKind, VisitTraits } from '../click.ts';
import { queryLengthMax } from '../new-links.ts';
import { boundedText } from './bounded-text.ts';

/** The traits that come from a query. */
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

/** Takes a query without its question mark. The first value of a parameter that is not empty counts. */
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
    // Not from the destination, which may use this parameter for its own purposes.
    via: visit.via,
  };
}

/** No two visits that differ have the same text, because values have no control characters. */
export const visitKey = (visit: VisitTraits): string =>
  `${visit.language}\n${visit.utmSource}\n${visit.utmMedium}\n${visit.utmCampaign}\n${visit.utmTerm}\n${visit.utmContent}\n${visit.via}`;

const controlCharacters = /\p{Cc}/gu;
/** The name in statistics for values that are not listed. */
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
    // The platform's parser also reads bytes that are not UTF-8.
    return new URLSearchParams(`=${text}`).get('') ?? '';
  }
}

/**
 * The kind of a visit. The redirect records two bits, which cost it a comparison and the reading of four headers that
 * are nearly always absent; the agent's kind is added later, on another thread.
 *
 * A browser that prefetched a link may not request it again before showing it, so a prefetch that a person ends up
 * seeing is not counted. The other mistake, counting pages that were never seen, is one that an owner cannot correct.
 */

/** The bits of a visit's flags; they are kept in a byte of the click buffer, so a value never changes meaning. */
export const visitFlag = { head: 1, prefetch: 2 } as const;

const fetchedAhead = /prefetch|prerender|preview/i;

/** The parts of a request by which a visit is judged. */
interface VisitRequest {
  readonly method: string;
  readonly headers: Pick<Headers, 'get'>;
}

export function visitFlags(request: VisitRequest): number {
  // Only GET and HEAD are redirected.
  const flags = request.method === 'GET' ? 0 : visitFlag.head;
  const { headers } = request;
  const purpose =
    headers.get('sec-purpose') ?? headers.get('purpose') ?? headers.get('x-purpose') ?? headers.get('x-moz');
  return purpose !== null && fetchedAhead.test(purpose) ? flags | visitFlag.prefetch : flags;
}

/** The request's method and purpose outweigh its agent: a crawler's HEAD is a `head`. */
export function kindOf(flags: number, agent: Pick<AgentTraits, 'kind'>): VisitKind {
  if ((flags & visitFlag.head) !== 0) return 'head';
  if ((flags & visitFlag.prefetch) !== 0) return 'prefetch';
  return agent.kind;
}

/**
 * Person, bot or link preview, by the user agent's name alone. The long list of bots is isbot's; this file adds which
 * of them show previews, and that a name with which no browser begins is a program's. An agent that lies, such as a
 * mail scanner posing as Chrome, cannot be distinguished from a person by its name.
 */
/** Longer agents are truncated: the beginning says what they are, and patterns must not run over 64 KB. */
export const agentLengthMax = 512;

/** Agents that fetch a posted link to show a card for it; no person has followed it yet. */
const previewers = new RegExp(
  [
    // Chat. Signal and some others call themselves WhatsApp, Apple's Messages calls itself Facebook and Twitter.
    'facebookexternalhit|facebot|twitterbot|^whatsapp/|telegrambot|discordbot|slackbot-linkexpanding|slack-imgproxy',
    'skypeuripreview|^viber/|^signal-|kakaotalk-scrap|line-poker|wechatshareextension|synapse \\(bot|matrix-media-repo',
    // Social networks.
    'linkedinbot|redditbot|mastodon/|bluesky cardyb|^pleroma|^akkoma|^misskey|summalybot|^lemmy/|vkshare|^tumblr/\\d',
    'xing-contenttabreceiver|flipboardproxy',
    // Services that draw cards for others.
    'embedly|iframely|link ?preview|url ?preview|google-pagerenderer|google favicon|bingpreview',
  ].join('|'),
  'i',
);

/** Office programs fetch a link before the browser that shows it; some apps call their HTTP library Mozilla. */
const programs = /ms-office|msoffice|microsoft office|cfnetwork\//i;

/**
 * How every browser's string begins: the two historic names, or those of text browsers and old handsets. An app that
 * names itself first is an HTTP library or a script.
 */
const browserBeginnings =
  /^(?:Mozilla\/|Opera\/|Lynx\/|E?Links[ /]|w3m\/|Dillo\/|BlackBerry|Nokia|SAMSUNG-|SonyEricsson|UCWEB\/|DoCoMo\/)/;

/** Takes a text of at most `agentLengthMax` characters. */
export function agentKindOf(userAgent: string): AgentTraits['kind'] {
  if (previewers.test(userAgent)) return 'preview';
  if (!browserBeginnings.test(userAgent) || programs.test(userAgent)) return 'bot';
  return isbot(userAgent) ? 'bot' : 'human';
}

/**
 * Distinguishes people from bots while the request is answered, which only links with a click limit need: a one-time
 * link must not be used up by the chat program that shows its preview. All other clicks are judged later, on another
 * thread, by the same two functions.
 */
export function isHuman(request: VisitRequest): boolean {
  if (visitFlags(request) !== 0) return false;
  return agentKindOf(boundedText(request.headers.get('user-agent') ?? '', agentLengthMax)) === 'human';
}
