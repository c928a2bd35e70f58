/**
 * The traits of a user agent string: kind, device, and the families of browser and operating system, from a short and
 * stable list of names, because statistics are grouped by them for years. Names outside of the list are empty, so that
 * clients cannot fill our tables with invented names.
 *
 * Strings do not reveal everything. Safari on an iPad requests desktop pages by default, with the same string as on a
 * Mac, and counts as one. Brave, Arc and similar browsers send the string of Chrome.
 */
import * as Bowser from 'bowser';
import type { AgentTraits, DeviceKind } from '../click.ts';
import { boundedText, memoise } from './bounded-text.ts';
import { agentKindOf, agentLengthMax } from './visit.ts';

export type AgentDescriber = (userAgent: string) => AgentTraits;

/** Caches agents: a few thousand strings make up nearly all visits, and parsing one takes tens of microseconds. */
export function createAgentDescriber({ entriesMax }: { readonly entriesMax: number }): AgentDescriber {
  const describe = memoise(describeAgent, entriesMax);
  return userAgent => describe(boundedText(userAgent, agentLengthMax));
}

export function describeAgent(text: string): AgentTraits {
  const userAgent = boundedText(text, agentLengthMax);
  const kind = agentKindOf(userAgent);
  // A bot that claims to be Chrome on Android says which pages it wants, not what it is.
  if (kind !== 'human') return { userAgent, browser: '', os: '', device: 'bot', kind };
  const parser = Bowser.getParser(userAgent, true);
  const os = osOf(userAgent, parser.getOSName());
  const device = deviceOf(userAgent, parser.getPlatformType(), os);
  return { userAgent, browser: browserOf(userAgent, parser.getBrowserName()), os, device, kind };
}

type NamedPatterns<Name extends string> = readonly (readonly [pattern: RegExp, name: Name])[];

const firstMatch = <Name extends string>(patterns: NamedPatterns<Name>, userAgent: string) =>
  patterns.find(([pattern]) => pattern.test(userAgent))?.[1];

/** Apps that show pages themselves. The parser sees only the system's browser that they embed. */
const inAppBrowsers: NamedPatterns<string> = [
  [/\bInstagram[ /]/, 'Instagram'],
  [/\bMessengerForiOS|\bOrca-Android|\bMessengerLite/, 'Messenger'],
  [/\bFBA[NV]\/|\bFB_IAB\/|\bFBIOS\b/, 'Facebook'],
  [/\b(?:musical_ly|TikTok|BytedanceWebview|trill)/, 'TikTok'],
  [/\bSnapchat\//, 'Snapchat'],
  [/\bLinkedInApp\b/, 'LinkedIn'],
  [/\bPinterest[ /]/, 'Pinterest'],
  [/\bTwitter for |\bTwitterAndroid\b/, 'X'],
  [/\bReddit\//, 'Reddit'],
  [/\bLine\/\d/, 'LINE'],
  [/\bKAKAOTALK\b/, 'KakaoTalk'],
  [/\bHuaweiBrowser\//, 'Huawei Browser'],
  [/\bOculusBrowser\//, 'Meta Quest Browser'],
  [/\bPlayStation\b/, 'PlayStation'],
  [/\bNintendo(?:Browser)?\b/, 'Nintendo'],
];

/** Maps the parser's names to ours. */
const browserFamilies: ReadonlyMap<string, string> = new Map([
  ['Chrome', 'Chrome'],
  ['Chromium', 'Chrome'],
  ['Safari', 'Safari'],
  ['Firefox', 'Firefox'],
  ['Focus', 'Firefox'],
  ['Microsoft Edge', 'Edge'],
  ['Opera', 'Opera'],
  ['Opera Touch', 'Opera'],
  ['Opera Coast', 'Opera'],
  ['Samsung Internet for Android', 'Samsung Internet'],
  ['Tizen', 'Samsung Internet'],
  ['Internet Explorer', 'Internet Explorer'],
  ['Android Browser', 'Android Browser'],
  ['Amazon Silk', 'Silk'],
  ['Google Search', 'Google app'],
  ['DuckDuckGo', 'DuckDuckGo'],
  ['Vivaldi', 'Vivaldi'],
  ['Yandex Browser', 'Yandex Browser'],
  ['UC Browser', 'UC Browser'],
  ['QQ Browser', 'QQ Browser'],
  ['QQ Browser Lite', 'QQ Browser'],
  ['WeChat', 'WeChat'],
  ['NAVER Whale Browser', 'Whale'],
  ['HeyTap Browser', 'HeyTap Browser'],
  ['Vivo Browser', 'Vivo Browser'],
  ['Miui', 'Mi Browser'],
  ['LibreWolf', 'Firefox'],
  ['Pale Moon', 'Pale Moon'],
  ['SeaMonkey', 'SeaMonkey'],
  ['Epiphany', 'Epiphany'],
  ['Electron', 'Electron'],
  ['Puffin', 'Puffin'],
  ['Maxthon', 'Maxthon'],
  ['WebOS Browser', 'webOS Browser'],
  ['BlackBerry', 'BlackBerry'],
]);

const browserOf = (userAgent: string, parsed: string): string =>
  firstMatch(inAppBrowsers, userAgent) ?? browserFamilies.get(parsed) ?? '';

/** Tried before the parser, which mistakes a console for the system whose name it contains. */
const osPatterns: NamedPatterns<string> = [
  [/\bXbox\b/, 'Xbox'],
  [/\bPlayStation\b/, 'PlayStation'],
  [/\bNintendo\b/, 'Nintendo'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bKAIOS\//, 'KaiOS'],
  [/\b(?:Free|Open|Net)BSD\b|\bDragonFly\b/, 'BSD'],
  // These browsers exist on iOS only, and say Macintosh when they request desktop pages.
  [/\b(?:CriOS|FxiOS|EdgiOS|OPiOS|GSA)\//, 'iOS'],
];

const osFamilies: ReadonlyMap<string, string> = new Map([
  ['Windows', 'Windows'],
  ['Windows Phone', 'Windows Phone'],
  ['macOS', 'macOS'],
  ['iOS', 'iOS'],
  ['Android', 'Android'],
  ['HarmonyOS', 'HarmonyOS'],
  ['Linux', 'Linux'],
  ['Tizen', 'Tizen'],
  ['WebOS', 'webOS'],
  ['Roku', 'Roku'],
  ['BlackBerry', 'BlackBerry'],
]);

const osOf = (userAgent: string, parsed: string): string =>
  firstMatch(osPatterns, userAgent) ?? osFamilies.get(parsed) ?? '';

/** A console counts as the television it is connected to. Cars, headsets and handhelds have no kind of their own. */
const devicePatterns: NamedPatterns<DeviceKind> = [
  [
    /\bOculusBrowser\/|\bTesla\/|\bQtCarBrowser\b|\bNintendo 3DS\b|\bPlayStation (?:Vita|Portable)\b/,
    'other',
  ],
  [/\bSmart-?TV\b|\bHbbTV\b|\bNetCast\b|\bWeb0S\b|\bGoogle ?TV\b|\bAndroid ?TV\b|\bApple ?TV\b/i, 'tv'],
  [/\bAFT[A-Z]{1,6}\b|\bBRAVIA\b|\bCrKey\b|\bChromecast\b|\bVIDAA\b|\bViera\b|\bRoku\b|\bMiTV\b/i, 'tv'],
  [/\bXbox\b|\bPlayStation\b|\bNintendo\b/, 'tv'],
  [/\bMacintosh\b.*\b(?:CriOS|FxiOS|EdgiOS|OPiOS|GSA)\//, 'tablet'],
  [/\bKindle\//, 'tablet'],
];

const devicesOfSystems: ReadonlyMap<string, DeviceKind> = new Map([
  ['Windows', 'desktop'],
  ['macOS', 'desktop'],
  ['Linux', 'desktop'],
  ['ChromeOS', 'desktop'],
  ['BSD', 'desktop'],
  ['iOS', 'mobile'],
  ['Android', 'mobile'],
  ['HarmonyOS', 'mobile'],
  ['KaiOS', 'mobile'],
]);

const parsedDevices: ReadonlyMap<string, DeviceKind> = new Map([
  ['desktop', 'desktop'],
  ['mobile', 'mobile'],
  ['tablet', 'tablet'],
  ['tv', 'tv'],
]);

const deviceOf = (userAgent: string, parsed: string, os: string): DeviceKind =>
  firstMatch(devicePatterns, userAgent) ?? parsedDevices.get(parsed) ?? devicesOfSystems.get(os) ?? 'other';
