import { createClients } from '../../../../shared/adapters/azure/calls/clients.ts';
import { createCloud } from '../../../../shared/adapters/azure/machines/cloud.ts';
import { createNetworkPlaces } from '../../../../shared/adapters/azure/machines/network-place.ts';
import { createNodeClassFacts } from '../../../../shared/adapters/azure/classes/node-class-facts.ts';
import type { Clients } from '../../../../shared/adapters/azure/calls/clients.ts';
import type { Cloud, LaunchOrder, NodeClassFacts } from '../../../../shared/ports/cloud.ts';
import { order, settings } from '../../../kit/azure/launch-order.ts';
import { type Replay, type Script, replay } from './replay.ts';
import { type Answer, recorded, tagged } from './recordings.ts';

/** The product's own clients and adapters before a server that says what Azure said. */
export interface Product extends Replay {
  readonly cloud: Cloud;
  readonly facts: NodeClassFacts;
  readonly clients: Clients;
}

const credential = { getToken: () => Promise.resolve({ token: 'worthless', expiresOnTimestamp: Infinity }) };

/** A VM or network interface as recorded, as if it were the product's. */
export function ours(answer: Answer): Answer {
  return tagged(answer, settings.CLUSTER_NAME);
}

/**
 * Lists that a launch reads first, a NIC that is not there yet, and is at once, and a VM that Azure accepts; as
 * recorded.
 */
export const AN_ACCEPTED_LAUNCH: Script = {
  'GET loadBalancers': recorded('load-balancer-list', 0, 0),
  'GET networkSecurityGroups': recorded('security-group-list', 0, 0),
  'PUT networkInterfaces/*': recorded('nic-create-and-delete', 0, 0),
  'GET networkInterfaces/*': [recorded('nic-create-and-delete', 0, 2), ours(recorded('nic-create-and-delete', 0, 1))],
  'PUT virtualMachines/*': recorded('vm-create', 0, 2),
};

/** Opens the product before the script. */
export async function openProduct(script: Script): Promise<Product> {
  const server = await replay(script);
  const given = { ...settings, AZURE_RESOURCE_MANAGER_ENDPOINT: server.endpoint };
  const clients = createClients(given, credential);
  // Loading them takes a second, which is no part of what is timed.
  await Promise.all([clients.compute(), clients.network()]);
  const complete = () => Promise.resolve({ settings: given, problems: [] });
  const cloud = createCloud({
    settings: given,
    clients,
    complete,
    place: createNetworkPlaces(() => clients.network(), given, Date.now),
    sku: () => Promise.resolve(null),
    bootstrapToken: () => Promise.resolve('abcdef.0123456789abcdef'),
    revokeTokens: () => Promise.resolve(),
  });
  return { ...server, clients, cloud, facts: createNodeClassFacts(clients, given, complete, Date.now) };
}

const images = [{ id: '/CommunityGalleries/g/images/i/versions/1', requirements: [] }];

/** A spot machine for a class whose image fits all sizes. */
export const aLaunch: LaunchOrder = {
  ...order,
  nodeClass: { ...order.nodeClass, status: { images, kubernetesVersion: '1.36.3' } },
};

/** Opens the product, uses it, and closes it. */
export async function withProduct<T>(script: Script, use: (product: Product) => Promise<T>): Promise<T> {
  const product = await openProduct(script);
  try {
    return await use(product);
  } finally {
    await product.close();
  }
}
