import { describe, expect, test } from 'bun:test';
import { reportCategories } from '../moderation/store.ts';
import { describePage, elementsOf, hostileText } from './page.conformance.ts';
import { reportPage } from './report-page.ts';

describePage('reportPage', () => reportPage({ code: 'spring' }));
describePage('reportPage (hostile)', () => reportPage({ code: hostileText }));

describe('reportPage', () => {
  test('fills in the link it was opened for, as text', async () => {
    const inputs = (await elementsOf(reportPage({ code: '"><script>alert(1)</script>' }))).filter(
      ({ name }) => name === 'input',
    );
    expect(inputs.map(({ attributes }) => attributes.get('value'))).toEqual([
      '&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;',
    ]);
  });

  test('offers every category that the API takes, in its order', async () => {
    const options = (await elementsOf(reportPage({ code: '' }))).filter(({ name }) => name === 'option');
    expect(options.map(({ attributes }) => attributes.get('value') ?? '')).toEqual([...reportCategories]);
  });
});
