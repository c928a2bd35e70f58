/** Kinds made for tests: notes in notebooks, titles that are taken once, and a journal that is append-only. */
import type { RecordKind } from './record-store.ts';

export interface Note {
  readonly id: string;
  readonly book: string | null;
  readonly text: string;
  readonly tags?: readonly string[];
  readonly endsAt?: number;
}

export const noteKind: RecordKind<Note, 'book' | 'tag'> = {
  name: 'test-note',
  key: ({ id }) => id,
  indexes: {
    book: ({ book, text }) => (book === null ? undefined : { partition: book, sort: text }),
    tag: ({ tags = [], id }) => tags.map(tag => ({ partition: tag, sort: id })),
  },
  expiresAt: ({ endsAt = null }) => endsAt,
};

/** A reservation: only one note may have a title. */
export const titleKind: RecordKind<{ readonly title: string; readonly noteId: string }, never> = {
  name: 'test-title',
  key: ({ title }) => title,
  indexes: {},
};

export interface JournalLine {
  readonly id: string;
  readonly lockedUntil: number;
  readonly endsAt?: number;
}

export const journalKind: RecordKind<JournalLine, 'all'> = {
  name: 'test-journal',
  key: ({ id }) => id,
  indexes: { all: ({ id }) => ({ partition: 'all', sort: id }) },
  expiresAt: ({ endsAt = null }) => endsAt,
  lockedUntil: ({ lockedUntil }) => lockedUntil,
};
