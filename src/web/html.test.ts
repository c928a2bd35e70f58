import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { escapeText, Html, html } from './html.ts';

/** Strings made mostly of characters that break out of text and attributes. */
const hostileText = fc.oneof(
  fc.string({ unit: fc.constantFrom('<', '>', '"', "'", '&', '/', 'a', ' ', '=', ';', '\u0000', '`') }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('</title><script>alert(1)</script>', '" onmouseover="alert(1)', '&lt;b&gt;', ']]>'),
);

/** What a browser shows for our escapes; the inverse of the five replacements, written independently of them. */
function shownBy(markup: string): string {
  return markup
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

describe('html', () => {
  test('lets no character of a value end a text or a quoted attribute', () => {
    fc.assert(
      fc.property(hostileText, text => {
        expect(html`${text}`.toString()).not.toMatch(/[<>"']/);
        expect(html`${text}`.toString()).not.toMatch(/&(?!(amp|lt|gt|quot|#39);)/);
      }),
    );
  });

  test('shows every printable text exactly as it was given', () => {
    const printable = hostileText.filter(text => !/[\p{Cc}]/u.test(text));
    fc.assert(fc.property(printable, text => expect(shownBy(escapeText(text))).toBe(text)));
  });

  test('puts hostile text into a parsed document as one text and one attribute, with no new element', async () => {
    const parsable = hostileText.filter(text => text.isWellFormed());
    await fc.assert(
      fc.asyncProperty(parsable, async text => {
        const elements: string[] = [];
        let attributeCount = 0;
        const rewriter = new HTMLRewriter().on('*', {
          element(element) {
            elements.push(element.tagName);
            attributeCount += [...element.attributes].length;
          },
        });
        await rewriter.transform(new Response(html`<p title="${text}">${text}</p>`.toString())).text();
        expect(elements).toEqual(['p']);
        expect(attributeCount).toBe(1);
      }),
    );
  });

  test('replaces control characters, which no document may hold', () => {
    expect(html`${'a\u0000b\u001Bc\u0085d'}`.toString()).toBe('a\uFFFDb\uFFFDc\uFFFDd');
    expect(html`${'line\n\ttab'}`.toString()).toBe('line\n\ttab');
  });

  test('does not escape markup twice', () => {
    const inner = html`<b>${'<'}</b>`;
    expect(html`<p>${inner}</p>`.toString()).toBe('<p><b>&lt;</b></p>');
  });

  test('joins lists, however deep, escaping each member', () => {
    expect(html`${['<', [html`<i></i>`, ['&']]]}`.toString()).toBe('&lt;<i></i>&amp;');
  });

  test('renders nothing for what is absent, and zero as zero', () => {
    expect(html`[${null}${undefined}${false}${''}${0}]`.toString()).toBe('[0]');
  });

  test('cannot be forged by an object that looks like markup', () => {
    const forged = { toString: () => '<script>' } as unknown as string;
    expect(html`${forged}`.toString()).toBe('&lt;script&gt;');
    expect(() => new Html(Symbol('html construction') as never, '<script>')).toThrow(TypeError);
  });
});
