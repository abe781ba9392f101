import type { Cluster, PodShape } from '../../model/cluster.ts';
import type {
  CsiNode,
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  StorageClass,
  Volume,
} from '../../../kubernetes/manifest.ts';
import { labelKey, normalizeKey } from '../../../kubernetes/labels.ts';
import { fatal, subjectOf, type Finding } from '../seen/finding.ts';
import type { FinalNode } from '../seen/final-state.ts';
import { meets, meetsTerm } from '../seen/matching.ts';

/** What pods mount and what nodes attach, each found by its name. */
export interface VolumeFacts {
  readonly claimNamed: (namespace: string, name: string) => PersistentVolumeClaim | undefined;
  readonly volumeNamed: (name: string | undefined) => PersistentVolume | undefined;
  /** Without a name the newest of the default classes. */
  readonly classNamed: (name: string | null | undefined) => StorageClass | undefined;
  readonly csiNodeNamed: (name: string) => CsiNode | undefined;
}

/** Of objects with one name the first counts. */
export function volumeFacts(cluster: Cluster): VolumeFacts {
  const claims = new Map(
    [...Map.groupBy(cluster.persistentVolumeClaims, ({ metadata }) => metadata.namespace)].map(([namespace, own]) => [
      namespace,
      byName(own),
    ]),
  );
  const volumes = byName(cluster.persistentVolumes);
  const classes = byName(cluster.storageClasses);
  const byDefault = newestDefault(cluster.storageClasses);
  const csiNodes = byName(cluster.csiNodes);
  return {
    claimNamed: (namespace, name) => claims.get(namespace)?.get(name),
    volumeNamed: (name) => (name === undefined ? undefined : volumes.get(name)),
    classNamed: (name) => (typeof name === 'string' ? classes.get(name) : byDefault),
    csiNodeNamed: (name) => csiNodes.get(name),
  };
}

function byName<T extends { readonly metadata: { readonly name: string } }>(
  objects: ReadonlyArray<T>,
): ReadonlyMap<string, T> {
  return new Map(objects.toReversed().map((one) => [one.metadata.name, one]));
}

function newestDefault(storageClasses: ReadonlyArray<StorageClass>): StorageClass | undefined {
  let newest: StorageClass | undefined;
  for (const one of storageClasses) {
    if (one.metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] !== 'true') continue;
    const [a, b] = [one.metadata.creationTimestamp ?? '', newest?.metadata.creationTimestamp ?? ''];
    if (newest === undefined || a > b || (a === b && one.metadata.name < newest.metadata.name)) newest = one;
  }
  return newest;
}

/** What keeps a pod with these volumes off the node; null when nothing does. */
export function volumeProblem(node: FinalNode, facts: VolumeFacts, shape: PodShape): string | null {
  for (const volume of shape.spec.volumes ?? []) {
    const problem = problemOf(node, facts, shape.namespace, volume);
    if (problem !== null) return problem;
  }
  return null;
}

function problemOf(node: FinalNode, facts: VolumeFacts, namespace: string, volume: Volume): string | null {
  if (volume.ephemeral !== undefined) {
    return unboundProblem(node, facts, volume.ephemeral.volumeClaimTemplate?.spec, volume.name);
  }
  const name = volume.persistentVolumeClaim?.claimName;
  if (name === undefined) return null;
  const claim = facts.claimNamed(namespace, name);
  if (claim === undefined) return `volume claim ${name} does not exist`;
  const { metadata, spec, status } = claim;
  if (metadata.deletionTimestamp !== undefined || status?.phase === 'Lost') return `volume claim ${name} is going`;
  return (spec?.volumeName ?? '') === '' ? unboundProblem(node, facts, spec, name) : boundProblem(node, facts, claim);
}

function boundProblem(
  node: FinalNode,
  { volumeNamed }: VolumeFacts,
  { metadata, spec, status }: PersistentVolumeClaim,
): string | null {
  const completed = 'pv.kubernetes.io/bind-completed' in (metadata.annotations ?? {}) || status?.phase === 'Bound';
  if (!completed) return `volume claim ${metadata.name} is not bound yet`;
  const bound = volumeNamed(spec?.volumeName);
  if (bound?.metadata.deletionTimestamp !== undefined) return `volume of ${metadata.name} is going`;
  if (bound === undefined) return `volume of ${metadata.name} is not there`;
  return reachesVolume(node, bound) ? null : `volume of ${metadata.name} is elsewhere`;
}

function unboundProblem(
  node: FinalNode,
  { classNamed }: VolumeFacts,
  spec: PersistentVolumeClaimSpec | undefined,
  name: string,
): string | null {
  const storageClass = classNamed(spec?.storageClassName);
  if (storageClass === undefined) return `${name} has no class`;
  if (storageClass.volumeBindingMode !== 'WaitForFirstConsumer') return `${name} is bound at once or not at all`;
  const topologies = storageClass.allowedTopologies ?? [];
  const allowed = topologies.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key, values }) => meets(node.labels, { key, operator: 'In', values })),
  );
  return topologies.length > 0 && !allowed ? `the class of ${name} does not allow this domain` : null;
}

/** A local volume's host does not bind a pod that has to move; the rest of its terms does. */
function reachesVolume(node: FinalNode, { spec }: PersistentVolume): boolean {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const local = spec?.local !== undefined || spec?.hostPath !== undefined;
  return (
    terms.length === 0 ||
    terms.some((term) => {
      if (!local) return meetsTerm(node.labels, term, node.name);
      const others = (term.matchExpressions ?? []).filter(({ key }) => normalizeKey(key) !== labelKey.hostname);
      return others.every((one) => meets(node.labels, one));
    })
  );
}

/** Do the volumes on an existing node stay within what its drivers attach, where the plan adds some? */
export function checkAttachments(node: FinalNode, facts: VolumeFacts): ReadonlyArray<Finding> {
  if (node.claim !== null) return [];
  const drivers = facts.csiNodeNamed(node.name)?.spec?.drivers ?? [];
  return drivers.flatMap(({ name: driver, allocatable }) => {
    const limit = allocatable?.count;
    if (limit === undefined) return [];
    const before = attachedBy(driver, node, facts, false);
    const after = attachedBy(driver, node, facts, true);
    return after > before && after > limit
      ? [
          fatal(
            'volume-limit',
            `${node.name}: ${after} volumes of ${driver}, ${limit} can be attached`,
            subjectOf(node),
          ),
        ]
      : [];
  });
}

function attachedBy(driver: string, node: FinalNode, facts: VolumeFacts, withPlanned: boolean): number {
  const shared = new Set<string>();
  let own = 0;
  for (const { spec, running, leaving, planned } of node.pods.values()) {
    const pods = running + leaving + (withPlanned ? planned : 0);
    if (pods === 0) continue;
    for (const volume of spec.spec.volumes ?? []) {
      if (driverOf(facts, spec.namespace, volume) !== driver) continue;
      if (volume.ephemeral !== undefined) own += pods;
      else shared.add(`${spec.namespace}/${volume.persistentVolumeClaim?.claimName ?? ''}`);
    }
  }
  return own + shared.size;
}

function driverOf(facts: VolumeFacts, namespace: string, volume: Volume): string | undefined {
  if (volume.ephemeral !== undefined) return driverOfClaim(facts, volume.ephemeral.volumeClaimTemplate?.spec);
  const claim = facts.claimNamed(namespace, volume.persistentVolumeClaim?.claimName ?? '');
  return claim === undefined ? undefined : driverOfClaim(facts, claim.spec);
}

/** Azure's in-tree drivers attach by way of the CSI drivers that took over from them. */
function driverOfClaim(
  { volumeNamed, classNamed }: VolumeFacts,
  spec: PersistentVolumeClaimSpec | undefined,
): string | undefined {
  const bound = volumeNamed(spec?.volumeName)?.spec;
  const provisioner = bound === undefined ? classNamed(spec?.storageClassName)?.provisioner : undefined;
  if (bound?.azureDisk !== undefined || provisioner === 'kubernetes.io/azure-disk') return 'disk.csi.azure.com';
  if (bound?.azureFile !== undefined || provisioner === 'kubernetes.io/azure-file') return 'file.csi.azure.com';
  return bound?.csi?.driver ?? provisioner;
}
