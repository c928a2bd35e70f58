/**
 * The guarantees of every page, for any content. Each page's test calls this with views as hostile as possible; the
 * checks read the finished markup the way a browser would, not the templates.
 */
import { describe, expect, test } from 'bun:test';
import { assets } from './assets.ts';
import { docsFileHandlers } from './docs-page.ts';

/** Text that breaks out of a careless template: it ends titles, attributes, comments and scripts. */
export const hostileText = `</title></h1>--><script>alert(1)</script><img src=x onerror=alert(1)>" onload="x' style='x &amp; \u0000`;

const served = new Set([...assets.keys(), ...Object.keys(docsFileHandlers())]);

const voidElements = new Set(['area', 'br', 'hr', 'img', 'input', 'link', 'meta', 'wbr']);

interface ParsedElement {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
}

export async function elementsOf(page: string): Promise<ParsedElement[]> {
  const elements: ParsedElement[] = [];
  const rewriter = new HTMLRewriter().on('*', {
    element: element => {
      elements.push({
        name: element.tagName,
        attributes: new Map([...element.attributes] as [string, string][]),
      });
    },
  });
  await rewriter.transform(new Response(page)).text();
  return elements;
}

/** The names of elements left open or closed out of order; a self-closed SVG shape counts as closed. */
export function unbalancedTags(page: string): string[] {
  const open: string[] = [];
  for (const [, slash, name, rest] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)([^<>]*)>/gi)) {
    if (name === undefined || voidElements.has(name) || rest?.endsWith('/')) continue;
    if (slash === '') open.push(name);
    else if (open.at(-1) === name) open.pop();
    else return [...open, `/${name}`];
  }
  return open;
}

export function describePage(name: string, render: () => string): void {
  describe(`${name}, as any page`, () => {
    const elementsNamed = async (wanted: string): Promise<ParsedElement[]> =>
      (await elementsOf(render())).filter(element => element.name === wanted);

    test('closes every element it opens, in order', () => {
      expect(unbalancedTags(render())).toEqual([]);
    });

    test('has a language, one title, one main landmark and one first heading', async () => {
      expect(render()).toStartWith('<!DOCTYPE html>\n<html lang="en">');
      for (const single of ['title', 'main', 'h1']) expect(await elementsNamed(single)).toHaveLength(1);
    });

    test('carries no inline script, style or event handler', async () => {
      const elements = await elementsOf(render());
      const inlineScripts = elements.filter(
        ({ name, attributes }) => name === 'script' && !attributes.has('src'),
      );
      const attributeNames = elements.flatMap(({ attributes }) => [...attributes.keys()]);
      expect(inlineScripts).toEqual([]);
      expect(elements.some(element => element.name === 'style')).toBe(false);
      expect(attributeNames.filter(attribute => attribute === 'style' || attribute.startsWith('on'))).toEqual(
        [],
      );
    });

    test('loads only assets that this server has', async () => {
      const loading = (await elementsOf(render())).flatMap(({ name, attributes }) =>
        name === 'link' ? [attributes.get('href')] : attributes.has('src') ? [attributes.get('src')] : [],
      );
      expect(loading.length).toBeGreaterThan(0);
      for (const url of loading) expect(served.has(String(url).replace(/\?v=[0-9a-f]+$/, ''))).toBe(true);
    });

    test('links within this server, to a place in the page, or out without a referrer', async () => {
      const elements = await elementsOf(render());
      const ids = new Set(elements.map(element => element.attributes.get('id')));
      for (const { attributes } of elements.filter(element => element.name === 'a')) {
        const href = attributes.get('href');
        if (href === undefined || /^\/(?!\/)/.test(href)) continue;
        if (href.startsWith('#')) expect(ids.has(href.slice(1))).toBe(true);
        else {
          expect(href).toMatch(/^https?:\/\//);
          expect(attributes.get('rel')).toBe('noopener noreferrer nofollow');
        }
      }
    });

    test('uses each id once and names only ids that exist', async () => {
      const elements = await elementsOf(render());
      const ids = elements.flatMap(element => element.attributes.get('id') ?? []);
      expect(new Set(ids).size).toBe(ids.length);
      const pointers = ['for', 'aria-labelledby', 'aria-describedby'];
      const named = elements.flatMap(({ attributes }) =>
        pointers.flatMap(pointer => attributes.get(pointer) ?? []),
      );
      for (const id of named) expect(ids).toContain(id);
    });

    test('labels every field', async () => {
      const labelled = (await elementsNamed('label')).map(label => label.attributes.get('for'));
      for (const input of await elementsNamed('input'))
        expect(labelled).toContain(input.attributes.get('id'));
    });
  });
}
