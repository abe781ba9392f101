import type { Cluster } from '../model/cluster.ts';
import type { ResourceSlice, ResourceSliceSpec } from '../../kubernetes/device-manifest.ts';
import { labelKey } from '../../kubernetes/labels.ts';
import type { Node } from '../../kubernetes/manifest.ts';
import { byCodeUnit } from '../rules/label-rule.ts';
import { commonSlices } from './common-slices.ts';
import { NEW_POOL, type DeviceTemplates } from '../model/device-templates.ts';
import { poolsOf } from './devices.ts';

/**
 * Nodes of one kind that are compared. The newest look most like the next one; two are enough to see what belongs to
 * one node alone, and one old node with a broken device does not speak for a hundred.
 */
const COMPARED = 2;

/**
 * What initialized nodes publish themselves, and so what others of their NodePool and instance type can be counted on
 * for.
 */
export function observedTemplates({
  nodes,
  resourceSlices,
}: Pick<Cluster, 'nodes' | 'resourceSlices'>): DeviceTemplates {
  const byNode = Map.groupBy(resourceSlices, ({ spec }) => spec.nodeName ?? '');
  const observed = nodes.flatMap((node) => observe(node, byNode.get(node.metadata.name) ?? []));
  const byPool = Map.groupBy(observed, ({ nodePool }) => nodePool);
  return new Map(
    [...byPool].map(([pool, ofPool]) => {
      const byType = Map.groupBy(ofPool, ({ instanceType }) => instanceType);
      return [pool, new Map([...byType].map(([type, alike]) => [type, templateOf(alike)]))];
    }),
  );
}

interface Observation {
  readonly nodePool: string;
  readonly instanceType: string;
  readonly node: string;
  readonly createdAt: string;
  /** By driver: one slice per pool, without its place. */
  readonly slices: ReadonlyMap<string, ReadonlyArray<ResourceSliceSpec>>;
}

function observe({ metadata }: Node, slices: ReadonlyArray<ResourceSlice>): ReadonlyArray<Observation> {
  const { name, labels = {}, creationTimestamp = '', deletionTimestamp } = metadata;
  const [nodePool, instanceType] = [labels[labelKey.nodePool], labels[labelKey.instanceType]];
  const isReady = labels[labelKey.initialized] === 'true' && deletionTimestamp === undefined;
  if (!isReady || nodePool === undefined || instanceType === undefined) return [];
  const published = wholeDrivers(name, slices);
  return published.size === 0
    ? []
    : [{ nodePool, instanceType, node: name, createdAt: creationTimestamp, slices: published }];
}

/** The drivers all of whose pools are whole: of another it is not known what it will have published in the end. */
function wholeDrivers(
  node: string,
  slices: ReadonlyArray<ResourceSlice>,
): ReadonlyMap<string, ReadonlyArray<ResourceSliceSpec>> {
  const byDriver = Map.groupBy(slices, ({ spec }) => spec.driver);
  const whole = [...byDriver].filter(([, own]) => poolsOf(own).every(({ state }) => state === 'whole'));
  return new Map(
    whole.toSorted(([a], [b]) => byCodeUnit(a, b)).map(([driver, own]) => [driver, slicesOf(node, own)] as const),
  );
}

function slicesOf(node: string, slices: ReadonlyArray<ResourceSlice>): ReadonlyArray<ResourceSliceSpec> {
  const byPool = Map.groupBy(slices, ({ spec }) => spec.pool.name);
  return [...byPool]
    .toSorted(([a], [b]) => byCodeUnit(a, b))
    .map(([name, own]) => {
      const generation = Math.max(...own.map(({ spec }) => spec.pool.generation));
      const newest = own
        .filter(({ spec }) => spec.pool.generation === generation)
        .toSorted((a, b) => byCodeUnit(a.metadata.name, b.metadata.name));
      const sharedCounters = newest.flatMap(({ spec }) => spec.sharedCounters ?? []);
      return {
        driver: newest[0]?.spec.driver ?? '',
        pool: { name: name.replaceAll(node, NEW_POOL), generation: 1, resourceSliceCount: 1 },
        devices: newest.flatMap(({ spec }) => spec.devices ?? []),
        ...(sharedCounters.length === 0 ? {} : { sharedCounters }),
      };
    });
}

/** By driver what the newest nodes that run it have in common: a node where it does not run says nothing about it. */
function templateOf(alike: ReadonlyArray<Observation>): ReadonlyArray<ResourceSliceSpec> {
  const newest = alike.toSorted((a, b) => byCodeUnit(b.createdAt, a.createdAt) || byCodeUnit(b.node, a.node));
  const drivers = [...new Set(newest.flatMap(({ slices }) => [...slices.keys()]))].toSorted(byCodeUnit);
  const nodesOf = (driver: string): ReadonlyArray<Observation> =>
    newest.filter(({ slices }) => slices.has(driver)).slice(0, COMPARED);
  // Drivers that the same nodes speak for are compared together: what their devices share, such as a PCIe root, stays
  // so.
  const together = Map.groupBy(drivers, (driver) =>
    nodesOf(driver)
      .map(({ node }) => node)
      .join(' '),
  );
  return [...together.values()].flatMap((group) => {
    const [first = ''] = group;
    return commonSlices(
      nodesOf(first).map(({ slices }) => group.flatMap((driver) => slices.get(driver) ?? [])),
      first,
    );
  });
}
