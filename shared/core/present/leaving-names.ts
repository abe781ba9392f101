import { isDisrupted } from '../../kubernetes/disrupted-taint.ts';
import { markKey } from '../../kubernetes/marks.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import type { Cluster } from '../model/cluster.ts';
import { machinesOf } from './existing-capacity.ts';

/**
 * The nodes and claims that are being removed, or are marked to be: their pods will need a place. A node that has no
 * claim of ours and is merely cordoned is somebody else's business. Nodes and claims are seen by watches of their own:
 * one that is still closed and whose claim does not say why any more stays, as its marks are coming off.
 */
export function leavingNames(cluster: Pick<Cluster, 'nodes' | 'nodeClaims'>): ReadonlyArray<string> {
  const { nodes, nodeClaims } = cluster;
  const claims = nodeClaims.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  const closed = nodes.filter((node) => node.metadata.deletionTimestamp !== undefined || isDisrupted(node));
  const staying = closed.length === 0 ? new Set() : namesOfStaying(cluster);
  return [...claims, ...closed.filter(({ metadata }) => !staying.has(metadata.name))].map(
    ({ metadata }) => metadata.name,
  );
}

/** Nodes of ours that are not being deleted and whose claim says no reason to go. */
function namesOfStaying(cluster: Pick<Cluster, 'nodes' | 'nodeClaims'>): ReadonlySet<string> {
  return new Set(
    machinesOf(cluster).flatMap(({ node, claim }) =>
      node === null || claim === null || node.metadata.deletionTimestamp !== undefined || saysWhy(claim)
        ? []
        : [node.metadata.name],
    ),
  );
}

/** Marks go on the claim before its node is closed, and come off after it is opened. */
function saysWhy({ metadata, status }: NodeClaim): boolean {
  const { annotations = {}, deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined || annotations[markKey.interruption] !== undefined) return true;
  const isReason = status?.conditions?.some((one) => one.type === 'DisruptionReason' && one.status === 'True');
  return isReason === true && annotations[markKey.disruption] !== undefined;
}
