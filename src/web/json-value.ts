/**
 * Reading JSON of unknown shape without trusting it: each reader returns something usable whatever it is
 * given, so that an odd document makes a poorer page and never a failing one.
 */
export type JsonObject = Readonly<Record<string, unknown>>;

export function objectOf(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A value as a reader of JSON knows it: strings in quotes, objects in one line. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return '';
  }
}

/** Follows `$ref` inside one document. */
export interface References {
  resolve(value: unknown): JsonObject;
}

/** References to references are followed this far, which also ends a circle. */
const referenceHopsMax = 8;

export function referencesIn(document: JsonObject): References {
  return {
    resolve(value) {
      let current = objectOf(value);
      for (let hop = 0; hop < referenceHopsMax; hop += 1) {
        const reference = current.$ref;
        if (typeof reference !== 'string') return current;
        const { $ref: _, ...beside } = current;
        // 3.1 allows words beside a reference; they are closer to the reader and win.
        current = { ...lookUp(document, reference), ...beside };
      }
      return {};
    },
  };
}

function lookUp(document: JsonObject, reference: string): JsonObject {
  if (!reference.startsWith('#/')) return {};
  let current: unknown = document;
  for (const part of reference.slice(2).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    current = objectOf(current)[name];
  }
  return objectOf(current);
}
