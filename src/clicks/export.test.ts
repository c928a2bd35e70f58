import { expect, test } from 'bun:test';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import { exportHead, exportLine, fieldsOf } from './export.ts';

const batch = sampleBatch(1, [
  {
    at: samplesStart,
    country: 'DE',
    region: 'Bavaria',
    city: 'Munich',
    referrer: 'news.example',
    referrerUrl: 'https://news.example/today',
    language: 'de',
    utmSource: '=newsletter',
    utmMedium: 'email',
    utmCampaign: 'spring, early',
    utmTerm: 'shoes',
    utmContent: 'header',
    via: 'qr',
    browser: 'Firefox',
    os: 'Linux',
    device: 'mobile',
  },
]);

test('an exported click has every dimension, those that were added later at the end', () => {
  expect(exportHead('csv')).toBe(
    'at,code,kind,visitor,country,city,device,browser,os,referrer,userAgent,signal,' +
      'region,language,utmSource,utmMedium,utmCampaign,utmTerm,utmContent,via\r\n',
  );
  expect(exportLine(fieldsOf(batch, 0), 'csv')).toBe(
    `2026-06-01T12:00:00.000Z,abc,human,0000000092ca2f0e,DE,Munich,mobile,Firefox,Linux,` +
      `https://news.example/today,UA of Firefox Linux mobile,none,` +
      `Bavaria,de,'=newsletter,email,"spring, early",shoes,header,qr\r\n`,
  );
});

test('a line of JSON has the same fields', () => {
  const line = exportLine(fieldsOf(batch, 0), 'ndjson');
  expect(Object.keys(JSON.parse(line))).toEqual(exportHead('csv').trim().split(','));
  expect(JSON.parse(line)).toMatchObject({ region: 'Bavaria', utmCampaign: 'spring, early', via: 'qr' });
});
