import { ArmError } from '../arm/arm-error.ts';

interface Supported {
  /** Tried in this order against the path without its query. */
  readonly path: RegExp;
  /** As ARM names the type; null where ARM itself answers. */
  readonly type: string | null;
  readonly versions: ReadonlyArray<string>;
}

const COMPUTE = ['2024-07-01', '2024-11-01', '2026-03-01', '2026-04-01'];
const NETWORK = ['2024-05-01', '2024-10-01', '2025-07-01', '2025-09-01', '2026-01-01'];

/**
 * What the double speaks: the versions of the property trees, those of the SDKs that the product has (newest in each
 * line, 2026-08), and a few of Azure's older ones. A new SDK with a new version is refused until it stands here.
 */
const supported: ReadonlyArray<Supported> = [
  // At the end of whatever they are about.
  {
    path: /\/providers\/Microsoft\.Authorization\/\w+/i,
    type: 'roleAssignments',
    versions: ['2015-07-01', '2018-05-01-preview', '2022-04-01', '2022-05-01-preview'],
  },
  { path: /\/providers\/Microsoft\.Compute\/virtualMachines\b/i, type: 'virtualMachines', versions: COMPUTE },
  { path: /\/locations\/[^/]+\/virtualMachines$/i, type: 'virtualMachines', versions: COMPUTE },
  { path: /\/locations\/[^/]+\/usages$/i, type: 'locations/usages', versions: COMPUTE },
  {
    path: /\/providers\/Microsoft\.(?:Compute|Network)\/locations\/[^/]+\/(?:disk)?operations?/i,
    type: 'locations/operations',
    versions: [...COMPUTE, ...NETWORK, '2026-03-02', '2024-03-02'],
  },
  {
    path: /\/communityGalleries\//i,
    type: 'locations/communityGalleries',
    versions: ['2024-03-03', '2025-12-03'],
  },
  { path: /\/placementScores\//i, type: 'locations/placementScores', versions: ['2025-06-05'] },
  { path: /\/providers\/Microsoft\.Compute\/skus$/i, type: 'skus', versions: ['2019-04-01', '2021-07-01'] },
  { path: /\/providers\/Microsoft\.Compute\/disks\b/i, type: 'disks', versions: ['2024-03-02', '2026-03-02'] },
  { path: /\/providers\/Microsoft\.Network\//i, type: 'networkInterfaces', versions: NETWORK },
  {
    path: /\/maintenanceConfigurations\b/i,
    type: 'managedClusters/maintenanceConfigurations',
    versions: ['2024-10-01', '2026-04-01', '2026-05-01', '2026-06-01'],
  },
  {
    path: /\/providers\/Microsoft\.ContainerService\//i,
    type: 'managedClusters',
    versions: ['2024-10-01', '2026-04-01', '2026-05-01', '2026-06-01'],
  },
  {
    path: /\/providers\/Microsoft\.ResourceGraph\//i,
    type: 'resources',
    versions: ['2021-03-01', '2022-10-01', '2024-04-01'],
  },
  {
    path: /^\/subscriptions\/[^/]+\/(?:locations|resourceGroups\/[^/]+)$/i,
    type: null,
    versions: ['2022-12-01', '2024-11-01', '2025-03-01', '2025-04-01'],
  },
];

/**
 * Throws what ARM answers to an API version that a type does not have, naming those it has; a path of no known type
 * passes.
 */
export function refuseUnknownVersion(path: string, version: string, region: string): void {
  const known = supported.find((entry) => entry.path.test(path));
  if (known === undefined || known.versions.includes(version.toLowerCase())) return;
  const versions = `'${known.versions.join(', ')}'`;
  // The second as reported in azure-cli#28496; the words of the first are from memory.
  if (known.type === null)
    throw new ArmError(400, {
      code: 'InvalidApiVersionParameter',
      message: `The api-version '${version}' is invalid. The supported versions are ${versions}.`,
    });
  throw new ArmError(400, {
    code: 'NoRegisteredProviderFound',
    message:
      `No registered resource provider found for location '${region}' and API version '${version}' for type ` +
      `'${known.type}'. The supported api-versions are ${versions}. The supported locations are '${region}'.`,
  });
}
