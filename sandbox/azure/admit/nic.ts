import { ArmError, invalidReference } from '../arm/arm-error.ts';
import type { Cloud } from '../state/cloud.ts';
import { listAt, textAt, valueAt, type JsonObject } from '../arm/json.ts';
import { existsBackendPool, existsSecurityGroup, existsSubnet } from '../state/node-resource-group.ts';
import { refuseOtherRegion } from './location.ts';
import { refuseOddTags } from './tags.ts';

const TYPE = 'Microsoft.Network/networkInterfaces';

/** The network's rule for names, of resources and of their parts. */
const NAME = /^\w(?:[\w.-]{0,78}\w)?$/;

/** Refuses a network interface that cannot be: where it would be, what it is called, and what it refers to. */
export function refuseOddNic(cloud: Cloud, name: string, body: JsonObject, id: string): void {
  const configurations = listAt(body, 'properties.ipConfigurations');
  const subnets = configurations.map((configuration) => textAt(configuration, 'properties.subnet.id') ?? '(none)');
  refuseOtherRegion(cloud, body['location'], { type: TYPE, id, referenced: subnets[0] ?? id });
  refuseOddTags(body);
  refuseOddName(name);
  refuseOddConfigurations(configurations, id);
  const pools = configurations
    .flatMap((configuration) => listAt(configuration, 'properties.loadBalancerBackendAddressPools'))
    .map((pool) => textAt(pool, 'id') ?? '(none)');
  const securityGroup = textAt(body, 'properties.networkSecurityGroup.id');
  const missing =
    subnets.find((subnet) => !existsSubnet(cloud, subnet)) ??
    pools.find((pool) => !existsBackendPool(cloud, pool)) ??
    [securityGroup].find((group) => group !== null && !existsSecurityGroup(cloud, group));
  if (typeof missing === 'string') throw invalidReference(missing, id);
}

function refuseOddName(name: string): void {
  if (NAME.test(name)) return;
  throw new ArmError(400, {
    code: 'InvalidResourceName',
    message:
      `Resource name ${name} is invalid. The name can be up to 80 characters long. It must begin with a word character, ` +
      "and it must end with a word character or with '_'. The name may contain word characters or '.', '-', '_'.",
  });
}

/**
 * The codes are those of a control plane that was asked (a public log of 2026-07-30), that of two primary
 * configurations is assumed.
 */
function refuseOddConfigurations(configurations: ReadonlyArray<unknown>, id: string): void {
  if (configurations.length === 0)
    throw new ArmError(400, {
      code: 'NetworkInterfaceMustHaveIpConfigurationOrAttachedElasticNetworkInterface',
      message: `Network interface ${id} must have at least one IP configuration.`,
    });
  const names = configurations.map((configuration) => textAt(configuration, 'name') ?? '');
  for (const name of names) refuseOddName(name);
  const nowhere = configurations.find((configuration) => textAt(configuration, 'properties.subnet.id') === null);
  if (nowhere !== undefined)
    throw new ArmError(400, {
      code: 'SubnetIsRequired',
      message: `Subnet reference is required for ipconfiguration ${id}/ipConfigurations/${textAt(nowhere, 'name') ?? ''}.`,
    });
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new ArmError(400, {
      code: 'DuplicateResourceName',
      message: `Resource ${id} has two child resources with the same name (${twice}).`,
    });
  const primaries = configurations.filter((configuration) => valueAt(configuration, 'properties.primary') === true);
  if (primaries.length > 1 || (primaries.length === 0 && configurations.length > 1))
    throw new ArmError(400, {
      code: 'NetworkInterfaceMustHaveOnePrimaryIpConfiguration',
      message: `Network interface ${id} must have exactly one primary IP configuration.`,
    });
}
