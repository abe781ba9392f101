import { annotation } from '../../../contract/names.ts';
import { isOwnClassNamed } from '../../../contract/own-class.ts';
import type { Condition, NodeClaim } from '../../../kubernetes/manifest.ts';
import type { ClassVerdict, NodeImage } from '../../../ports/cloud.ts';
import { RefusedError, RetryableError } from '../../../ports/errors.ts';
import type { NodeClass } from '../../../ports/kubernetes.ts';
import { CLASS_HASH_VERSION, classHash } from '../../facts/api-rules.ts';
import {
  type ConditionChange,
  clearConditions,
  isTrue,
  sameConditions,
  setConditions,
} from '../../facts/conditions.ts';
import { publish } from '../../tell/events.ts';
import { hintObjects } from '../../ports/hint-objects.ts';
import { deniedNoMore } from '../../tell/denied-condition.ts';
import type { Ports } from '../../ports/ports.ts';
import { settledImages, type SettledImages } from './settled-images.ts';
import { hintClaims, written } from '../../claims/node-claim.ts';
import type { FollowOutcome } from '../../ports/follow-outcome.ts';
import { UNSTAMPED_LOOK_MS, restampClaims } from './restamp.ts';

const classFinalizer = 'karpenter.azure.com/termination';

const DEPENDENTS = [
  'KubernetesVersionReady',
  'ImagesReady',
  'SubnetsReady',
  'ValidationSucceeded',
  'LocalDNSReady',
] as const;

/** How often Azure is asked again about a class that is in order: a subnet can be removed, an image published. */
const HEALTHY_LOOK_MS = 15 * 60_000;
/** How often while something is wrong that only a person can fix. */
const UNHEALTHY_LOOK_MS = 60_000;
const DELETION_LOOK_MS = 10 * 60_000;

/**
 * Keeps an AKSNodeClass's hash annotations, status and finalizer right. As Karpenter's Azure provider: §1.3, §1.4
 * there.
 */
export async function followNodeClass(ports: Ports, name: string): Promise<FollowOutcome> {
  const key = { name, namespace: null };
  const found = await ports.kubernetes.get('AKSNodeClass', key);
  if (found === null) return { kind: 'ended', why: 'there is no such AKSNodeClass' };
  if (found.metadata.deletionTimestamp !== undefined) return letGo(ports, found);
  const stamped = await stamp(ports, found);
  const nodeClass = stamped ?? found;
  const status = await examine(ports, nodeClass);
  if (!sameConditions(nodeClass.status?.conditions, status.conditions) || !sameFields(nodeClass, status)) {
    const { resourceVersion } = nodeClass.metadata;
    written(await ports.kubernetes.patchStatus('AKSNodeClass', key, { metadata: { resourceVersion }, status }), name);
    await tellPools(ports, name);
    // Whatever the status shows, version, images or generation, nodes may have drifted from it.
    await hintClaims(ports, await claimsOf(ports, name), `class-status/${name}/${ports.now()}`);
  }
  const ownPause = isTrue(status.conditions, 'Ready') ? HEALTHY_LOOK_MS : UNHEALTHY_LOOK_MS;
  const pause = stamped === null ? UNSTAMPED_LOOK_MS : ownPause;
  return { kind: 'wait', for: 'the next look at Azure', lookAgainMs: ports.now() + pause };
}

async function claimsOf(ports: Ports, nodeClass: string): Promise<ReadonlyArray<NodeClaim>> {
  return (await ports.kubernetes.list('NodeClaim')).filter(({ spec }) => isOwnClassNamed(spec.nodeClassRef, nodeClass));
}

interface ClassStatus {
  readonly conditions: ReadonlyArray<Condition>;
  readonly kubernetesVersion: string;
  readonly images: ReadonlyArray<NodeImage>;
  readonly localDNSState: string;
}

/**
 * Finalizer and hashes, in one write; on a new hash version its claims' before. Null: those could not all be written.
 */
async function stamp(ports: Ports, nodeClass: NodeClass): Promise<NodeClass | null> {
  const { name, resourceVersion, finalizers = [], annotations = {} } = nodeClass.metadata;
  const hash = classHash(nodeClass);
  const hashes = { [annotation.nodeClassHash]: hash, [annotation.nodeClassHashVersion]: CLASS_HASH_VERSION };
  const current = Object.entries(hashes).every(([key, value]) => annotations[key] === value);
  if (current && finalizers.includes(classFinalizer)) return nodeClass;
  const previous = annotations[annotation.nodeClassHashVersion];
  if (previous !== undefined && previous !== CLASS_HASH_VERSION) {
    const areStamped = await restampClaims(ports, await claimsOf(ports, name), {
      hash: [annotation.nodeClassHash, hash],
      version: [annotation.nodeClassHashVersion, CLASS_HASH_VERSION],
    });
    if (!areStamped) return null;
  }
  const patch = {
    metadata: { resourceVersion, annotations: hashes, finalizers: [...new Set([...finalizers, classFinalizer])] },
  };
  return written(await ports.kubernetes.patch('AKSNodeClass', { name, namespace: null }, patch), name);
}

async function examine(ports: Ports, nodeClass: NodeClass): Promise<ClassStatus> {
  const kubernetesVersion = laterVersion(nodeClass.status?.kubernetesVersion, await ports.kubernetes.serverVersion());
  const found = await unlessForbidden(nodeClass, 'ImagesReady', settledImages(ports, nodeClass, kubernetesVersion));
  const subnet = await unlessForbidden(nodeClass, 'SubnetsReady', ports.nodeClassFacts.subnet(nodeClass));
  const deployment = await ports.nodeClassFacts.deployment();
  const localDNSState = localDnsState(nodeClass);
  const changes: ReadonlyArray<ConditionChange> = [
    fulfilled('KubernetesVersionReady'),
    imagesReady(found),
    judged('SubnetsReady', subnet),
    judged('ValidationSucceeded', deployment),
    fulfilled('LocalDNSReady'),
  ];
  const conditions = setConditions(nodeClass.status?.conditions, changes, {
    dependents: DEPENDENTS,
    generation: nodeClass.metadata.generation ?? 1,
    nowMs: ports.now(),
    createdAt: nodeClass.metadata.creationTimestamp ?? '',
  });
  const current = clearConditions(conditions, deniedNoMore(conditions, ports.now()));
  return { conditions: current, kubernetesVersion, images: isRefused(found) ? [] : found.images, localDNSState };
}

/**
 * The later of two versions such as `1.36.3`. While a control plane is upgraded, API servers of two versions answer in
 * turn: what went with the older answer would make every new node drift. As in Karpenter's provider (§1.4 there).
 */
function laterVersion(known: string | undefined, said: string): string {
  if (known === undefined || known === '') return said;
  return known.localeCompare(said, 'en', { numeric: true }) > 0 ? known : said;
}

function imagesReady(found: SettledImages | Refused): ConditionChange {
  if (isRefused(found)) return judged('ImagesReady', found);
  if (found.images.length > 0) return fulfilled('ImagesReady', found.note);
  return {
    type: 'ImagesReady',
    status: 'False',
    reason: 'ImagesNotFound',
    message: 'no node image matches this class',
  };
}

/** `Preferred` stays off: Karpenter's provider gates it behind a Kubernetes version that does not exist yet. */
export function localDnsState({ spec }: Pick<NodeClass, 'spec'>): 'Enabled' | 'Disabled' {
  return spec.localDNS?.mode === 'Required' ? 'Enabled' : 'Disabled';
}

type Refused = Extract<ClassVerdict, { kind: 'refused' }>;

/**
 * What was read; a refusal where a right is missing for it, in Azure's words, which is looked at again as any other. A
 * class that is in order stays so: what its nodes are made of is known, and roles change for a moment.
 */
async function unlessForbidden<T>(nodeClass: NodeClass, type: string, read: Promise<T>): Promise<T | Refused> {
  try {
    return await read;
  } catch (error) {
    const isForbidden = error instanceof RetryableError && error.because === 'forbidden';
    if (!isForbidden || isTrue(nodeClass.status?.conditions, type)) throw error;
    return { kind: 'refused', reason: 'AuthorizationFailed', message: error.message };
  }
}

function isRefused(found: object): found is Refused {
  return 'kind' in found;
}

function judged(type: string, verdict: ClassVerdict): ConditionChange {
  if (verdict.kind === 'ready') return fulfilled(type);
  return { type, status: 'False', reason: verdict.reason, message: verdict.message };
}

function fulfilled(type: string, message = ''): ConditionChange {
  return { type, status: 'True', reason: type, message };
}

function sameFields(nodeClass: NodeClass, status: ClassStatus): boolean {
  const current: Readonly<Record<string, unknown>> = { ...nodeClass.status };
  return (['kubernetesVersion', 'images', 'localDNSState'] as const).every(
    (field) => JSON.stringify(current[field]) === JSON.stringify(status[field]),
  );
}

/** A class goes once no NodeClaim names it. */
async function letGo(ports: Ports, nodeClass: NodeClass): Promise<FollowOutcome> {
  const { name, uid = '', resourceVersion, finalizers = [] } = nodeClass.metadata;
  if (!finalizers.includes(classFinalizer)) return { kind: 'ended', why: 'already let go' };
  const users = await claimsOf(ports, name);
  if (users.length > 0) {
    const names = users.slice(0, 5).map(({ metadata }) => metadata.name);
    const message = `Waiting for NodeClaims to be removed: ${names.join(', ')}${users.length > 5 ? ` and ${users.length - 5} more` : ''}`;
    const regarding = { apiVersion: 'karpenter.azure.com/v1beta1', kind: 'AKSNodeClass', name, namespace: null, uid };
    await publish(
      ports.kubernetes,
      { regarding, type: 'Normal', reason: 'WaitingOnNodeClaimTermination', message },
      ports.now(),
    );
    return { kind: 'wait', for: message, lookAgainMs: ports.now() + DELETION_LOOK_MS };
  }
  const rest = finalizers.filter((one) => one !== classFinalizer);
  const patch = { metadata: { resourceVersion, finalizers: rest } };
  const outcome = await ports.kubernetes.patch('AKSNodeClass', { name, namespace: null }, patch);
  if (outcome.kind === 'refused') throw new RefusedError(outcome.refusal);
  return { kind: 'ended', why: 'no NodeClaim uses it' };
}

/** Pools show whether their class is ready, and pods wait for pools. */
async function tellPools(ports: Ports, nodeClass: string): Promise<void> {
  const pools = (await ports.kubernetes.list('NodePool')).filter(({ spec }) =>
    isOwnClassNamed(spec.template.spec.nodeClassRef, nodeClass),
  );
  const objects = pools.map(({ metadata: { name } }) => ({ kind: 'NodePool', name }) as const);
  await hintObjects(ports, objects, { reason: 'node-class-changed', occasion: `class/${ports.now()}` });
}
