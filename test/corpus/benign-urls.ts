/** Harmless URLs as people shorten them: pages of well-known sites, their login pages, and long tails of parameters. */
import { benignSites, type SiteKind } from './benign-sites.ts';

/** Paths that such sites really have, or might; each site gets some of its kind. */
const pathsByKind: Readonly<Record<SiteKind, readonly string[]>> = {
  news: [
    '/2026/03/14/world/europe/election-results-live-updates.html',
    '/politik/ausland/wahl-in-polen-die-lage-am-abend-a-8f0c2a41-5d2e',
    '/technology/2026/jan/12/how-to-reset-your-facebook-password-after-a-breach',
    '/article/apple-verification-codes-explained-1.2345678?utm_source=newsletter&utm_medium=email&utm_campaign=morning',
    '/sport/football/68123456',
    '/account/subscribe?offer=spring',
  ],
  shop: [
    '/dp/B0C1234567/ref=sr_1_3?crid=2X9&keywords=usb+c+kabel&qid=1700000000&sprefix=usb%2Caps%2C123&sr=8-3',
    '/p/running-shoes-blue-42/1029384756?color=blue&size=42',
    '/account/orders',
    '/signin?returnUrl=%2Fcart',
    '/c/garten/moebel?sort=price&page=3',
    '/gift-cards/claim?code=SPRING',
  ],
  tech: [
    '/en-US/docs/Web/API/Credential_Management_API',
    '/torvalds/linux/blob/master/Documentation/process/coding-style.rst#L120',
    '/questions/4478/how-do-i-validate-an-email-address',
    '/login?return_to=%2Fsettings%2Ftokens',
    '/search?q=unlock+mutex&type=code&l=rust&p=4',
    '/blog/2025-11-02-verifying-signatures-with-sigstore/',
  ],
  reference: [
    '/wiki/Password',
    '/wiki/Bank_account#History',
    '/search?q=how+to+bake+bread&hl=en&sxsrf=ALiCzsb1234567890abcdef%3A1700000000&ei=abc&oq=bake&gs_lcp=Cgdnd3Mtd2l6&sclient=gws-wiz',
    '/10.1038/s41586-024-07487-w',
    '/title/tt0111161/?ref_=nv_sr_srsg_0',
    '/login',
  ],
  public: [
    '/government/publications/income-tax-rates-and-allowances-current-and-past',
    '/apply-for-passport/confirm-identity',
    '/en/services/account/login?lang=en',
    '/documents/2026/report_final_v2.pdf',
    '/search?query=child+benefit&page=2',
    '/verify-your-identity/help',
  ],
  bank: [
    '/login',
    '/personal/accounts/savings?icid=hp_hero_savings',
    '/security/report-phishing',
    '/signin/forgot-password',
    '/en/online-banking/activate',
    '/privatkunden/konten-karten/girokonto.html',
  ],
  social: [
    '/watch?v=dQw4w9WgXcQ&list=PL1234567890&index=7&t=42s&pp=ygUJcmljayByb2xs',
    '/some.user/posts/pfbid02abcdefgHIJKLMNOP1234567890',
    '/r/programming/comments/1abcde/why_i_left_my_password_manager/?utm_source=share&utm_medium=web2x&context=3',
    '/events/2026-summer-party',
    '/accounts/login/?next=%2Fdirect%2Finbox%2F',
    '/p/CxYz12345Ab/?igsh=MTIzNDU2Nzg5MA==',
  ],
  cloud: [
    '/document/d/1aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789abcd/edit?usp=sharing',
    '/forms/d/e/1FAIpQLSabcdefghijklmnopqrstuvwxyz0123456789/viewform?usp=pp_url&entry.1=Jane',
    '/s/abc123def456/holiday-photos.zip?dl=0',
    '/j/84512345678?pwd=QmFzZTY0U3RyaW5nSGVyZQ.1',
    '/about',
    '/r/eur03/s/AbCdEf?x=1&email=jane.doe@contoso.com',
  ],
  small: [
    '/',
    '/kontakt',
    '/menu-2026.pdf',
    '/blog/2024/05/unser-neuer-ofen?utm_source=facebook&fbclid=IwAR0abcdefghijklmnopqrstuvwxyz0123456789',
    '/my-account/',
    '/wp-content/uploads/2025/02/spring-menu.jpg',
  ],
  international: [
    '/',
    '/über-uns',
    '/новости/2026/',
    '/検索?q=パスワード',
    '/login',
    '/kontakt?lang=de#öffnungszeiten',
  ],
};

/** Where people of well-known services really sign in: all of it must stay possible to share. */
const signInPages = `
  https://accounts.google.com/v3/signin/identifier?continue=https%3A%2F%2Fmail.google.com%2Fmail%2Fu%2F0%2F&flowName=GlifWebSignIn
  https://accounts.google.com/o/oauth2/v2/auth?client_id=1234.apps.googleusercontent.com&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcallback&response_type=code&scope=openid%20email
  https://myaccount.google.com/security-checkup
  https://login.microsoftonline.com/common/oauth2/v2.0/authorize?client_id=4345a7b9-9a63-4910-a426-35363201d503&response_mode=form_post
  https://login.live.com/login.srf?wa=wsignin1.0&rpsnv=13&ct=1700000000&rver=7.0.6738.0&wp=MBI_SSL
  https://account.live.com/password/reset
  https://appleid.apple.com/sign-in
  https://iforgot.apple.com/password/verify/appleid
  https://www.icloud.com/find
  https://www.amazon.com/ap/signin?openid.return_to=https%3A%2F%2Fwww.amazon.com%2F&openid.assoc_handle=usflex
  https://www.amazon.de/ap/forgotpassword
  https://www.paypal.com/signin?returnUri=https%3A%2F%2Fwww.paypal.com%2Fmyaccount%2Fsummary
  https://www.paypal.me/janedoe/25
  https://www.paypal-community.com/t5/Security/bd-p/security
  https://secure.chase.com/web/auth/dashboard#/dashboard/overview
  https://secure.bankofamerica.com/login/sign-in/signOnV2Screen.go
  https://connect.secure.wellsfargo.com/auth/login/present
  https://verified.capitalone.com/auth/signin
  https://online.citi.com/US/login.do
  https://www.americanexpress.com/en-us/account/login
  https://banking.sparkasse.de/login
  https://meine.deutsche-bank.de/trxm/db/init.do
  https://www.facebook.com/login/identify/?ctx=recover
  https://www.facebook.com/recover/initiate/
  https://business.facebook.com/latest/home
  https://www.instagram.com/accounts/password/reset/
  https://www.linkedin.com/checkpoint/lg/login
  https://x.com/i/flow/login
  https://www.netflix.com/login?nextpage=https%3A%2F%2Fwww.netflix.com%2FYourAccount
  https://www.netflix.com/password
  https://accounts.spotify.com/en/login?continue=https%3A%2F%2Fopen.spotify.com%2F
  https://store.steampowered.com/login/?redir=&redir_ssl=1
  https://help.steampowered.com/en/wizard/HelpWithLogin
  https://discord.com/login
  https://github.com/login/oauth/authorize?client_id=abcdef1234567890&scope=repo
  https://github.com/password_reset
  https://gitlab.com/users/sign_in
  https://id.atlassian.com/login?continue=https%3A%2F%2Fstart.atlassian.com%2F
  https://slack.com/signin#/signin
  https://zoom.us/signin
  https://www.dropbox.com/login
  https://account.docusign.com/username
  https://auth.services.adobe.com/en_US/index.html
  https://dashboard.stripe.com/login
  https://www.coinbase.com/signin
  https://accounts.binance.com/en/login
  https://www.kraken.com/sign-in
  https://metamask.io/download/
  https://login.yahoo.com/account/challenge/password
  https://outlook.office365.com/owa/?realm=contoso.com
  https://www.office.com/login?es=Click&ru=%2F
  https://signin.aws.amazon.com/signin?redirect_uri=https%3A%2F%2Fconsole.aws.amazon.com%2F
  https://portal.azure.com/#home
  https://console.cloud.google.com/iam-admin/serviceaccounts
  https://auth.openai.com/log-in
  https://signin.ebay.com/ws/eBayISAPI.dll?SignIn
  https://www.walmart.com/account/login
  https://login.aliexpress.com/
  https://www.dhl.de/de/privatkunden/kundenkonto/login.html
  https://www.fedex.com/secure-login/en-us/
  https://wwwapps.ups.com/doapp/signup
  https://reg.usps.com/entreg/LoginAction_input
  https://secure.login.gov/
  https://www.id.me/verify
  https://www.elster.de/eportal/login/softpse
  https://cfspart.impots.gouv.fr/LoginAccess
  https://www.digid.nl/inloggen
  https://login.belastingdienst.nl/
  https://oidc.account.gov.uk/authorize
  https://myaccount.nytimes.com/auth/login?response_type=cookie
  https://sso.tum.de/idp/profile/SAML2/Redirect/SSO?execution=e1s1
  https://login.ethz.ch/
  https://idp.u-tokyo.ac.jp/idp/profile/SAML2/Redirect/SSO
  https://en.wikipedia.org/w/index.php?title=Special:UserLogin&returnto=Main+Page
  https://wordpress.com/log-in
  https://auth.atlassian.com/authorize?audience=api.atlassian.com
  https://hub.docker.com/confirm-email/
  https://www.twitch.tv/login
  https://www.reddit.com/login/
  https://mail.proton.me/login
  https://vault.bitwarden.com/#/login
  https://my.1password.com/signin
  https://www.roblox.com/login
  https://account.sonos.com/
  https://accounts.shopify.com/lookup
  https://auth0.com/docs/authenticate/login
  https://www.okta.com/blog/2025/02/account-recovery/
`;

/** Everyday oddities: long queries, ports, addresses at home, other shorteners, e-mail addresses in newsletters. */
const oddities = `
  http://192.168.1.1/
  http://192.168.178.1:8080/cgi-bin/luci/
  http://10.0.0.12:3000/dashboards
  http://localhost:5173/login
  http://intranet/wiki/Start
  http://nas.local:5000/
  https://bit.ly/3AbCdEf
  https://tinyurl.com/2p8abcde
  https://t.co/AbCdEf1234
  https://goo.gl/maps/abcdef
  https://forms.gle/abcdefghij
  https://lnkd.in/eAbCdEf
  https://g.co/kgs/abcdef
  https://click.newsletter.example.com/unsubscribe?email=jane.doe@example.com&list=12
  https://u1234567.ct.sendgrid.net/ls/click?upn=u001.aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789-2BaBcDeFgHiJk-3D-3D
  https://nam02.safelinks.protection.outlook.com/?url=https%3A%2F%2Fexample.com%2Fpage&data=05%7C01%7Cjane%40contoso.com%7C1234&reserved=0
  https://www.google.com/url?q=https://example.com/login&sa=D&source=calendar&usd=2&usg=AOvVaw0
  https://l.facebook.com/l.php?u=https%3A%2F%2Fexample.com%2F&h=AT0abc
  https://www.youtube.com/redirect?event=video_description&redir_token=QUFFLUhq&q=https%3A%2F%2Fexample.com
  https://web.archive.org/web/20240101000000/https://www.paypal.com/signin
  https://translate.google.com/translate?sl=auto&tl=en&u=https://www.spiegel.de/
  https://docs.google.com/spreadsheets/d/1aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789abcd/edit#gid=0
  https://s3.eu-central-1.amazonaws.com/my-bucket/2026/report.pdf?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIA%2F20260101%2Feu-central-1%2Fs3%2Faws4_request&X-Amz-Date=20260101T000000Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host&X-Amz-Signature=abcdef0123456789
  https://cdn.jsdelivr.net/npm/bootstrap@5.3.0/dist/css/bootstrap.min.css
  https://unpkg.com/react@18/umd/react.production.min.js
  https://a.b.c.d.e.example.org/deep/subdomain
  https://ec2-203-0-113-25.compute-1.amazonaws.com/
  https://build-1234.ci.eu-west-1.internal.example.com/job/main/lastBuild/console
  https://my-app-git-feature-login-team.vercel.app/login
  https://feature-login--my-site.netlify.app/
  https://preview.redd.it/abc123.jpg?width=1080&crop=smart&auto=webp&s=0123456789abcdef
  https://www.example.com/%E3%83%91%E3%82%B9%E3%83%AF%E3%83%BC%E3%83%89
  https://www.example.com/search?q=%22password+reset%22+site%3Aexample.com
  https://www.example.com/a%20file%20with%20spaces.pdf
  https://shop.example.co.uk/checkout/payment?session=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc
  https://example.org/.well-known/security.txt
  https://example.org/wp-content/uploads/2024/01/brochure.pdf
  https://example.org/cgi-bin/guestbook.pl?page=2
  https://verify.example.org/email?token=0123456789abcdef
  https://login.example-university.edu/cas/login?service=https%3A%2F%2Fportal.example-university.edu%2F
`;

const lines = (text: string): string[] => text.trim().split(/\s*\n\s*/);
const pathsPerSite = 3;

/** In the spelling that Terse stores. Made the same way every time. */
export function benignUrls(): string[] {
  const pages = Object.entries(benignSites).flatMap(([kind, hosts]) => {
    const paths = pathsByKind[kind as SiteKind];
    return hosts.flatMap((host, index) =>
      Array.from(
        { length: pathsPerSite },
        (_, turn) => `https://${host}${paths[(index + turn) % paths.length]}`,
      ),
    );
  });
  return [...new Set([...pages, ...lines(signInPages), ...lines(oddities)].map(url => new URL(url).href))];
}
