/** Sites that nearly all people would call harmless, by kind, so that each gets the paths of its kind. */
export const benignSites: Readonly<Record<SiteKind, readonly string[]>> = {
  news: sites(`
    www.bbc.co.uk www.nytimes.com www.theguardian.com www.washingtonpost.com edition.cnn.com www.reuters.com apnews.com
    www.spiegel.de www.zeit.de www.faz.net www.sueddeutsche.de www.lemonde.fr www.lefigaro.fr www.liberation.fr
    elpais.com www.elmundo.es www.corriere.it www.repubblica.it www.nrc.nl nos.nl www.vrt.be www.svt.se www.dn.se
    www.aftenposten.no yle.fi www.hs.fi www.dr.dk politiken.dk www.irozhlas.cz www.gazeta.pl wyborcza.pl www.index.hu
    www.kathimerini.gr www.hurriyet.com.tr www.haaretz.com www.aljazeera.net www.alarabiya.net timesofindia.indiatimes.com
    www.thehindu.com www.dawn.com www.scmp.com www.asahi.com www.nikkei.com mainichi.jp www.chosun.com www.hani.co.kr
    www.abc.net.au www.smh.com.au www.nzherald.co.nz www.cbc.ca www.globo.com g1.globo.com www.folha.uol.com.br
    www.clarin.com www.lanacion.com.ar www.eltiempo.com www.outlookindia.com mg.co.za www.news24.com www.nation.africa
    punchng.com www.economist.com www.ft.com www.wsj.com www.bloomberg.com techcrunch.com arstechnica.com www.theverge.com
    www.wired.com www.telegram.hr
  `),
  shop: sites(`
    www.amazon.com www.amazon.de www.amazon.co.jp www.amazon.com.br www.amazon.in www.ebay.com www.ebay.co.uk www.etsy.com
    www.walmart.com www.target.com www.bestbuy.com www.ikea.com www.zalando.de www.otto.de www.bol.com www.coolblue.nl
    www.fnac.com www.cdiscount.com www.elcorteingles.es www.mercadolibre.com.ar www.mercadolivre.com.br www.aliexpress.com
    www.alibaba.com www.taobao.com www.jd.com www.rakuten.co.jp www.flipkart.com www.myntra.com www.shopee.sg www.lazada.com.my
    www.takealot.com www.jumia.com.ng www.ozon.ru www.wildberries.ru allegro.pl www.emag.ro www.alza.cz www.kaufland.de
    www.decathlon.fr www.hm.com www.uniqlo.com www.nike.com www.adidas.de www.apple.com store.steampowered.com www.booking.com
    www.airbnb.com www.expedia.com www.tripadvisor.com www.thalia.de www.bookshop.org
  `),
  tech: sites(`
    github.com gitlab.com stackoverflow.com apple.stackexchange.com security.stackexchange.com developer.mozilla.org
    docs.python.org www.rust-lang.org doc.rust-lang.org go.dev pkg.go.dev nodejs.org bun.sh deno.com www.typescriptlang.org
    react.dev vuejs.org svelte.dev angular.dev kubernetes.io docs.docker.com www.postgresql.org www.sqlite.org redis.io
    kafka.apache.org clickhouse.com aws.amazon.com docs.aws.amazon.com cloud.google.com learn.microsoft.com azure.microsoft.com
    developers.google.com developer.apple.com developer.android.com google.github.io microsoft.github.io facebook.github.io
    pages.github.com raw.githubusercontent.com www.npmjs.com crates.io pypi.org rubygems.org packagist.org hub.docker.com
    huggingface.co arxiv.org news.ycombinator.com lobste.rs dev.to medium.com netflixtechblog.com engineering.fb.com
    stripe.com docs.stripe.com www.cloudflare.com blog.cloudflare.com vercel.com www.netlify.com fly.io www.heroku.com
    grafana.com prometheus.io sentry.io www.datadoghq.com slack.com zoom.us www.notion.so linear.app www.figma.com
    www.atlassian.com letsencrypt.org www.eff.org www.w3.org www.ietf.org datatracker.ietf.org www.unicode.org
  `),
  reference: sites(`
    en.wikipedia.org de.wikipedia.org fr.wikipedia.org ja.wikipedia.org ru.wikipedia.org zh.wikipedia.org ar.wikipedia.org
    commons.wikimedia.org www.wikidata.org www.britannica.com www.merriam-webster.com dict.leo.org www.duden.de
    www.imdb.com www.goodreads.com openlibrary.org archive.org web.archive.org www.gutenberg.org scholar.google.com
    www.nature.com www.science.org www.cell.com pubmed.ncbi.nlm.nih.gov www.jstor.org doi.org orcid.org
    www.openstreetmap.org www.google.com maps.google.com maps.app.goo.gl www.wolframalpha.com www.khanacademy.org
    www.coursera.org www.edx.org www.mit.edu www.stanford.edu www.ox.ac.uk www.cam.ac.uk www.ethz.ch www.tum.de
    www.u-tokyo.ac.jp www.unam.mx www.usp.br www.uct.ac.za
  `),
  public: sites(`
    www.gov.uk www.usa.gov www.irs.gov www.nasa.gov www.nih.gov www.cdc.gov login.gov www.ssa.gov www.bundesregierung.de
    www.bundestag.de www.bmf.de www.elster.de www.impots.gouv.fr www.service-public.fr www.agenziaentrate.gov.it www.belastingdienst.nl
    www.digid.nl www.gob.mx www.gov.br www.argentina.gob.ar www.canada.ca www.australia.gov.au my.gov.au www.govt.nz www.gov.za
    www.india.gov.in uidai.gov.in www.gov.sg www.gov.hk www.mofa.go.jp www.gov.pl www.skatteverket.se www.altinn.no www.suomi.fi
    europa.eu ec.europa.eu www.ecb.europa.eu www.un.org www.who.int www.worldbank.org www.imf.org www.nato.int www.wto.org
    www.admin.ch www.oesterreich.gv.at www.gov.ie www.eesti.ee www.e-estonia.com
  `),
  bank: sites(`
    www.chase.com www.bankofamerica.com www.wellsfargo.com www.citi.com www.capitalone.com www.americanexpress.com
    www.hsbc.co.uk www.barclays.co.uk www.lloydsbank.com www.natwest.com www.nationwide.co.uk www.deutsche-bank.de
    www.commerzbank.de www.sparkasse.de www.ing.de www.dkb.de www.n26.com www.bnpparibas.fr www.credit-agricole.fr
    www.societegenerale.fr www.santander.com www.bbva.es www.unicredit.it www.rabobank.nl www.abnamro.nl www.nordea.com
    www.ubs.com www.paypal.com wise.com www.revolut.com www.coinbase.com www.binance.com www.kraken.com www.itau.com.br
    www.bradesco.com.br nubank.com.br www.commbank.com.au www.westpac.com.au www.rbc.com www.td.com www.mufg.jp www.icbc.com.cn
    www.sbi.co.in www.hdfcbank.com www.standardbank.co.za www.visa.com www.mastercard.com
  `),
  social: sites(`
    www.facebook.com m.facebook.com www.instagram.com www.linkedin.com x.com twitter.com www.tiktok.com www.reddit.com
    old.reddit.com www.youtube.com youtu.be www.twitch.tv vimeo.com www.dailymotion.com open.spotify.com soundcloud.com
    bandcamp.com www.pinterest.com www.tumblr.com mastodon.social bsky.app t.me wa.me discord.gg discord.com
    steamcommunity.com www.roblox.com weibo.com www.zhihu.com www.bilibili.com vk.com ok.ru line.me www.quora.com
    www.meetup.com www.eventbrite.com www.change.org www.patreon.com www.kickstarter.com www.strava.com www.flickr.com
  `),
  cloud: sites(`
    docs.google.com drive.google.com forms.gle calendar.google.com photos.app.goo.gl www.dropbox.com 1drv.ms onedrive.live.com
    contoso.sharepoint.com teams.microsoft.com outlook.office.com outlook.live.com mail.google.com app.slack.com
    us02web.zoom.us meet.google.com calendly.com www.typeform.com www.surveymonkey.com app.asana.com trello.com miro.com
    airtable.com wetransfer.com we.tl box.com www.canva.com mailchi.mp us4.campaign-archive.com app.hubspot.com
    d111111abcdef8.cloudfront.net my-bucket.s3.amazonaws.com storage.googleapis.com myapp.azurewebsites.net
    my-portfolio.netlify.app my-project.vercel.app docs-site.pages.dev gardening-blog.blogspot.com bakery.wordpress.com
    choir-of-ulm.weebly.com jane-doe.github.io band-name.bandcamp.com smallshop.myshopify.com newsletter.substack.com
    status.openai.com chatgpt.com gemini.google.com claude.ai
  `),
  small: sites(`
    www.backerei-schmidt.de www.le-petit-jardin.fr www.trattoria-da-luigi.it www.fahrradladen-nord.de blog.kleiner-garten.net
    www.st-marys-school.org.uk www.rotary-leiden.nl www.kayak-club-bern.ch www.village-bakery.co.nz www.green-valley-farm.com
    www.dr-mueller-zahnarzt.de www.family-law-smith.com.au abc.xyz www.gen.xyz every.to www.producthunt.com linktr.ee
    www.alpineclub.org www.chess.com lichess.org www.boardgamegeek.com www.allrecipes.com www.chefkoch.de www.marmiton.org
    www.komoot.com www.alltrails.com www.windy.com www.timeanddate.com www.xe.com www.speedtest.net www.virustotal.com
    www.signal.org www.torproject.org www.mozilla.org www.1password.com bitwarden.com www.lastpass.com www.passwordstore.org
    haveibeenpwned.com www.verywellhealth.com www.healthline.com www.mayoclinic.org www.webmd.com www.nhs.uk
  `),
  international: sites(`
    bücher.de müller.de www.bäckerei-süß.de köln.de zürich.ch österreich.at münchen.de straße.de www.café-crème.fr
    crédit-mutuel.fr été.fr www.señor-tacos.mx español.es www.año-nuevo.es københavn.dk smörgåsbord.se åland.fi
    łódź.pl żółw.pl čeština.cz www.průhonice.cz kávéház.hu türkiye.com.tr кремль.рф правительство.рф почта.рф пример.рф
    яндекс.рф госуслуги.рф президент.рф новости.бел правда.укр пошта.укр ελλάδα.ελ παράδειγμα.ελ ελλάδα.gr 例え.jp
    日本語.jp www.ドメイン.jp 総務省.jp 中国政府.政务.cn 清华大学.中国 百度.中国 新华网.中国 香港.香港 台灣.tw 한국.kr 삼성.kr
    네이버.한국 ไทย.ไทย ทดสอบ.com भारत.भारत उदाहरण.com مثال.إختبار موقع.وزارة-الاتصالات.مصر السعودية.السعودية
    اتصالات.امارات ישראל.co.il עברית.com հայաստան.հայ საქართველო.გე việt-nam.vn www.hà-nội.vn
  `),
};

export type SiteKind =
  | 'news'
  | 'shop'
  | 'tech'
  | 'reference'
  | 'public'
  | 'bank'
  | 'social'
  | 'cloud'
  | 'small'
  | 'international';

function sites(text: string): string[] {
  return text.trim().split(/\s+/);
}
