import { notFound, resourceNotFound } from '../arm/arm-error.ts';
import type { Cloud } from '../state/cloud.ts';
import { deleteNic, findNic, patchNicTags, putNic, renderNic } from '../machines/network.ts';
import {
  networkIds,
  renderLoadBalancer,
  renderSecurityGroup,
  renderSubnet,
  renderVnet,
} from '../state/node-resource-group.ts';
import { page } from '../arm/pages.ts';
import { listedId } from '../machines/render-vm.ts';
import { ok, withEtag, type ArmRequest, type ArmResponse, type Route } from '../arm/router.ts';
import { refuseMisfits } from '../types/refuse-misfits.ts';
import { typeTrees } from '../types/type-trees.ts';
import { accepted, conditionsOf, nicDeletionWait, written } from './operations.ts';

const SUBSCRIPTION = '/subscriptions/{subscription}';
const GROUP = `${SUBSCRIPTION}/resourceGroups/{group}`;
const NETWORK = `${GROUP}/providers/Microsoft.Network`;
const NIC = `${NETWORK}/networkInterfaces/{name}`;

/** Network interfaces, and what else AKS keeps in a node resource group. */
export function networkRoutes(cloud: Cloud): ReadonlyArray<Route> {
  return [...nicRoutes(cloud), ...fixtureRoutes(cloud)];
}

/** What is to be followed of the network provider's. */
function follow(operation: string | null, retryAfterSeconds: number | null): Parameters<typeof accepted>[2] {
  return operation === null ? null : { provider: 'Microsoft.Network', id: operation, retryAfterSeconds };
}

function nicRoutes(cloud: Cloud): ReadonlyArray<Route> {
  const list = (request: ArmRequest, group: string | null): ArmResponse =>
    page(
      request,
      [...cloud.nics.values()]
        .filter((nic) => group === null || nic.group.toLowerCase() === group.toLowerCase())
        .map((nic) => ({ ...renderNic(cloud, nic), id: listedId(cloud, nic) })),
      cloud.options.pageSize,
    );
  return [
    {
      method: 'PUT',
      pattern: NIC,
      answer: (request, { group = '', name = '' }) => {
        const body = refuseMisfits(typeTrees().nic, request.body, 'put');
        const { created, operation, resource } = putNic(
          cloud,
          { group, name },
          body,
          conditionsOf(request).ifNoneMatch,
        );
        return written(cloud, request, { created, follow: follow(operation, null), body: renderNic(cloud, resource) });
      },
    },
    {
      method: 'PATCH',
      pattern: NIC,
      answer: (request, { group = '', name = '' }) =>
        ok(
          renderNic(
            cloud,
            patchNicTags(cloud, group, name, refuseMisfits(typeTrees().nicPatch, request.body, 'patch')),
          ),
        ),
    },
    {
      method: 'GET',
      pattern: NIC,
      answer: (_request, { group = '', name = '' }) => withEtag(ok(renderNic(cloud, findNic(cloud, group, name)))),
    },
    {
      method: 'DELETE',
      pattern: NIC,
      answer: (request, { group = '', name = '' }) =>
        accepted(cloud, request, follow(deleteNic(cloud, group, name), nicDeletionWait(cloud))),
    },
    {
      method: 'GET',
      pattern: `${NETWORK}/networkInterfaces`,
      answer: (request, { group = '' }) => list(request, group),
    },
    {
      method: 'GET',
      pattern: `${SUBSCRIPTION}/providers/Microsoft.Network/networkInterfaces`,
      answer: (request) => list(request, null),
    },
  ];
}

function fixtureRoutes(cloud: Cloud): ReadonlyArray<Route> {
  const kinds = [
    { collection: 'virtualNetworks', render: renderVnet },
    { collection: 'loadBalancers', render: renderLoadBalancer },
    { collection: 'networkSecurityGroups', render: renderSecurityGroup },
  ] as const;
  const isHere = (group: string): boolean => group.toLowerCase() === cloud.options.resourceGroup.toLowerCase();
  const subnet = (group: string, vnet: string, name: string): ArmResponse => {
    const id = cloud.idOf('Microsoft.Network/virtualNetworks', group, vnet);
    if (`${id}/subnets/${name}`.toLowerCase() !== networkIds(cloud).subnet.toLowerCase())
      throw notFound(`Resource ${id}/subnets/${name} not found.`);
    return ok(renderSubnet(cloud));
  };
  return [
    ...kinds.flatMap(({ collection, render }): ReadonlyArray<Route> => [
      {
        method: 'GET',
        pattern: `${NETWORK}/${collection}`,
        answer: (_request, { group = '' }) => ok({ value: isHere(group) ? [render(cloud)] : [] }),
      },
      {
        method: 'GET',
        pattern: `${NETWORK}/${collection}/{name}`,
        answer: (_request, { group = '', name = '' }) => {
          const resource = render(cloud);
          if (!isHere(group) || String(resource['name']).toLowerCase() !== name.toLowerCase())
            throw resourceNotFound(`Microsoft.Network/${collection}/${name}`, group);
          return withEtag(ok(resource));
        },
      },
    ]),
    {
      method: 'GET',
      pattern: `${NETWORK}/virtualNetworks/{vnet}/subnets/{name}`,
      answer: (_request, { group = '', vnet = '', name = '' }) => withEtag(subnet(group, vnet, name)),
    },
    {
      method: 'GET',
      pattern: `${NETWORK}/virtualNetworks/{vnet}/subnets`,
      answer: (_request, { group = '', vnet = '' }) => {
        const found = subnet(group, vnet, 'aks-subnet');
        return ok({ value: [found.body] });
      },
    },
  ];
}
