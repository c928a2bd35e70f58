/** The tables of reviews and reports, as the SQL engines carry them in a migration. */
import type { TransferredTable } from '../../base/transferred-table.ts';
import type { Review } from '../review.ts';
import type { ReportCopy } from '../transfer.ts';
import { type ReviewRow, reviewOf, reviewRowOf } from './rows.ts';

export const reviewsTable: TransferredTable<Review, ReviewRow> = {
  part: 'reviews',
  table: 'reviews',
  key: ['code'],
  columns: [
    ...['code', 'opened_at', 'place', 'score', 'held_from', 'reporters', 'appeal', 'appealed_at', 'appeals'],
    'decided_at',
  ],
  rowOf: review => ({ ...reviewRowOf(review) }),
  valueOf: reviewOf,
};

export const reportsTable: TransferredTable<ReportCopy, ReportCopy> = {
  part: 'reports',
  table: 'reports',
  key: ['code', 'reporter'],
  columns: ['code', 'reporter', 'category', 'text', 'at', 'times'],
  rowOf: report => ({ ...report }),
  valueOf: row => ({ ...row }),
};
