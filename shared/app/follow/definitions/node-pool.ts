import { annotation, label } from '../../../contract/names.ts';
import { isOwnPool } from '../../../contract/own-class.ts';
import type { Node, NodeClaim, NodePool } from '../../../kubernetes/manifest.ts';
import { addResources } from '../../../core/model/allocatable.ts';
import type { NodeClass } from '../../../ports/kubernetes.ts';
import { POOL_HASH_VERSION, poolHash, poolProblems } from '../../facts/api-rules.ts';
import {
  type ConditionChange,
  clearConditions,
  conditionOf,
  sameConditions,
  setConditions,
} from '../../facts/conditions.ts';
import { missingClass } from './missing-class.ts';
import { CLASS_NOT_FOUND } from '../../facts/readiness.ts';
import { deniedNoMore } from '../../tell/denied-condition.ts';
import type { Ports } from '../../ports/ports.ts';
import { hintClaims, written } from '../../claims/node-claim.ts';
import type { FollowOutcome } from '../../ports/follow-outcome.ts';
import { POOL_DEPENDENTS, resetHealth } from './registration-health.ts';
import { UNSTAMPED_LOOK_MS, restampClaims } from './restamp.ts';

/** Keeps a NodePool's hash annotations, conditions and usage right. As Karpenter: karpenter-core.md §1.2. */
export async function followNodePool(ports: Ports, name: string): Promise<FollowOutcome> {
  const key = { name, namespace: null };
  const found = await ports.kubernetes.get('NodePool', key);
  if (found === null) return { kind: 'ended', why: 'there is no such NodePool' };
  const ref = found.spec.template.spec.nodeClassRef;
  if (!isOwnPool(found)) return { kind: 'ended', why: `its node class is a ${ref.kind}.${ref.group}` };
  const stamped = await stamp(ports, found);
  const pool = stamped ?? found;
  const nodeClass = await ports.kubernetes.get('AKSNodeClass', { name: ref.name, namespace: null });
  const selector = { labels: `${label.nodePool}=${name}` };
  const claims = await ports.kubernetes.list('NodeClaim', selector);
  const nodes = await ports.kubernetes.list('Node', selector);
  const readiness = await classReadiness(ports, pool, nodeClass);
  const judged = { readiness, generation: nodeClass?.metadata.generation ?? 0 };
  const status = judge(ports, pool, judged, usage(claims, nodes));
  if (!sameConditions(pool.status?.conditions, status.conditions) || !sameUsage(pool, status)) {
    const { resourceVersion } = pool.metadata;
    const patch = {
      metadata: { resourceVersion },
      status: { ...status, resources: { ...vanished(pool, status), ...status.resources } },
    };
    // Before the write that ends this: should it fail in between, the next attempt tells them again.
    if (hasNewSpec(pool)) await hintClaims(ports, claims, `pool-generation/${pool.metadata.generation ?? 0}`);
    written(await ports.kubernetes.patchStatus('NodePool', key, patch), name);
  }
  if (stamped !== null) return { kind: 'wait', for: 'a change', lookAgainMs: null };
  return { kind: 'wait', for: 'claims that could not be stamped', lookAgainMs: ports.now() + UNSTAMPED_LOOK_MS };
}

/** True until the status has been written for this generation: its claims may have drifted. */
function hasNewSpec(pool: NodePool): boolean {
  const seen = conditionOf(pool.status?.conditions, 'ValidationSucceeded')?.observedGeneration;
  return seen !== undefined && seen !== pool.metadata.generation;
}

/**
 * The pool's hash, and on a new hash version its claims' too, so that an update of ours never looks like drift. Null:
 * those could not all be.
 */
async function stamp(ports: Ports, pool: NodePool): Promise<NodePool | null> {
  const { name, resourceVersion, annotations = {} } = pool.metadata;
  const hash = poolHash(pool);
  if (
    annotations[annotation.nodePoolHash] === hash &&
    annotations[annotation.nodePoolHashVersion] === POOL_HASH_VERSION
  ) {
    return pool;
  }
  const hashes = { [annotation.nodePoolHash]: hash, [annotation.nodePoolHashVersion]: POOL_HASH_VERSION };
  const previous = annotations[annotation.nodePoolHashVersion];
  if (previous !== undefined && previous !== POOL_HASH_VERSION) {
    const claims = await ports.kubernetes.list('NodeClaim', { labels: `${label.nodePool}=${name}` });
    const areStamped = await restampClaims(ports, claims, {
      hash: [annotation.nodePoolHash, hash],
      version: [annotation.nodePoolHashVersion, POOL_HASH_VERSION],
    });
    if (!areStamped) return null;
  }
  const patch = { metadata: { resourceVersion, annotations: hashes } };
  return written(await ports.kubernetes.patch('NodePool', { name, namespace: null }, patch), name);
}

interface PoolStatus {
  readonly conditions: NonNullable<NonNullable<NodePool['status']>['conditions']>;
  readonly resources: Readonly<Record<string, string>>;
  readonly nodes: number;
  readonly nodeClassObservedGeneration: number;
}

function judge(
  ports: Ports,
  pool: NodePool,
  nodeClass: { readonly readiness: ConditionChange; readonly generation: number },
  used: Pick<PoolStatus, 'resources' | 'nodes'>,
): PoolStatus {
  const problems = poolProblems(pool);
  const validation: ConditionChange =
    problems.length === 0
      ? { type: 'ValidationSucceeded', status: 'True', reason: 'ValidationSucceeded', message: '' }
      : {
          type: 'ValidationSucceeded',
          status: 'False',
          reason: 'NodePoolValidationFailed',
          message: problems.join('; '),
        };
  const health = resetHealth(pool, nodeClass.generation);
  const changes = [validation, nodeClass.readiness, ...(health === null ? [] : [health])];
  const conditions = setConditions(pool.status?.conditions, changes, {
    dependents: POOL_DEPENDENTS,
    generation: pool.metadata.generation ?? 1,
    nowMs: ports.now(),
    createdAt: pool.metadata.creationTimestamp ?? '',
  });
  const current = clearConditions(conditions, deniedNoMore(conditions, ports.now()));
  return { conditions: current, ...used, nodeClassObservedGeneration: nodeClass.generation };
}

async function classReadiness(ports: Ports, pool: NodePool, nodeClass: NodeClass | null): Promise<ConditionChange> {
  const type = 'NodeClassReady';
  const { name } = pool.spec.template.spec.nodeClassRef;
  if (nodeClass === null) {
    const given = (await ports.kubernetes.list('AKSNodeClass')).map(({ metadata }) => metadata.name);
    return { type, status: 'False', reason: CLASS_NOT_FOUND, message: missingClass(name, given) };
  }
  if (nodeClass.metadata.deletionTimestamp !== undefined) {
    return { type, status: 'False', reason: 'NodeClassTerminating', message: `AKSNodeClass ${name} is being deleted` };
  }
  const ready = conditionOf(nodeClass.status?.conditions, 'Ready');
  if (ready?.status === 'True') return { type, status: 'True', reason: type, message: '' };
  if (ready?.status === 'False') {
    return { type, status: 'False', reason: ready.reason ?? 'NodeClassNotReady', message: ready.message ?? '' };
  }
  return {
    type,
    status: 'Unknown',
    reason: 'NodeClassReadinessUnknown',
    message: `AKSNodeClass ${name} is not ready yet`,
  };
}

/** What the pool holds: nodes not being removed, by their own capacity, else by what their claim expects. */
function usage(claims: ReadonlyArray<NodeClaim>, nodes: ReadonlyArray<Node>): Pick<PoolStatus, 'resources' | 'nodes'> {
  const byProvider = new Map(nodes.map((node) => [node.spec?.providerID?.toLowerCase(), node]));
  const living = claims.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const capacities = living.map(
    (claim) =>
      byProvider.get(claim.status?.providerID?.toLowerCase())?.status?.capacity ?? claim.status?.capacity ?? {},
  );
  const count = living.filter(({ status }) => status?.providerID !== undefined).length;
  return { resources: { ...addResources(capacities), nodes: String(count) }, nodes: count };
}

function sameUsage(pool: NodePool, status: PoolStatus): boolean {
  const current: Readonly<Record<string, unknown>> = { ...pool.status };
  return (
    JSON.stringify(current['resources']) === JSON.stringify(status.resources) &&
    current['nodes'] === status.nodes &&
    current['nodeClassObservedGeneration'] === status.nodeClassObservedGeneration
  );
}

/** A merge patch keeps what it does not name, so resources that the pool no longer holds are named with null. */
function vanished(pool: NodePool, status: PoolStatus): Readonly<Record<string, null>> {
  const resources = pool.status?.resources ?? {};
  return Object.fromEntries(
    Object.keys(resources)
      .filter((key) => !(key in status.resources))
      .map((key) => [key, null]),
  );
}
