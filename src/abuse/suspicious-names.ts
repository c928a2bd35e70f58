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
/** A host is short and every word in it is chosen, so more words count. */
export const hostWords = anyOf([...accountWords, ...hostOnlyWords]);

/** Suffixes that abuse favours because their names cost next to nothing. */
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
