/**
 * Names that phishing pretends to be, each with the domains that are theirs though their label is another. A domain
 * whose own label is exactly the name counts as theirs under any ordinary suffix (`amazon.co.jp`) and is not listed.
 * The table is not about who is important: it holds what is imitated most, and a name in it should be rare as a part
 * of other names.
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

/** From a name to the domains that are its owner's too. */
export const brandDomains: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  table
    .trim()
    .split(/\n\s*(?=\S+:)/)
    .map(row => {
      const [brand = '', domains = ''] = row.split(':');
      return [brand.trim(), new Set(domains.split(/\s+/).filter(domain => domain !== ''))];
    }),
);

/** Words one letter away from a name above that are words all the same. */
export const innocentNeighbours: ReadonlySet<string> = new Set(
  `finance discard strike strip stripes striped revolt goggle goggles toggle barclay linkedn outlooks blockchains
   hotmail email amazone amazons snapchats googles vodafones`.split(/\s+/),
);
