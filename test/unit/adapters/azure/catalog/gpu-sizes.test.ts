import { expect, test } from 'vitest';
import { gpuSize } from '../../../../../shared/adapters/azure/catalog/gpu-sizes.ts';

test.each([
  ['Standard_NC24ads_A100_v4', { manufacturer: 'nvidia', driver: 'cuda-lts', ubuntu: true, azureLinux: true }],
  ['Standard_NC6', { manufacturer: 'nvidia', driver: 'cuda', ubuntu: true, azureLinux: false }],
  ['STANDARD_NC6_PROMO', { manufacturer: 'nvidia', driver: 'cuda', ubuntu: true, azureLinux: false }],
  ['Standard_NV4ads_V710_v5', { manufacturer: 'amd', driver: null, ubuntu: true, azureLinux: false }],
])('AKS supports the GPUs of %s as it says', (name, known) => {
  expect(gpuSize(name)).toEqual(known);
});

test.each(['Standard_D4s_v5', 'Standard_NC6_promo_x', ''])('of %j it supports none', (name) => {
  expect(gpuSize(name)).toBeNull();
});
