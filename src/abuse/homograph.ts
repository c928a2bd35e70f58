/**
 * Names that look like others. A host arrives in punycode; here it becomes what a person would see, and two questions
 * are answered about it: does a label mix scripts that are never mixed (Latin with Cyrillic), and which plain Latin
 * word does it look like? The second folds every label to a skeleton: `pаypаl` with Cyrillic letters, `paypa1` with a
 * digit and `pàypal` with an accent all have the skeleton of `paypal`.
 */
import { domainToUnicode } from 'node:url';

/** The host as a browser without homograph protection would show it; the host itself where that fails. */
export function shownHost(host: string): string {
  if (!host.includes('xn--')) return host;
  return domainToUnicode(host) || host;
}

const scripts = [
  'Latin',
  'Cyrillic',
  'Greek',
  'Armenian',
  'Georgian',
  'Hebrew',
  'Arabic',
  'Han',
  'Hiragana',
  'Katakana',
  'Bopomofo',
  'Hangul',
  'Thai',
  'Devanagari',
  'Cherokee',
] as const;
type Script = (typeof scripts)[number] | 'Other';

const scriptPatterns = scripts.map(
  script => [script, new RegExp(`\\p{Script_Extensions=${script}}`, 'u')] as const,
);
/** Digits, hyphens and marks belong to no script of their own. */
const letter = /\p{L}/u;
const plainAscii = /^[\0-\x7f]*$/;

/** Scripts that are written together in one word; each set also with Latin. */
const companions: readonly ReadonlySet<Script>[] = [
  new Set(['Latin', 'Han', 'Hiragana', 'Katakana']),
  new Set(['Latin', 'Han', 'Bopomofo']),
  new Set(['Latin', 'Han', 'Hangul']),
];
/** Alphabets with letters that look like Latin ones; mixing them with Latin is deceptive. */
const lookalikeScripts: ReadonlySet<Script> = new Set(['Cyrillic', 'Greek', 'Armenian', 'Cherokee']);

/** The scripts that a label mixes although they are never mixed; undefined when there is no problem. */
export function oddMixture(label: string): readonly string[] | undefined {
  if (plainAscii.test(label)) return undefined;
  const found = new Set<Script>();
  for (const character of label) {
    if (letter.test(character)) {
      const script = scriptPatterns.find(([, pattern]) => pattern.test(character))?.[0];
      found.add(script ?? 'Other');
    }
  }
  if (found.size < 2 || companions.some(set => found.isSubsetOf(set))) return undefined;
  const isLatinAndOne = found.size === 2 && found.has('Latin');
  if (isLatinAndOne && found.isDisjointFrom(lookalikeScripts)) return undefined;
  return [...found];
}

/** Letters of other alphabets, each before the Latin letter it resembles. */
const lookalikes: ReadonlyMap<string, string> = new Map(
  [
    // Cyrillic
    'аa вb ьb сc ԁd еe єe гr һh нh іi јj кk ӏl мm пn оo рp ԛq ѕs тt цu ѵv ԝw ѡw шw хx жx уy үy',
    // Greek
    'αa βb ϲc ςc δd εe ηn πn ιi ϳj κk μu υu νv οo σo ρp τt χx γy ωw',
    // Armenian
    'օo սu հh ոn ռn ցg քp յj զq աw լl',
    // Latin letters that are not made by an accent
    'ıi ɩi ɑa ƅb ßb đd ðd ɡg łl ŋn øo þp ʋv ʏy ᴀa ᴇe ɢg ʟl ɴn ᴏo ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ᴢz',
  ]
    .flatMap(row => row.split(' '))
    .map(pair => [pair.slice(0, -1), pair.slice(-1)]),
);

const accents = /\p{M}/gu;

/** The Latin letters that a text looks like at a glance; equal for any two texts that look alike. */
export function skeletonOf(text: string): string {
  const latin = plainAscii.test(text) ? text : latinLookalike(text);
  return latin
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
    .replaceAll('cl', 'd')
    .replace(/[01345789i]/g, sign => similarSigns[sign] ?? sign);
}

/** `l`, `i` and `1` look the same, and digits stand in for the letters they resemble. */
const similarSigns: Readonly<Record<string, string>> = {
  i: 'l',
  0: 'o',
  1: 'l',
  3: 'e',
  4: 'a',
  5: 's',
  7: 't',
  8: 'b',
  9: 'g',
};

/** Whether all letters of a label are from another alphabet, and all look Latin: `сосе`. */
export function isWholeDisguise(label: string): boolean {
  if (plainAscii.test(label)) return false;
  const letters = [...label].filter(character => letter.test(character));
  return letters.length > 1 && letters.every(isForeignLookalike);
}

const isForeignLookalike = (character: string): boolean =>
  lookalikes.has(character) && !/\p{Script=Latin}/u.test(character);

function latinLookalike(text: string): string {
  const plain = text.normalize('NFD').replace(accents, '');
  let latin = '';
  for (const character of plain) latin += lookalikes.get(character) ?? character;
  return latin;
}
