import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { readSource } from './tidy-source.ts';

describe('the reader of sources', () => {
  const codeOf = (text: string) => readSource('src/x.ts', text).code;

  test('keeps every view as long as the file and its lines where they are', () => {
    const linesOf = (text: string) => text.split('\n').map(line => line.length);
    const piece = fc.constantFrom(...'ab /*\'"`\\\n{}[]()$'.split(''), '//', '/*', '*/', '\u0024{', 'return');
    fc.assert(
      fc.property(fc.array(piece), pieces => {
        const { text, code, comments } = readSource('src/x.ts', pieces.join(''));
        expect(linesOf(code)).toEqual(linesOf(text));
        expect(linesOf(comments)).toEqual(linesOf(text));
      }),
    );
  });

  test.each([
    ['a line comment', 'a // b\nc', 'a     \nc'],
    ['a block comment', 'a /* b\n */ c', 'a     \n    c'],
    ['a string', "a('b')", "a(' ')"],
    ['an escaped quote', "a('b\\'c') + d", "a('    ') + d"],
    ['a comment mark in a string', "a('//') + b", "a('  ') + b"],
    ['a quote in a comment', "a // it's\nb", 'a        \nb'],
    ['a template', 'a(`b `) + c', 'a(`  `) + c'],
    ['code inside of a template', `a(\`b \${c + \`d\`} e\`) + f`, 'a(`   {c + ` `}  `) + f'],
    ['braces inside of a template', `a(\`b \${{ c: {} }} d\`) + e`, 'a(`   {{ c: {} }}  `) + e'],
    ['a brace behind a template', `{ a(\`\${b}\`); } 'c'`, "{ a(` {b}`); } ' '"],
    ['a regular expression', "a(/'b/) + c", 'a(/  /) + c'],
    ['a slash in a character class', 'a = /[/"]b/g + c', 'a = /     /g + c'],
    ['a division', "a / b / 'c'", "a / b / ' '"],
    ['a regular expression after return', 'return /"/', 'return / /'],
    ['an apostrophe in markup', "<p>don't</p>\nb", "<p>don'     \nb"],
    ['an unfinished comment', 'a /* b', 'a     '],
    ['a comment on the last line', 'a // b', 'a     '],
  ])('knows %s', (_what, text, code) => {
    expect(codeOf(text)).toBe(code);
  });

  test('sees every way to import', () => {
    const text = `
      import a from './a.ts';
      import type { B } from './b.ts';
      import { c,
        d } from "../c.ts";
      import './d.ts';
      export { e } from './e.ts';
      export * from './f.ts';
      const g = await import('./g.ts');
      type H = import('./h.ts').H;
      const i = require('./i.ts');
      new Worker(new URL('./j.ts', import.meta.url));
      import k from 'hono';
      const from = './not-an-import.ts';
      export const l = './not-an-import.ts';
      // import m from './not-an-import.ts';
      const n = "import m from './not-an-import.ts'";
      new URL('/not-an-import', request.url);
    `;
    const targets = readSource('src/x/y.ts', text).imports.map(({ target }) => target);
    const own = ['a', 'b'].map(name => `src/x/${name}.ts`);
    const rest = [...'defghij'].map(name => `src/x/${name}.ts`);
    expect(targets).toEqual([...own, 'src/c.ts', ...rest, 'hono']);
  });
});
