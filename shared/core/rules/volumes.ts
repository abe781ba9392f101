import type { Cluster, PodShape } from '../model/cluster.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  StorageClass,
  Volume,
} from '../../kubernetes/manifest.ts';
import { labelKey, normalizeKey } from '../../kubernetes/labels.ts';
import type { VolumeReason } from '../model/left-reason.ts';
import {
  addRule,
  byCodeUnit,
  intersect,
  isEmpty,
  oneOf,
  toRule,
  type LabelRule,
  type LabelRules,
} from './label-rule.ts';

/** What a pod's volumes ask of its node: one of the alternatives; or why the pod cannot run anywhere yet. */
export type VolumeRules =
  | { readonly kind: 'rules'; readonly alternatives: ReadonlyArray<LabelRules> }
  | { readonly kind: 'problem'; readonly reason: VolumeReason };

const ANYWHERE: ReadonlyArray<LabelRules> = [new Map()];

/** More ways to combine volumes than this are not followed: a pod has few volumes and a volume few zones. */
const MAX_ALTERNATIVES = 256;

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';

/** The node rules of all of a pod's claims and ephemeral volumes together. */
export function volumeRules(cluster: Cluster, shape: PodShape): VolumeRules {
  let alternatives = ANYWHERE;
  for (const volume of shape.spec.volumes ?? []) {
    const one = rulesOfVolume(cluster, shape.namespace, volume);
    if (one.kind === 'problem') return one;
    alternatives = combine(alternatives, one.alternatives);
  }
  return { kind: 'rules', alternatives };
}

function rulesOfVolume(cluster: Cluster, namespace: string, volume: Volume): VolumeRules {
  if (volume.ephemeral !== undefined)
    return rulesOfClaim(cluster, volume.ephemeral.volumeClaimTemplate?.spec ?? {}, volume.name);
  if (volume.persistentVolumeClaim === undefined) return { kind: 'rules', alternatives: ANYWHERE };
  const name = volume.persistentVolumeClaim.claimName;
  const claim = cluster.persistentVolumeClaims.find(
    ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
  );
  const title = `${namespace}/${name}`;
  if (claim === undefined) return problem({ kind: 'volume-claim-missing', nodePool: null, claim: title });
  if (claim.metadata.deletionTimestamp !== undefined || claim.status?.phase === 'Lost') {
    return problem({ kind: 'volume-claim-lost', nodePool: null, claim: title });
  }
  const { volumeName } = claim.spec ?? {};
  if (volumeName !== undefined && volumeName !== '' && !isBound(claim)) {
    return problem({ kind: 'volume-binding', nodePool: null, claim: title, volume: volumeName });
  }
  return rulesOfClaim(cluster, claim.spec ?? {}, title);
}

/** The annotation is what kube-scheduler looks for; the phase follows it at once. */
function isBound({ metadata, status }: PersistentVolumeClaim): boolean {
  return metadata.annotations?.['pv.kubernetes.io/bind-completed'] !== undefined || status?.phase === 'Bound';
}

/** `claim` names it where something is wrong. */
function rulesOfClaim(cluster: Cluster, spec: PersistentVolumeClaimSpec, claim: string): VolumeRules {
  if (spec.volumeName !== undefined && spec.volumeName !== '') {
    const volume = cluster.persistentVolumes.find(({ metadata }) => metadata.name === spec.volumeName);
    return volume === undefined || volume.metadata.deletionTimestamp !== undefined
      ? problem({ kind: 'volume-missing', nodePool: null, claim, volume: spec.volumeName })
      : { kind: 'rules', alternatives: rulesOfBound(volume) };
  }
  const storageClass = classOf(cluster, spec);
  if (storageClass === undefined) {
    const { storageClassName = null } = spec;
    return problem({ kind: 'storage-class-missing', nodePool: null, claim, storageClass: storageClassName });
  }
  if ((storageClass.volumeBindingMode ?? 'Immediate') === 'Immediate') {
    return problem({ kind: 'volume-not-bound', nodePool: null, claim });
  }
  return { kind: 'rules', alternatives: rulesOfUnbound(storageClass) };
}

/** The class that a claim means: the one it names, else the default, of several the newest. `''` means none. */
export function classOf(
  { storageClasses }: Cluster,
  { storageClassName }: PersistentVolumeClaimSpec,
): StorageClass | undefined {
  if (storageClassName === '') return undefined;
  if (typeof storageClassName === 'string') {
    return storageClasses.find(({ metadata }) => metadata.name === storageClassName);
  }
  const created = ({ metadata }: StorageClass): string => metadata.creationTimestamp ?? '';
  return storageClasses
    .filter(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === 'true')
    .toSorted((a, b) => byCodeUnit(created(b), created(a)) || byCodeUnit(a.metadata.name, b.metadata.name))[0];
}

/** A local disk's host is no longer a choice when its pod moves, so that key is dropped, as Karpenter does. */
function rulesOfBound({ spec }: PersistentVolume): ReadonlyArray<LabelRules> {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  if (terms.length === 0) return ANYWHERE;
  const local = spec?.local !== undefined || spec?.hostPath !== undefined;
  return terms.map(({ matchExpressions }) => {
    const rules = new Map<string, LabelRule>();
    for (const expression of matchExpressions ?? []) {
      const key = normalizeKey(expression.key);
      if (!local || key !== labelKey.hostname) addRule(rules, key, toRule(expression));
    }
    return rules;
  });
}

function rulesOfUnbound({ allowedTopologies }: StorageClass): ReadonlyArray<LabelRules> {
  if (allowedTopologies === undefined || allowedTopologies.length === 0) return ANYWHERE;
  return allowedTopologies.map(({ matchLabelExpressions }) => {
    const rules = new Map<string, LabelRule>();
    for (const { key, values } of matchLabelExpressions ?? []) addRule(rules, normalizeKey(key), oneOf(values));
    return rules;
  });
}

function combine(a: ReadonlyArray<LabelRules>, b: ReadonlyArray<LabelRules>): ReadonlyArray<LabelRules> {
  const combined: Array<LabelRules> = [];
  for (const one of a) {
    for (const other of b) {
      const both = new Map(one);
      for (const [key, rule] of other) {
        const present = both.get(key);
        both.set(key, present === undefined ? rule : intersect(present, rule));
      }
      if (![...both.values()].some(isEmpty) && combined.length < MAX_ALTERNATIVES) combined.push(both);
    }
  }
  return combined;
}

function problem(reason: VolumeReason): VolumeRules {
  return { kind: 'problem', reason };
}
