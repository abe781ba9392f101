import { offeringLabels, toInstanceTypes } from '../../shared/adapters/azure/catalog/instance-types.ts';
import { networkModeOf } from '../../shared/adapters/azure/network/network-mode.ts';
import { definitionsFor, imageId, requirementsOf } from '../../shared/adapters/azure/classes/node-class-facts.ts';
import type { Sku } from '../../shared/adapters/azure/catalog/sku.ts';
import { localDnsState } from '../../shared/app/follow/definitions/node-class.ts';
import { label } from '../../shared/contract/names.ts';
import type { Settings } from '../../shared/contract/settings/settings.ts';
import { nodeLabels } from '../../shared/core/launch/node-labels.ts';
import type { CapacityType, InstanceType } from '../../shared/core/model/catalog.ts';
import { admits, toRule } from '../../shared/core/rules/label-rule.ts';
import { microUsdPerHour } from '../../shared/core/quantity/units.ts';
import { isTypeLevelKey, labelKey, normalizeKey, restrictedDomainOf } from '../../shared/kubernetes/labels.ts';
import type { NodePool } from '../../shared/kubernetes/manifest.ts';
import { wordMeant } from '../../shared/kubernetes/text/word-meant.ts';
import type { LaunchOrder } from '../../shared/ports/cloud.ts';
import type { NodeClass } from '../../shared/ports/kubernetes.ts';
import type { LaunchOptions } from '../command.ts';
import { WrongInputError } from '../wrong-input.ts';

/** Images have versions of their own, the newest of which a launch takes. */
const NO_VERSION = 'VERSION';

/** The class with the status that the product would give it. */
export function judged(nodeClass: NodeClass, kubernetesVersion: string): NodeClass {
  const images = definitionsFor(nodeClass, kubernetesVersion).map((definition) => ({
    id: imageId(definition, NO_VERSION),
    requirements: requirementsOf(definition),
  }));
  return { ...nodeClass, status: { images, kubernetesVersion, localDNSState: localDnsState(nodeClass) } };
}

/** Which node. */
export type NodeChoice = Pick<LaunchOptions, 'size' | 'zone' | 'capacityType'>;

/** What one node of a pool is launched from. */
export interface LaunchInput {
  readonly pool: NodePool;
  readonly nodeClass: NodeClass;
  readonly settings: Settings;
  readonly skus: ReadonlyArray<Sku>;
}

/**
 * The order for one node of a pool, as the product would make it for a claim of it. Throws WrongInputError where the
 * size is none that such a node can have, or the zone is none.
 */
export function orderOf(
  options: NodeChoice,
  { pool, nodeClass, settings, skus }: LaunchInput,
): { readonly order: LaunchOrder; readonly notes: ReadonlyArray<string> } {
  const { plugin, pluginMode } = networkModeOf(settings);
  const types = toInstanceTypes(
    skus,
    nodeClass,
    {
      location: settings.LOCATION,
      nodeResourceGroup: settings.AZURE_NODE_RESOURCE_GROUP,
      networkPlugin: plugin,
      networkPluginMode: pluginMode,
      memoryOverhead: Number(settings.VM_MEMORY_OVERHEAD_PERCENT ?? '0.075'),
    },
    () => false,
  );
  const instanceType = typeOf(types, options.size, { nodeClass, location: settings.LOCATION });
  const { isOffered, ...place } = placeOf(instanceType, options, pool, settings.LOCATION);
  refuseForbidden(pool, instanceType, place);
  const { taints = [], startupTaints = [] } = pool.spec.template.spec;
  const order: LaunchOrder = {
    claim: `${pool.metadata.name}-ab12c`,
    nodePool: pool.metadata.name,
    decision: null,
    nodeClass,
    offering: { instanceType: instanceType.name, price: microUsdPerHour(1), ...place },
    instanceType,
    labels: {
      ...nodeLabels(instanceType, place),
      ...offeringLabels(place.zone, place.capacityType),
      ...ownLabels(pool),
      ...pool.spec.template.metadata?.labels,
      [label.nodePool]: pool.metadata.name,
      [label.nodeClass]: nodeClass.metadata.name,
    },
    taints,
    startupTaints,
  };
  const where = place.zone === '0' ? 'without a zone' : `in ${place.zone}`;
  const note = `${instanceType.name} is not offered as ${place.capacityType} ${where}: Azure would refuse it`;
  return { order, notes: isOffered ? [] : [note] };
}

/**
 * Requirements that leave one value, of labels that neither size nor zone decides: every node of the pool carries them.
 */
function ownLabels({ spec }: NodePool): Readonly<Record<string, string>> {
  return Object.fromEntries(
    (spec.template.spec.requirements ?? []).flatMap(({ key: written, operator, values = [] }) => {
      const key = normalizeKey(written);
      const [only] = values;
      const isOwn = restrictedDomainOf(key) === null && !isTypeLevelKey(key) && key !== labelKey.zone;
      return operator === 'In' && values.length === 1 && only !== undefined && isOwn ? [[key, only]] : [];
    }),
  );
}

function typeOf(
  types: ReadonlyArray<InstanceType>,
  size: string,
  { nodeClass, location }: { readonly nodeClass: NodeClass; readonly location: string },
): InstanceType {
  const found = types.find(({ name }) => name.toLowerCase() === size.toLowerCase());
  if (found !== undefined) return found;
  const names = types.map(({ name }) => name);
  const meant = wordMeant(size, names);
  const hint = meant === null ? '' : `did you mean ${meant}? `;
  const fix = `${hint}see the sizes of ${location}, and what the class asks of a size: its image, GPU, security, LocalDNS`;
  const className = nodeClass.metadata.name;
  throw wrong('--size', `${JSON.stringify(size)} is not one that a node of AKSNodeClass ${className} can have`, fix);
}

/** The product makes no node that a requirement of its NodePool forbids. */
function refuseForbidden(
  { metadata, spec }: NodePool,
  { name, labels }: InstanceType,
  { zone, capacityType }: Pick<Place, 'zone' | 'capacityType'>,
): void {
  const told: Readonly<Record<string, readonly [option: string, fix: string]>> = {
    [labelKey.zone]: ['--zone', 'choose another zone'],
    [labelKey.capacityType]: ['--capacity-type', 'choose the other'],
  };
  const has: Readonly<Record<string, ReadonlyArray<string>>> = {
    ...labels,
    [labelKey.instanceType]: [name],
    [labelKey.zone]: [zone],
    [labelKey.capacityType]: [capacityType],
  };
  for (const requirement of spec.template.spec.requirements ?? []) {
    const key = normalizeKey(requirement.key);
    const values = Object.hasOwn(has, key) ? (has[key] ?? []) : [];
    // What neither size nor place decides is a label that the pool gives.
    if (values.length === 0 && !isTypeLevelKey(key)) continue;
    const rule = toRule(requirement);
    if (values.length === 0 ? admits(rule, undefined) : values.some((value) => admits(rule, value))) continue;
    const [option, fix] = told[key] ?? ['--size', 'choose another size'];
    const asked = `${requirement.key} ${requirement.operator} [${(requirement.values ?? []).join(', ')}]`;
    const own = values.length === 0 ? 'has no such label' : `has ${values.join(', ')}`;
    throw wrong(
      option,
      `NodePool ${metadata.name} requires ${asked}, and ${name} ${own}`,
      `${fix}, or change the NodePool`,
    );
  }
}

/** Where the machine goes. What Azure does not offer there is shown all the same: the answer would be a refusal. */
function placeOf(
  { offerings }: InstanceType,
  { zone: asked, capacityType: type }: NodeChoice,
  pool: NodePool,
  location: string,
): Place {
  const capacityType = type ?? (isSpotOnly(pool) ? 'spot' : 'on-demand');
  const zones = offerings.filter((one) => one.capacityType === capacityType).map(({ zone }) => zone);
  const zone = asked === null ? (zones[0] ?? '0') : zoneOf(asked, location);
  return { zone, capacityType, isOffered: zones.includes(zone) };
}

interface Place {
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly isOffered: boolean;
}

function zoneOf(asked: string, location: string): string {
  const prefix = `${location.toLowerCase()}-`;
  const digit = asked.toLowerCase().startsWith(prefix) ? asked.slice(prefix.length) : asked;
  if (digit === '0') return digit;
  if (/^[1-9]$/.test(digit)) return `${prefix}${digit}`;
  throw wrong(
    '--zone',
    `${JSON.stringify(asked)} is no zone of ${location}`,
    `write it as ${prefix}1, 1, or 0 for none`,
  );
}

function isSpotOnly({ spec }: NodePool): boolean {
  const asked = spec.template.spec.requirements?.filter(({ key }) => key === label.capacityType) ?? [];
  return asked.some(({ operator, values = [] }) => operator === 'In' && values.length === 1 && values[0] === 'spot');
}

function wrong(path: string, message: string, fix: string): WrongInputError {
  return new WrongInputError([{ origin: null, object: '', path, message, fix }]);
}
