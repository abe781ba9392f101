import { describe } from 'vitest';
import { theDouble } from '../kit/bodies.ts';
import { computeClient, group, promptly, startWithClients } from '../kit/clients.ts';
import { holdMachineContract } from './machine-contract.ts';

describe('the double holds the contract of VMs', () => {
  holdMachineContract(async () => {
    const { azure, compute, network } = await startWithClients({});
    return {
      compute,
      network,
      otherCompute: () => computeClient(azure.endpoint),
      group,
      place: theDouble,
      prefix: 'aks-',
      poll: promptly,
      close: () => azure.close(),
    };
  });
});
