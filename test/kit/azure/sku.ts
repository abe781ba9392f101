import type { Sku } from '../../../shared/adapters/azure/catalog/sku.ts';

/** A size as the catalog has it, for tests. */
export function sku(name: string, parts: Partial<Sku> = {}): Sku {
  return {
    name,
    quotaFamily: 'standardDSv5Family',
    vCpus: 4,
    memoryGib: 16,
    arch: 'amd64',
    gpus: 0,
    zones: ['1', '2'],
    spot: true,
    acceleratedNetworking: true,
    premiumStorage: true,
    encryptionAtHost: true,
    trustedLaunch: true,
    hyperVGenerations: ['1', '2'],
    diskControllers: ['SCSI'],
    ultraSsdZones: [],
    ephemeralOsDisk: null,
    onDemandMicroUsd: 200_000,
    spotMicroUsd: 40_000,
    ...parts,
  };
}
