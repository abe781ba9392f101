import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { catalogsOf, type PoolCatalogs } from '../../../cli/catalog/pool-catalogs.ts';
import { readShippedSizes, type ShippedSizes } from '../../../cli/catalog/shipped-sizes.ts';
import { readCluster } from '../../../cli/plan/plan-from-files.ts';
import { createCatalogs } from '../../../shared/adapters/azure/catalog/catalogs.ts';
import type { Clients } from '../../../shared/adapters/azure/calls/clients.ts';
import { gatherFrom } from '../../../shared/app/gather/gather.ts';
import { createRecentReports } from '../../../shared/app/ports/recent-reports.ts';
import type { Ports } from '../../../shared/app/ports/ports.ts';
import type { Snapshot } from '../../../shared/contract/snapshot/parse.ts';
import type { InstanceType } from '../../../shared/core/model/catalog.ts';
import { KARPENTER_POLICY, type ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';
import type { Catalogs } from '../../../shared/ports/cloud.ts';
import type { NodeClass } from '../../../shared/ports/kubernetes.ts';
import { FIRST_LEDGER } from '../../setup/first-ledger.ts';
import { MemoryBlobs } from '../../simulation/world/memory-blobs.ts';
import { manifestsOf, type World } from './worlds.ts';

/** What a plan of a world is made from, and what its launches would be made with. */
export interface ReadWorld {
  readonly snapshot: Snapshot;
  readonly input: ProvisioningInput;
  readonly nodeClass: NodeClass;
  /** All that a launch may choose among, machines without a zone included. */
  readonly types: ReadonlyArray<InstanceType>;
}

const NOW_MS = Date.parse('2027-01-01T00:00:00Z');

const sizes = new Map<string, ShippedSizes>();

function sizesOf(region: string): ShippedSizes {
  const known = sizes.get(region) ?? readShippedSizes(region);
  sizes.set(region, known);
  return known;
}

/** The manifests read as the command reads files, and put together as the functions gather what they decide from. */
export async function readWorld(world: World): Promise<ReadWorld> {
  const { snapshot } = await readCluster({ paths: ['-'] }, Readable.from([JSON.stringify(manifestsOf(world))]), NOW_MS);
  const catalogs = catalogsIn(world.region, world.evictionsPerHour);
  const policy = { ...KARPENTER_POLICY, minValuesPolicy: world.minValuesPolicy };
  const told = createRecentReports();
  // Before the first decision claims are read anew.
  const kubernetes = { list: () => Promise.resolve(snapshot.nodeClaims) };
  const ports = { policy, catalogs, kubernetes, deviceSelectors: null, now: () => NOW_MS, told } as unknown as Ports;
  const { input } = await gatherFrom(ports, FIRST_LEDGER, snapshot);
  const [nodeClass] = snapshot.nodeClasses;
  if (nodeClass === undefined) throw new Error('a world has a class');
  const ofWorld = nodeClass as unknown as NodeClass;
  const types = await catalogs.instanceTypes(ofWorld);
  return { snapshot, input: { ...input, work: { operations: OPERATIONS } }, nodeClass: ofWorld, types };
}

/** Less than in production, so that more can be drawn: what a plan must keep to, it keeps to at any effort. */
const OPERATIONS = 2_000_000;

/** The catalog that the command makes of the same manifests. */
export function catalogByCommand(world: World, snapshot: Snapshot): PoolCatalogs {
  return catalogsOf(sizesOf(world.region), snapshot);
}

const known = new Map<string, Catalogs>();

/** The product's own catalogs, of a region whose sizes and rates have just been read. */
function catalogsIn(region: string, evictionsPerHour: number): Catalogs {
  const id = `${region} ${evictionsPerHour}`;
  const catalogs = known.get(id) ?? openCatalogs(sizesOf(region), evictionsPerHour);
  known.set(id, catalogs);
  return catalogs;
}

function openCatalogs({ region, skus }: ShippedSizes, evictionsPerHour: number): Catalogs {
  const blobs = new MemoryBlobs();
  blobs.writeNow(`${region}.USD.json.gz`, gzipSync(JSON.stringify({ version: 2, builtAtMs: NOW_MS, skus })), 'any');
  const rates =
    evictionsPerHour === 0 ? [] : skus.map(({ name }, at) => [name.toLowerCase(), (at % 3) * evictionsPerHour]);
  const kept = { version: 1, askedAtMs: NOW_MS, readAtMs: NOW_MS, rates };
  blobs.writeNow(`${region}.eviction-rates.json`, new TextEncoder().encode(JSON.stringify(kept)), 'any');
  return createCatalogs({
    cluster: 'laws',
    subscription: 'laws',
    // All that Azure would be asked for is in the blobs.
    clients: {} as Clients,
    blobs,
    settings: {
      location: region,
      nodeResourceGroup: 'offline',
      networkPlugin: 'azure',
      networkPluginMode: 'overlay',
      memoryOverhead: 0.075,
    },
    pricesEndpoint: undefined,
    currency: 'USD',
    now: () => NOW_MS,
  });
}
