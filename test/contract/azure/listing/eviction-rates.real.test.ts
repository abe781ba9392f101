import { ComputeManagementClient } from '@azure/arm-compute';
import { ResourceGraphClient } from '@azure/arm-resourcegraph';
import { DefaultAzureCredential } from '@azure/identity';
import { describe } from 'vitest';
import { holdEvictionRatesContract } from './eviction-rates-contract.ts';

/**
 * The same contract on a real subscription, which it only reads: AZURE_SUBSCRIPTION_ID and NODEWRIGHT_CONTRACT_REGION
 * say which, and the identity needs the role Reader there, or less (see docs/troubleshooting.md). Without them it is
 * skipped.
 */
const subscription = process.env['AZURE_SUBSCRIPTION_ID'] ?? '';
const region = process.env['NODEWRIGHT_CONTRACT_REGION'] ?? '';

describe.skipIf(subscription === '' || region === '')(
  'Azure holds the contract of eviction rates (skipped unless AZURE_SUBSCRIPTION_ID names a subscription)',
  () => {
    holdEvictionRatesContract(() => {
      const credential = new DefaultAzureCredential();
      const clients = {
        compute: () => Promise.resolve(new ComputeManagementClient(credential, subscription)),
        graph: () => Promise.resolve(new ResourceGraphClient(credential)),
      };
      return Promise.resolve({ clients, subscription, region });
    });
  },
);
