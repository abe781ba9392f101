import { expect, test } from 'vitest';
import { parseSizeName } from '../../../../../shared/adapters/azure/catalog/size-name.ts';

test.for([
  ['Standard_D4pls_v6', { family: 'D', series: 'Dpls_v6', version: '6' }],
  ['Standard_D2s_v5', { family: 'D', series: 'Ds_v5', version: '5' }],
  ['Standard_B2ms', { family: 'B', series: 'Bms', version: '1' }],
  ['Standard_NC24ads_A100_v4', { family: 'N', series: 'NCads_v4', version: '4', accelerator: 'A100' }],
  ['Standard_NV6ads_A10_v5', { family: 'N', accelerator: 'A10' }],
  ['Standard_E8-4s_v5', { family: 'E', series: 'Es_v5', constrainedCores: true }],
  ['Standard_DC2s_v3', { family: 'D', confidential: true }],
  ['Standard_EC4as_v5', { family: 'E', confidential: true }],
  ['Standard_NC144ds_xl_RTXPRO6000BSE_v6', { family: 'N', version: '6', accelerator: 'RTXPRO6000BSE' }],
  ['Standard_NC6_Promo', { family: 'N', series: 'NC', accelerator: '' }],
] as const)('%s is read as Azure names its sizes', ([name, parts]) => {
  expect(parseSizeName(name)).toMatchObject(parts);
});

test('only D and E sizes with a C are confidential: NC and HC are not', () => {
  expect(parseSizeName('Standard_NC6s_v3')?.confidential).toBe(false);
  expect(parseSizeName('Standard_HC44rs')?.confidential).toBe(false);
});

test.for(['Basic_A1', 'Standard_', 'standard_d2s_v5', 'Standard_D2s_v', 'D2s_v5', ''])(
  '"%s" follows another scheme',
  (name) => {
    expect(parseSizeName(name)).toBeNull();
  },
);
