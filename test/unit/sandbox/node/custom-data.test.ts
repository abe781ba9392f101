import { describe, expect, test } from 'vitest';
import { readCustomData } from '../../../../sandbox/node/custom-data.ts';
import { customData } from '../../../../shared/adapters/azure/bootstrap/custom-data.ts';

const ours = Buffer.from(customData({ version: 'v1' }), 'base64').toString('utf8');
const read = (text: string): unknown => readCustomData(Buffer.from(text).toString('base64'));

describe('a machine that boots', () => {
  test('finds the configuration that was put into its custom data', () => {
    expect(read(ours)).toEqual({ kind: 'config', config: { version: 'v1' } });
  });

  test.for([
    ['is none', null, /no custom data/],
    ['is a script alone', '#!/bin/bash\ntrue', /no multipart document/],
    [
      'has no boothook',
      ours.replace('text/cloud-boothook', 'text/cloud-config'),
      /no multipart document with a boothook/,
    ],
    ['writes another file', ours.replaceAll('aks-node-controller-config.json', 'other.json'), /writes no/],
    [
      'is no JSON',
      ours.replace(/\n[A-Za-z0-9+/=]+\nCONFIG\n/, `\n${Buffer.from('{').toString('base64')}\nCONFIG\n`),
      /is no JSON/,
    ],
  ] as const)('finds nothing in custom data that %s', ([, text, why]) => {
    expect(text === null ? readCustomData(null) : read(text)).toMatchObject({
      kind: 'unreadable',
      why: expect.stringMatching(why),
    });
  });
});
