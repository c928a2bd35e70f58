/**
 * URLs in the shapes of phishing, made by recipes that follow how such campaigns are built: where the page lies, what
 * it pretends to be, how it greets its victim. The weights were not tuned for the recipes that are held out, so these
 * show what to expect of an unknown recipe. A recipe that the weights are tuned for is no longer held out, and another
 * takes its place.
 */
import { seededRandom } from '../../src/base/random.ts';

export interface PhishingUrl {
  readonly recipe: string;
  readonly heldOut: boolean;
  readonly url: string;
}

interface Recipe {
  readonly heldOut: boolean;
  readonly make: (draw: Draw) => string;
}

type Draw = <Item>(items: readonly Item[]) => Item;

const targets = words(
  'paypal apple amazon netflix microsoft office365 outlook facebook instagram whatsapp chase wellsfargo',
);
const moreTargets = words('dhl usps correos laposte evri swisspost hermes irs hmrc ato postnord brt');
const banks = words(
  'chase wellsfargo bankofamerica hsbc barclays santander rabobank bradesco commbank postbank',
);
const coins = words('metamask coinbase binance trustwallet blockchain');
const acts = words('login verify secure update account confirm signin unlock support billing');
const cheapSuffixes = words('xyz top icu click cyou sbs cfd buzz quest tk ml ga');
const plainSuffixes = words('com net org info ru cn in co online site live shop website');
const kits = words('login.php index.php verify.html signin.html auth.php secure.html account.php webscr.php');
const brokenInto = words(
  'bakery-delft.nl oldcastle-tours.ie sunrise-yoga.in clinicadental.com.br joes-garage.com.au ecole-saint-jean.fr',
);
const folders = words(
  'wp-content/plugins/akismet wp-includes/js .well-known/acme images/old assets/tmp cgi-bin wp-content/uploads/2023',
);
const free = words(
  'weebly.com web.app pages.dev netlify.app vercel.app github.io blogspot.com wixsite.com 000webhostapp.com r2.dev',
);
const victims = words('jane.doe@contoso.com m.mustermann@firma.de ceo@acme-corp.com info@petitcafe.fr');
const randomNames = words('x7k2q9zt1 qw8er7ty6 zxkqvbnm hj3kl9mn2 bcdfghjkl a1b2c3d4e5 mnbvcxzlk');
const innocentNames = words(
  'greenleaf sunrise bluewave maplewood stonebridge clearview riverside brightpath',
);

export const recipes: Readonly<Record<string, Recipe>> = {
  'name and act in a domain of its own': known(
    draw =>
      `https://${draw(targets)}-${draw(acts)}.${draw(plainSuffixes)}/${draw(['', 'signin', 'index.html', 'home'])}`,
  ),
  'two acts around a name': known(
    draw => `https://${draw(acts)}-${draw(targets)}-${draw(acts)}.${draw(plainSuffixes)}/`,
  ),
  'whole domain in front': known(
    draw =>
      `http://www.${draw(targets)}.com.${draw(innocentNames)}-${draw(acts)}.${draw(plainSuffixes)}/${draw(kits)}`,
  ),
  'acts under a cheap suffix': known(
    draw => `https://${draw(acts)}-${draw(acts)}-${draw(innocentNames)}.${draw(cheapSuffixes)}/${draw(kits)}`,
  ),
  'name under a cheap suffix': known(
    draw =>
      `https://${draw(targets)}.${draw(cheapSuffixes)}/${draw(['login', 'verify/account', 'signin', 'confirm'])}`,
  ),
  'site that was broken into': known(
    draw => `http://${draw(brokenInto)}/${draw(folders)}/${draw(targets)}/${draw(kits)}`,
  ),
  'bare address': known(draw => `http://${octets(draw)}/${draw(targets)}/${draw(kits)}`),
  'free page with a name': known(draw => `https://${draw(targets)}-${draw(acts)}.${draw(free)}/`),
  'digits for letters': known(
    draw =>
      `https://${draw(words('paypa1 rnicrosoft arnazon netf1ix faceb00k g00gle app1e-id 1nstagram micr0soft wellsfarg0'))}.${draw(plainSuffixes)}/${draw(['', 'login', 'verify'])}`,
  ),
  'foreign letters': known(
    draw =>
      `https://${draw(['раypal', 'аррӏе', 'gооgle', 'micrоsоft', 'fаcebook', 'аmazon', 'nеtflix', 'whаtsapp', 'сhase', 'βinance'])}.${draw(['com', 'net', 'org'])}/${draw(['', 'login', 'account'])}`,
  ),
  'one letter wrong': known(
    draw =>
      `https://${draw(words('paypall gooogle amazom netfilx microsft facebok instagrm whatsap wellsfarqo outlok'))}.${draw(plainSuffixes)}/${draw(['signin', 'login', 'verify', 'password/reset'])}`,
  ),
  'random name with a kit': known(
    draw =>
      `https://${draw(randomNames)}.${draw(cheapSuffixes)}/${draw(targets)}/${draw(kits)}?id=${draw(randomNames)}`,
  ),

  'bank by the hyphen': known(
    draw =>
      `https://${draw(banks)}-${draw(words('online mobile kunden clientes particulier app'))}.${draw(plainSuffixes)}/${draw(words('anmelden connexion acceso login inloggen entrar'))}`,
  ),
  'wallet giveaway': held(
    draw =>
      `https://${draw(coins)}-${draw(words('airdrop connect restore claim web3 sync'))}.${draw([...cheapSuffixes, 'io', 'app', 'finance'])}/${draw(words('connect-wallet claim seed-phrase restore unlock'))}`,
  ),
  'parcel waiting': known(
    draw =>
      `https://${draw(moreTargets)}-${draw(words('parcel delivery tracking paket colis redelivery'))}${draw(['', '-fee', '24', '-info'])}.${draw([...cheapSuffixes, ...plainSuffixes])}/${draw(words('track pay confirm update'))}`,
  ),
  'mail box is full': held(
    draw =>
      `https://${draw([...innocentNames, ...randomNames])}.${draw(free)}/${draw(words('webmail owa mailbox roundcube'))}/${draw(kits)}#${draw(victims)}`,
  ),
  'deep subdomains': held(
    draw =>
      `https://${draw(acts)}.${draw(targets)}.${draw(acts)}.${draw(randomNames)}.${draw(innocentNames)}.${draw(plainSuffixes)}/`,
  ),
  'written in escapes': held(
    draw =>
      `http://${draw(innocentNames)}-${draw(words('media group hosting'))}.${draw(plainSuffixes)}/%6c%6f%67%69%6e/${draw(targets)}/%76%65%72%69%66%79.php`,
  ),
  'shared document': held(
    draw =>
      `https://${draw(words('onedrive sharepoint docusign dropbox adobe'))}${draw(words('-secure -docs file -online documents'))}.${draw([...plainSuffixes, 'web.app', 'pages.dev'])}/${draw(words('view verify login'))}?email=${draw(victims)}`,
  ),
  'plain site, nothing to see': held(
    draw =>
      `https://www.${draw(innocentNames)}-${draw(words('studio media supply trading'))}.${draw(plainSuffixes)}/${draw(words('invoice fax voicemail doc'))}/${draw(randomNames)}`,
  ),
  'behind a shortener': held(
    draw => `https://${draw(words('bit.ly cutt.ly is.gd rb.gy tinyurl.com'))}/${draw(randomNames)}`,
  ),
  'odd port of an address': held(
    draw =>
      `http://${octets(draw)}:${draw(words('8080 8443 2083 81'))}/${draw(words('owa webmail bank account'))}/${draw(kits)}`,
  ),
  'tax refund': held(
    draw =>
      `https://${draw(words('irs hmrc ato impots finanzamt revenue agenzia-entrate'))}-${draw(words('refund rebate tax-return erstattung rimborso'))}.${draw(plainSuffixes)}/${draw(words('claim form apply id-check'))}`,
  ),
  'prize survey': held(
    draw =>
      `http://${draw(words('walmart amazon costco lidl tesco ikea'))}-${draw(words('survey reward giveaway gift-card'))}.${draw([...cheapSuffixes, ...plainSuffixes])}/win?uid=${draw(randomNames)}`,
  ),
  'notice in a subdomain': held(
    draw =>
      `https://${draw(targets)}.${draw(innocentNames)}-${draw(words('services portal center desk'))}.${draw(plainSuffixes)}/${draw(acts)}/${draw(randomNames)}`,
  ),
  'page without a server': held(
    draw =>
      `https://${draw(words('ipfs.io cloudflare-ipfs.com dweb.link gateway.pinata.cloud'))}/ipfs/Qm${draw(randomNames)}${draw(randomNames)}/${draw(kits)}#${draw(victims)}`,
  ),
};

const perRecipe = 25;

/** The same every time. In the spelling that Terse stores. */
export function phishingUrls(): PhishingUrl[] {
  return Object.entries(recipes).flatMap(([recipe, { heldOut, make }], index) => {
    const random = seededRandom(index + 1);
    const draw: Draw = items => items[Math.floor(random.float() * items.length)]!;
    const urls = new Set<string>();
    // Some recipes have few variations; what they have counts once.
    for (let attempt = 0; urls.size < perRecipe && attempt < perRecipe * 20; attempt += 1)
      urls.add(new URL(make(draw)).href);
    return [...urls].map(url => ({ recipe, heldOut, url }));
  });
}

function known(make: Recipe['make']): Recipe {
  return { heldOut: false, make };
}

function held(make: Recipe['make']): Recipe {
  return { heldOut: true, make };
}

function octets(draw: Draw): string {
  return ['198', '203', '45', '185']
    .map((first, at) => (at === 0 ? draw([first, '91', '103']) : draw(words('7 23 64 113 204'))))
    .join('.');
}

function words(text: string): string[] {
  return text.split(' ');
}
