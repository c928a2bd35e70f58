/**
 * Person, machine or link preview, by the user agent's name alone. The long list of machines is isbot's; what
 * stands here is what it does not tell: which of them draw previews, and that a name no browser begins with is a
 * program's. An agent that lies, such as a mail scanner posing as Chrome, cannot be told from a person by its name.
 */
import { isbot } from 'isbot';
import type { AgentTraits } from '../click.ts';

/** Longer agents are cut: what they are is said in the beginning, and patterns must not run over 64 KB. */
export const agentLengthMax = 512;

/** Fetched because a person posted the link somewhere, to show a card for it, and nobody has followed it yet. */
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
 * How every browser's string begins: the two historic names, or a text browser's or an old handset's own. An app
 * that names itself first is an HTTP library at work, or somebody's script.
 */
const browserBeginnings =
  /^(?:Mozilla\/|Opera\/|Lynx\/|E?Links[ /]|w3m\/|Dillo\/|BlackBerry|Nokia|SAMSUNG-|SonyEricsson|UCWEB\/|DoCoMo\/)/;

/** Takes a text of at most `agentLengthMax` characters. */
export function agentKindOf(userAgent: string): AgentTraits['kind'] {
  if (previewers.test(userAgent)) return 'preview';
  if (!browserBeginnings.test(userAgent) || programs.test(userAgent)) return 'bot';
  return isbot(userAgent) ? 'bot' : 'human';
}
