/** A click on a link with a limit. */
import type { Postgres } from '../../../engines/postgres/postgres.ts';
import { statusNumber } from '../rows.ts';
import { takingNumbers } from './feed.ts';

const followable = [statusNumber('active'), statusNumber('quarantined')].join(', ');

/** One statement: the last click of a link is noted in the feed with it, any other does not touch the feed. */
const countClick = `
  WITH counted AS (
    UPDATE links SET used_clicks = used_clicks + 1
    WHERE code = $1 AND status IN (${followable}) AND (max_clicks IS NULL OR used_clicks < max_clicks)
    RETURNING code, used_clicks = max_clicks AS is_last
  ), numbered AS (
    UPDATE feed SET ${takingNumbers('1')} FROM counted WHERE counted.is_last RETURNING last_seq, code
  ), noted AS (
    INSERT INTO changes (seq, at, code) SELECT last_seq, $2, code FROM numbered
  )
  SELECT 1 FROM counted`;

export async function useClick(postgres: Postgres, code: string, at: number): Promise<boolean> {
  return (await postgres.query(countClick, [code, at], { name: 'count-click' })).length > 0;
}
