/**
 * Hosts that impersonate a brand, the boldest disguise first: a name that only looks like the brand's, the brand's
 * whole domain as a subdomain, a name with one letter wrong, and the brand's name in the domain or in a subdomain.
 */
import { skeletonOf } from './homograph.ts';
import type { HostParts } from './hosts.ts';

/**
 * Brand names that phishing imitates, each with the domains that also belong to it under another label. A domain whose
 * own label is exactly the name counts as its own under any ordinary suffix (`amazon.co.jp`) and is not listed. A name in
 * the table should be rare as a part of other names.
 */
const table = `
  adobe: adobelogin.com adobesign.com behance.net
  airbnb: airbnbmail.com
  alibaba: alibabacloud.com alibabagroup.com aliyun.com
  aliexpress:
  amazon: amazonaws.com media-amazon.com amazon-adsystem.com amazonpay.com amazontrust.com
  americanexpress: aexp-static.com amex.com
  apple: icloud.com apple-mapkit.com mzstatic.com applemusic.com
  bankofamerica: bofa.com
  barclays: barclaycard.co.uk barclaycardus.com
  binance: binancefuture.com
  blockchain:
  bradesco: bradescoseguros.com.br
  capitalone: capitalonetravel.com capitalone360.com
  chase: jpmorganchase.com
  citibank: citi.com citibankonline.com
  coinbase:
  commbank: commsec.com.au
  creditagricole: credit-agricole.fr credit-agricole.com
  deutschebank: deutsche-bank.de db.com
  dhl: dhl-news.com dhlparcel.nl dhlparcel.es
  discord: discordapp.com discordapp.net discordstatus.com
  docusign:
  dropbox: dropboxusercontent.com dropboxapi.com dropboxforum.com dropboxstatic.com
  ebay: ebaystatic.com ebayinc.com ebayimg.com
  facebook: fb.com fb.me facebookbrand.com messenger.com meta.com
  fedex:
  github: githubusercontent.com githubassets.com githubstatus.com githubapp.com
  gmail:
  google: googleapis.com googleusercontent.com googleblog.com blog.google withgoogle.com thinkwithgoogle.com
    googletagmanager.com google-analytics.com googlesource.com googlevideo.com googlecode.com googlegroups.com
    googleadservices.com googlesyndication.com googledrive.com
  hsbc: hsbcnet.com
  icloud: icloud-content.com apple.com
  instagram: cdninstagram.com instagram-brand.com facebook.com
  laposte: laposte.net
  linkedin: licdn.com lnkd.in
  mastercard: mastercardservices.com mastercardcenter.org
  mercadolibre: mercadolivre.com.br
  metamask:
  microsoft: microsoftonline.com microsoft365.com microsoftedge.com microsoftstore.com live.com office.com azure.com
    windows.net sharepoint.com msn.com visualstudio.com azurewebsites.net
  netflix: netflixtechblog.com netflixinvestor.com nflxext.com
  nubank:
  office365: office.com microsoft.com
  onedrive: live.com microsoft.com sharepoint.com
  outlook: live.com office.com office365.com microsoft.com
  paypal: paypalobjects.com paypal-community.com paypal-corp.com
  postbank:
  postnord:
  rabobank:
  revolut:
  roblox: rbxcdn.com robloxlabs.com
  santander: santanderbank.com santanderconsumerusa.com gruposantander.es
  sharepoint: microsoft.com
  shopify: myshopify.com shopifycloud.com shopifycdn.com shopifystatus.com
  snapchat: snap.com
  sparkasse: sparkassen.de
  spotify: spotifycdn.com spotifyforbrands.com spotifyjobs.com atspotify.com
  steamcommunity: steampowered.com steamstatic.com
  steampowered: steamcommunity.com
  stripe: stripestatus.com
  telegram: t.me telegra.ph
  trustwallet:
  twitter: twimg.com x.com
  usps: usps.gov
  vodafone: vodafoneziggo.nl
  volksbank:
  walmart: walmartlabs.com walmartimages.com
  wellsfargo: wellsfargoadvisors.com wellsfargojobs.com
  whatsapp: wa.me whatsappbrand.com
  yahoo: yahoodns.net yahooinc.com yahooapis.com
`;

/** From a name to the other domains of its owner. */
const brandDomains: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  table
    .trim()
    .split(/\n\s*(?=\S+:)/)
    .map(row => {
      const [brand = '', domains = ''] = row.split(':');
      return [brand.trim(), new Set(domains.split(/\s+/).filter(domain => domain !== ''))];
    }),
);

/** Ordinary words that are one letter different from a name above. */
const innocentNeighbours: ReadonlySet<string> = new Set(
  `finance discard strike strip stripes striped revolt goggle goggles toggle barclay linkedn outlooks blockchains
   hotmail email amazone amazons snapchats googles vodafones`.split(/\s+/),
);

export type Disguise = 'lookalike' | 'domainInHost' | 'typo' | 'nameInDomain' | 'nameInSubdomain';

export interface Impersonation {
  readonly disguise: Disguise;
  readonly brand: string;
  /** The part of the host that imitates the brand. */
  readonly seen: string;
}

const brands = [...brandDomains.keys()];
const ownDomains: ReadonlySet<string> = new Set([...brandDomains.values()].flatMap(domains => [...domains]));
// Short names are left out: they are part of too many words, or differ by one letter from them.
const bySkeleton = new Map(
  brands.filter(brand => brand.length >= 5).map(brand => [skeletonOf(brand), brand]),
);
const typoBrands = brands.filter(brand => brand.length >= 6);
/** From a length to the names that a text of that length can differ from by one letter. */
const neighboursByLength = new Map(
  Array.from({ length: 30 }, (_, length) => [
    length,
    typoBrands.filter(brand => Math.abs(brand.length - length) <= 1),
  ]),
);
/** What may follow a name in the imitation of its domain. */
const suffixToken = /^(?:com?|net|org|info|[a-z]{2})$/;
/** Words of everyday language: inside of other words, or in a path, they mean nothing. */
const everydayNames: ReadonlySet<string> = new Set(
  'apple blockchain chase discord outlook stripe telegram'.split(' '),
);
const gluedNames = typoBrands.filter(brand => !everydayNames.has(brand));

/** Takes the host's parts, and its labels as they are shown. */
export function impersonationIn(parts: HostParts, shownLabels: readonly string[]): Impersonation | undefined {
  if (parts.isAddress || isOwnDomain(parts)) return undefined;
  const suffixLabels = parts.suffix.split('.').length;
  const labels = shownLabels.slice(0, shownLabels.length - suffixLabels);
  return lookalikeIn(labels) ?? domainIn(parts) ?? typoIn(labels) ?? nameIn(parts);
}

/** A brand name that does not belong on this host, among words that were split from a path. */
export function foreignBrandIn(parts: HostParts, words: readonly string[]): string | undefined {
  if (isOwnDomain(parts)) return undefined;
  return words.find(word => brandDomains.has(word));
}

/** Whether it is also a word of everyday language, which means nothing by itself. */
export const isEverydayName = (brand: string): boolean => everydayNames.has(brand);

/** Whether the domain belongs to one of the brands itself; then it may mention the others. */
export function isOwnDomain({ domain, label, suffix, isHosted }: HostParts): boolean {
  if (ownDomains.has(domain) || brandDomains.has(suffix)) return true;
  if (!brandDomains.has(label)) return false;
  // On github.io an organisation owns its name, and nobody else can register it.
  return suffix === 'github.io' || (!isHosted && !suspiciousSuffixes.has(suffix));
}

function lookalikeIn(labels: readonly string[]): Impersonation | undefined {
  for (const seen of labels.flatMap(withTokens)) {
    const brand = bySkeleton.get(skeletonOf(seen));
    if (brand !== undefined && brand !== seen) return { disguise: 'lookalike', brand, seen };
  }
  return undefined;
}

function domainIn({ subdomain }: HostParts): Impersonation | undefined {
  const tokens = subdomain.split(/[.-]/);
  const at = tokens.findIndex(
    (token, index) => brandDomains.has(token) && suffixToken.test(tokens[index + 1] ?? ''),
  );
  if (at === -1) return undefined;
  return { disguise: 'domainInHost', brand: tokens[at]!, seen: `${tokens[at]}.${tokens[at + 1]}` };
}

function typoIn(labels: readonly string[]): Impersonation | undefined {
  for (const seen of labels.flatMap(withTokens)) {
    if (innocentNeighbours.has(seen)) continue;
    const brand = neighboursByLength.get(seen.length)?.find(name => isOneEditApart(name, seen));
    if (brand !== undefined) return { disguise: 'typo', brand, seen };
  }
  return undefined;
}

function nameIn({ domain, label, subdomain }: HostParts): Impersonation | undefined {
  // On free hosting, the part before the domain is chosen by the page's owner.
  const chosen = freeHosts.has(domain) ? subdomain : label;
  const inDomain =
    withTokens(chosen).find(token => brandDomains.has(token)) ??
    gluedNames.find(name => chosen.startsWith(name) || chosen.endsWith(name));
  if (inDomain !== undefined) return { disguise: 'nameInDomain', brand: inDomain, seen: chosen };
  const inSubdomain = subdomain.split(/[.-]/).find(token => brandDomains.has(token));
  if (inSubdomain === undefined) return undefined;
  return { disguise: 'nameInSubdomain', brand: inSubdomain, seen: subdomain };
}

const withTokens = (label: string): string[] =>
  label.includes('-') ? [label, ...label.split('-')] : [label];

/** One letter too many, too few or wrong, or two swapped. False for equal texts. */
export function isOneEditApart(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1 || one === other) return false;
  // Nearly all pairs differ at both ends, which is quick to see.
  if (one[0] !== other[0] && one.at(-1) !== other.at(-1)) return false;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const [restOfOne, restOfOther] = [one.slice(at), other.slice(at)];
  if (one.length > other.length) return restOfOne.slice(1) === restOfOther;
  if (one.length < other.length) return restOfOther.slice(1) === restOfOne;
  if (restOfOne.slice(1) === restOfOther.slice(1)) return true;
  const isSwapped = restOfOne[0] === restOfOther[1] && restOfOne[1] === restOfOther[0];
  return isSwapped && restOfOne.slice(2) === restOfOther.slice(2);
}

/**
 * Words, suffixes and hosts that are a signal in combination with others. None of them is bad by itself: most pages
 * with `login` in their path are login pages.
 */
const words = (text: string): string[] => text.trim().split(/\s+/);

/** Searched in paths and hosts anywhere, also inside of longer words: `userlogin`, `loginpage`. */
const distinctWords = words(`
  login log-in logon signin sign-in signon password passwd verify verif credential authenticat webscr unlock recover
  suspend reactivat validat confirm seedphrase seed-phrase wallet-connect
  anmelden passwort kennwort bestaetig connexion motdepasse mot-de-passe identifiant contrasena iniciar-sesion
  iniciarsesion inicio-sesion senha inloggen wachtwoord logowanie haslo accedi
`);
/** Matched as whole words only: inside of others they mean nothing. */
const accountWords = words('account accounts banking webmail wallet airdrop kyc');
const hostOnlyWords = words(`
  secure security auth sso update billing invoice support alert refund claim token payment identity
`);

const anyOf = (separate: readonly string[]): RegExp =>
  new RegExp(`${distinctWords.join('|')}|(?<![a-z])(?:${separate.join('|')})(?![a-z])`, 'g');

/** A path with one of these is about credentials. */
export const pathWords = anyOf(accountWords);
/** More words count in a host than in a path: a host is short and every word in it is chosen. */
export const hostWords = anyOf([...accountWords, ...hostOnlyWords]);

/** Suffixes that abusers favour because their names cost next to nothing. */
export const suspiciousSuffixes: ReadonlySet<string> = new Set(
  words(`
    tk ml ga cf gq top xyz icu buzz click rest fit cam quest cyou sbs cfd bond monster surf zip mov lol bid win loan
    men date review stream download racing party trade science accountant faith cricket webcam work gdn beauty hair
    skin autos boats homes motorcycles yachts makeup mom bar best
  `),
);

/** Services that forward to somewhere else, so that a link through them hides its destination. */
export const shortenerHosts: ReadonlySet<string> = new Set(
  words(`
    adf.ly amzn.to bc.vc bit.ly bitly.ws bl.ink buff.ly chilp.it clck.ru cutt.ly da.gd dlvr.it dub.co dub.sh fb.me
    goo.gl hyperurl.co is.gd kutt.it lnkd.in mcaf.ee me-qr.com n9.cl ouo.io ow.ly plu.sh po.st qr.ae qrco.de rb.gy
    rebrand.ly rotf.lol s.id short.gy shorte.st shorturl.at shorturl.gg snip.ly soo.gd su.pr surl.li t.co t.ly tiny.cc
    tinyurl.com tinyurl.is tny.im trib.al u.to urlz.fr v.gd x.gd
  `),
);

/** Free hosting that the public suffix list does not contain. */
export const freeHosts: ReadonlySet<string> = new Set(
  words(`
    000webhostapp.com awardspace.net byethost.com carrd.co contaboserver.net duckdns.org framer.website gitbook.io
    godaddysites.com infinityfreeapp.com jimdosite.com mystrikingly.com ngrok-free.app ngrok.io site123.me square.site
    strikingly.com tilda.ws trycloudflare.com ucraft.net webflow.io webnode.page weebly.com wixsite.com wordpress.com
    yolasite.com
  `),
);
