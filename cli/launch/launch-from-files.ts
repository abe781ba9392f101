import type { Readable } from 'node:stream';
import { createClients } from '../../shared/adapters/azure/calls/clients.ts';
import { createCloud } from '../../shared/adapters/azure/machines/cloud.ts';
import { createCompletion } from '../../shared/adapters/azure/network/complete-settings.ts';
import { createNetworkPlaces } from '../../shared/adapters/azure/machines/network-place.ts';
import type { Sku } from '../../shared/adapters/azure/catalog/sku.ts';
import type { Settings } from '../../shared/contract/settings/settings.ts';
import type { NodePool } from '../../shared/kubernetes/manifest.ts';
import type { LaunchOrder } from '../../shared/ports/cloud.ts';
import type { NodeClass } from '../../shared/ports/kubernetes.ts';
import { defaultClass } from '../catalog/pool-catalogs.ts';
import type { LaunchOptions } from '../command.ts';
import { type PlanOutcome, readCluster } from '../plan/plan-from-files.ts';
import { renderJson, renderYaml } from '../documents/render-document.ts';
import { WrongInputError } from '../wrong-input.ts';
import { NO_DIGITS, digitsOf, listsOf } from './offline-cluster.ts';
import { readSettingsFile } from './read-settings-file.ts';
import { readSkus } from './read-skus.ts';
import { judged, orderOf } from './order.ts';
import { toLaunchDocument } from './launch-document.ts';
import { recordingAzure } from './recording-azure.ts';

/** What stands for the token that a launch mints: of the right form, and no token of anybody's. */
const NO_TOKEN = '000000.0000000000000000';

/**
 * Launches one machine of a pool with the product's own adapter and Azure's own clients against an ARM that only
 * listens, and shows what it heard. Throws WrongInputError with all that is wrong with the input.
 */
export async function launchFromFiles(options: LaunchOptions, stdin: Readable): Promise<PlanOutcome> {
  const { snapshot, notes: ofCluster } = await readCluster(options, stdin, Date.now());
  const notes = [...ofCluster];
  const pool = onlyPool(snapshot.nodePools);
  const className = pool.spec.template.spec.nodeClassRef.name;
  const given = snapshot.nodeClasses.find(({ metadata }) => metadata.name === className) as NodeClass | undefined;
  if (given === undefined) notes.push(`AKSNodeClass ${className} is not given: one with default settings is assumed`);
  const settings = readSettingsFile(options.settings);
  const digits = digitsOf(settings);
  if (digits === null)
    notes.push(
      `the cluster's security group and route table are read at launch: here they have the digits ${NO_DIGITS}`,
    );
  const azure = await recordingAzure(listsOf(settings, digits ?? NO_DIGITS));
  try {
    const atHand = { ...settings, AZURE_RESOURCE_MANAGER_ENDPOINT: azure.endpoint };
    const { problems } = await createCompletion(clientsOf(atHand), settings, Date.now)();
    refuseMalformed(problems, options.settings);
    notes.push(...noteOnMissing(problems));
    const skus = readSkus(options.skus, settings.LOCATION);
    const nodeClass = judged(given ?? defaultClass(className), options.kubernetesVersion);
    const { order, notes: ofOrder } = orderOf(options, { pool, nodeClass, settings, skus });
    notes.push(...ofOrder);
    await launch(order, atHand, skus);
    const document = toLaunchDocument(azure.sent);
    const text = options.output === 'json' ? renderJson(document) : await renderYaml(document);
    return { text, notes, errors: [], exitCode: 0 };
  } finally {
    azure.close();
  }
}

function clientsOf(settings: Settings): ReturnType<typeof createClients> {
  return createClients(settings, { getToken: () => Promise.resolve(null) });
}

function wrong(path: string, message: string, fix: string): WrongInputError {
  return new WrongInputError([{ origin: null, object: '', path, message, fix }]);
}

function onlyPool(pools: ReadonlyArray<NodePool>): NodePool {
  const [pool, ...others] = pools;
  if (pool === undefined) throw wrong('-f', 'holds no NodePool', 'give the manifest of the pool to launch for');
  if (others.length === 0) return pool;
  throw wrong('-f', `holds ${pools.length} NodePools`, 'give the one to launch for');
}

/** What a launch reads from Azure where no setting has it, in one note: here nobody answers. */
function noteOnMissing(problems: ReadonlyArray<string>): ReadonlyArray<string> {
  const names = problems.flatMap((problem) => /^app setting (\w+) is missing/.exec(problem)?.[1] ?? []);
  if (names.length === 0) return [];
  const [are, they] = names.length === 1 ? ['is', 'it is'] : ['are', 'they are'];
  return [
    `${names.join(', ')} ${are} missing: ${they} read from Azure at launch, and left empty here unless the settings have them`,
  ];
}

/** What is missing is read from the cluster where there is one; what is there and wrong would be wrong there too. */
function refuseMalformed(problems: ReadonlyArray<string>, path: string): void {
  const malformed = problems.filter((problem) => !problem.includes(' is missing'));
  if (malformed.length === 0) return;
  throw new WrongInputError(
    malformed.map((message) => ({ origin: path, object: '', path: '', message, fix: 'correct the setting' })),
  );
}

/** Sends what the product sends. */
export async function launch(order: LaunchOrder, settings: Settings, skus: ReadonlyArray<Sku>): Promise<void> {
  const clients = clientsOf(settings);
  const cloud = createCloud({
    settings,
    complete: () => Promise.resolve({ settings, problems: [] }),
    clients,
    place: createNetworkPlaces(() => clients.network(), settings, Date.now),
    sku: (name) => Promise.resolve(skus.find((one) => one.name === name) ?? null),
    bootstrapToken: () => Promise.resolve(settings.KUBELET_BOOTSTRAP_TOKEN ?? NO_TOKEN),
    revokeTokens: () => Promise.resolve(),
  });
  const outcome = await cloud.launch(order);
  if (outcome.kind !== 'accepted') {
    const message = 'message' in outcome ? `${outcome.reason}: ${outcome.message}` : outcome.kind;
    throw wrong('--size', message, 'choose another size, or another image family in the class');
  }
  await cloud.equip(order.claim);
}
