import { randomBytes } from 'node:crypto';
import { ComputeManagementClient } from '@azure/arm-compute';
import { NetworkManagementClient } from '@azure/arm-network';
import { DefaultAzureCredential } from '@azure/identity';
import { describe } from 'vitest';
import { holdMachineContract, type Subject } from './machine-contract.ts';

/**
 * The same contract on a real subscription. It makes about a dozen VMs of two vCPUs and removes them; the environment
 * says where: AZURE_SUBSCRIPTION_ID, NODEWRIGHT_CONTRACT_GROUP (an empty resource group), NODEWRIGHT_CONTRACT_REGION
 * (with zones) and NODEWRIGHT_CONTRACT_SUBNET (the id of a subnet in that region). Without them it is skipped.
 */
const subscription = process.env['AZURE_SUBSCRIPTION_ID'] ?? '';
const group = process.env['NODEWRIGHT_CONTRACT_GROUP'] ?? '';
const region = process.env['NODEWRIGHT_CONTRACT_REGION'] ?? '';
const subnetId = process.env['NODEWRIGHT_CONTRACT_SUBNET'] ?? '';
const isConfigured = [subscription, group, region, subnetId].every((text) => text !== '');

describe.skipIf(!isConfigured)(
  'Azure holds the contract of VMs (skipped unless AZURE_SUBSCRIPTION_ID names one)',
  () => {
    holdMachineContract(() => {
      const credential = new DefaultAzureCredential();
      const compute = new ComputeManagementClient(credential, subscription);
      const network = new NetworkManagementClient(credential, subscription);
      const prefix = `contract-${randomBytes(3).toString('hex')}-`;
      const subject: Subject = {
        compute,
        network,
        otherCompute: () => new ComputeManagementClient(credential, subscription),
        group,
        place: {
          region,
          subnetId,
          poolIds: [],
          networkInterfaces: `/subscriptions/${subscription}/resourceGroups/${group}/providers/Microsoft.Network/networkInterfaces`,
          image: { publisher: 'Canonical', offer: 'ubuntu-24_04-lts', sku: 'server', version: 'latest' },
        },
        prefix,
        poll: { updateIntervalInMs: 3_000 },
        close: async () => {
          for await (const { name } of compute.virtualMachines.list(group))
            if (name?.startsWith(prefix) === true)
              await compute.virtualMachines.delete(group, name, { forceDeletion: true });
          for await (const { name } of network.networkInterfaces.list(group))
            if (name?.startsWith(prefix) === true) await network.networkInterfaces.delete(group, name);
        },
      };
      return Promise.resolve(subject);
    });
  },
);
