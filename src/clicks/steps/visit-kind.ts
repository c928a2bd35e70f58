/**
 * What kind of visit a request is. The redirect notes two bits, which cost it a comparison and the reading of four
 * headers that are nearly always absent; what the agent adds to them is found out later, on another thread.
 *
 * A browser that prefetched a link and then shows it may not ask again, so a prefetch that a person ends up seeing goes
 * uncounted. The other mistake, counting pages that were never seen, is the one an owner cannot correct for.
 */

import { isbot } from 'isbot';
import type { AgentTraits, VisitKind } from '../click.ts';
import { boundedText } from './bounded-text.ts';

/** The bits of a visit's flags; they are kept in a byte of the click buffer, so a value never changes meaning. */
export const visitFlag = { head: 1, prefetch: 2 } as const;

const fetchedAhead = /prefetch|prerender|preview/i;

/** What a visit is judged by, whatever kind of request it came as. */
export interface VisitRequest {
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
