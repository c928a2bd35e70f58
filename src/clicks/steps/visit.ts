/**
 * What a visit says beside its agent and its referrer: the language of the browser, the campaign that the link was
 * published in, and whether a QR code was scanned. Anyone can send anything here, so all of it is bounded and cleaned;
 * statistics keep the most frequent values.
 */

import { isbot } from 'isbot';
import type { AgentTraits, VisitKind, VisitTraits } from '../click.ts';
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

/**
 * What kind of visit a request is. The redirect notes two bits, which cost it a comparison and the reading of four
 * headers that are nearly always absent; what the agent adds to them is found out later, on another thread.
 *
 * A browser that prefetched a link and then shows it may not ask again, so a prefetch that a person ends up seeing goes
 * uncounted. The other mistake, counting pages that were never seen, is the one an owner cannot correct for.
 */

/** The bits of a visit's flags; they are kept in a byte of the click buffer, so a value never changes meaning. */
export const visitFlag = { head: 1, prefetch: 2 } as const;

const fetchedAhead = /prefetch|prerender|preview/i;

/** What a visit is judged by, whatever kind of request it came as. */
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

/** What the request did outweighs who it says it is: a crawler's HEAD is a `head`. */
export function kindOf(flags: number, agent: Pick<AgentTraits, 'kind'>): VisitKind {
  if ((flags & visitFlag.head) !== 0) return 'head';
  if ((flags & visitFlag.prefetch) !== 0) return 'prefetch';
  return agent.kind;
}

/**
 * Person, machine or link preview, by the user agent's name alone. The long list of machines is isbot's; this file adds
 * what isbot does not know: which of them draw previews, and that a name no browser begins with is a program's. An
 * agent that lies, such as a mail scanner posing as Chrome, cannot be distinguished from a person by its name.
 */
/** Longer agents are cut: what they are is said in the beginning, and patterns must not run over 64 KB. */
export const agentLengthMax = 512;

/** Fetched because a person posted the link somewhere, to show a card for it; no person has followed it yet. */
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
 * How every browser's string begins: the two historic names, or a text browser's or an old handset's own. An app that
 * names itself first is an HTTP library at work, or a script.
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
 * Distinguishes people from machines while the answer is being made, which only links with a limited number of clicks
 * need: a one-time link must not be used up by the chat program that draws its preview. All other clicks are judged
 * later and elsewhere, by the same two functions.
 */
export function isHuman(request: VisitRequest): boolean {
  if (visitFlags(request) !== 0) return false;
  return agentKindOf(boundedText(request.headers.get('user-agent') ?? '', agentLengthMax)) === 'human';
}
