import type { Cluster, PodShape } from '../../model/cluster.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  StorageClass,
  Volume,
} from '../../model/manifest.ts';
import { labelKey, normalizeKey } from '../../model/labels.ts';
import { fatal, type Finding } from './finding.ts';
import type { FinalNode } from './final-state.ts';
import { meets, meetsTerm } from './matching.ts';

/** What keeps a pod with these volumes off the node; null when nothing does. */
export function volumeProblem(node: FinalNode, cluster: Cluster, shape: PodShape): string | null {
  for (const volume of shape.spec.volumes ?? []) {
    const problem = problemOf(node, cluster, shape.namespace, volume);
    if (problem !== null) return problem;
  }
  return null;
}

function problemOf(node: FinalNode, cluster: Cluster, namespace: string, volume: Volume): string | null {
  if (volume.ephemeral !== undefined) {
    return unboundProblem(node, cluster, volume.ephemeral.volumeClaimTemplate?.spec, volume.name);
  }
  const name = volume.persistentVolumeClaim?.claimName;
  if (name === undefined) return null;
  const claim = findClaim(cluster, namespace, name);
  if (claim === undefined) return `volume claim ${name} does not exist`;
  const { metadata, spec, status } = claim;
  if (metadata.deletionTimestamp !== undefined || status?.phase === 'Lost') return `volume claim ${name} is going`;
  return (spec?.volumeName ?? '') === ''
    ? unboundProblem(node, cluster, spec, name)
    : boundProblem(node, cluster, claim);
}

function boundProblem(
  node: FinalNode,
  cluster: Cluster,
  { metadata, spec, status }: PersistentVolumeClaim,
): string | null {
  const completed = 'pv.kubernetes.io/bind-completed' in (metadata.annotations ?? {}) || status?.phase === 'Bound';
  if (!completed) return `volume claim ${metadata.name} is not bound yet`;
  const bound = cluster.persistentVolumes.find((one) => one.metadata.name === spec?.volumeName);
  if (bound?.metadata.deletionTimestamp !== undefined) return `volume of ${metadata.name} is going`;
  if (bound === undefined) return `volume of ${metadata.name} is not there`;
  return reachesVolume(node, bound) ? null : `volume of ${metadata.name} is elsewhere`;
}

function findClaim(cluster: Cluster, namespace: string, name: string): PersistentVolumeClaim | undefined {
  return cluster.persistentVolumeClaims.find(
    ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
  );
}

function unboundProblem(
  node: FinalNode,
  cluster: Cluster,
  spec: PersistentVolumeClaimSpec | undefined,
  name: string,
): string | null {
  const storageClass = classNamed(cluster, spec?.storageClassName);
  if (storageClass === undefined) return `${name} has no class`;
  if (storageClass.volumeBindingMode !== 'WaitForFirstConsumer') return `${name} is bound at once or not at all`;
  const topologies = storageClass.allowedTopologies ?? [];
  const allowed = topologies.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key, values }) => meets(node.labels, { key, operator: 'In', values })),
  );
  return topologies.length > 0 && !allowed ? `the class of ${name} does not allow this domain` : null;
}

/** Without a name the newest of the default classes. */
function classNamed({ storageClasses }: Cluster, name: string | null | undefined): StorageClass | undefined {
  if (typeof name === 'string') return storageClasses.find(({ metadata }) => metadata.name === name);
  let newest: StorageClass | undefined;
  for (const one of storageClasses) {
    if (one.metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] !== 'true') continue;
    const [a, b] = [one.metadata.creationTimestamp ?? '', newest?.metadata.creationTimestamp ?? ''];
    if (newest === undefined || a > b || (a === b && one.metadata.name < newest.metadata.name)) newest = one;
  }
  return newest;
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
export function checkAttachments(node: FinalNode, cluster: Cluster): ReadonlyArray<Finding> {
  if (node.claim !== null) return [];
  const drivers = cluster.csiNodes.find(({ metadata }) => metadata.name === node.name)?.spec?.drivers ?? [];
  return drivers.flatMap(({ name: driver, allocatable }) => {
    const limit = allocatable?.count;
    if (limit === undefined) return [];
    const before = attachedBy(driver, node, cluster, false);
    const after = attachedBy(driver, node, cluster, true);
    return after > before && after > limit
      ? [fatal('volume-limit', `${node.name}: ${after} volumes of ${driver}, ${limit} can be attached`)]
      : [];
  });
}

function attachedBy(driver: string, node: FinalNode, cluster: Cluster, withPlanned: boolean): number {
  const shared = new Set<string>();
  let own = 0;
  for (const { spec, running, leaving, planned } of node.pods.values()) {
    const pods = running + leaving + (withPlanned ? planned : 0);
    if (pods === 0) continue;
    for (const volume of spec.spec.volumes ?? []) {
      if (driverOf(cluster, spec.namespace, volume) !== driver) continue;
      if (volume.ephemeral !== undefined) own += pods;
      else shared.add(`${spec.namespace}/${volume.persistentVolumeClaim?.claimName ?? ''}`);
    }
  }
  return own + shared.size;
}

function driverOf(cluster: Cluster, namespace: string, volume: Volume): string | undefined {
  if (volume.ephemeral !== undefined) return driverOfClaim(cluster, volume.ephemeral.volumeClaimTemplate?.spec);
  const claim = findClaim(cluster, namespace, volume.persistentVolumeClaim?.claimName ?? '');
  return claim === undefined ? undefined : driverOfClaim(cluster, claim.spec);
}

/** Azure's in-tree drivers attach by way of the CSI drivers that took over from them. */
function driverOfClaim(cluster: Cluster, spec: PersistentVolumeClaimSpec | undefined): string | undefined {
  const bound = cluster.persistentVolumes.find(({ metadata }) => metadata.name === spec?.volumeName)?.spec;
  const provisioner = bound === undefined ? classNamed(cluster, spec?.storageClassName)?.provisioner : undefined;
  if (bound?.azureDisk !== undefined || provisioner === 'kubernetes.io/azure-disk') return 'disk.csi.azure.com';
  if (bound?.azureFile !== undefined || provisioner === 'kubernetes.io/azure-file') return 'file.csi.azure.com';
  return bound?.csi?.driver ?? provisioner;
}
